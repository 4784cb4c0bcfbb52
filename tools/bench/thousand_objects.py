"""Applying and removing the same objects: ours and its peers in turn."""

from __future__ import annotations

import dataclasses

from tools.bench import budgets
from tools.bench import rounds
from tools.bench import workload
from tools.bench.bench_context import BenchContext
from tools.bench.bench_context import BenchResult
from tools.bench.competitors import GoClient
from tools.bench.competitors import Helm
from tools.bench.competitors import KubectlApply
from tools.bench.own_operations import OwnOperations
from tools.bench.rounds import Contender

COMPRESSIBLE = 32
"""Bytes drawn by lot of a text in the chart: Helm keeps both the chart and
what came of it in one Secret, of at most 1 MiB."""


def measure(context: BenchContext) -> BenchResult:
    measured = []
    contenders = _contenders(context)
    for number in range(context.rounds + 1):
        one = rounds.run(
            context.measured_cluster, contenders, number, context.noise
        )
        times = ", ".join(
            f"{k} {v.seconds:.2f}" for k, v in sorted(one.items())
        )
        name = f"round {number} of {context.rounds}" if number else "warm-up"
        context.print_line(f"{name}, seconds: {times}")
        if number:
            measured.append(one)
    return BenchResult(
        tuple(budgets.compare_rounds(measured, context.objects)),
        [
            {what: dataclasses.asdict(one) for what, one in each.items()}
            for each in measured
        ],
    )


def _contenders(context: BenchContext) -> dict[str, Contender]:
    objects = context.folder / "objects.yaml"
    manifests = workload.config_maps(context.objects)
    workload.write(objects, manifests)
    chart = context.folder / "chart"
    alike = workload.config_maps(context.objects, drawn=COMPRESSIBLE)
    workload.chart(chart, alike)
    go = GoClient(
        context.programs("client"),
        context.kubeconfig,
        objects,
        context.workers,
    )
    helm = Helm(context.programs("helm"), context.kubeconfig, chart)
    package = workload.package(manifests)
    plain = OwnOperations(context.kubeconfig, package, dry_run=False)
    checked = OwnOperations(context.kubeconfig, package, dry_run=True)
    kubectl = KubectlApply(context.measured_cluster.kubectl, objects)
    return {
        budgets.PLAIN: Contender(plain.apply, plain.delete),
        budgets.GO: Contender(go.apply, go.delete),
        budgets.KUBECTL: Contender(kubectl.apply),
        budgets.CHECKED: Contender(checked.apply, checked.delete),
        budgets.HELM: Contender(helm.apply, helm.delete),
    }
