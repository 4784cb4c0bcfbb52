"""Applying and removing the same objects: ours and its peers in turn."""

from __future__ import annotations

import dataclasses

from tools.bench import budgets
from tools.bench import rounds
from tools.bench import workload
from tools.bench.bench_context import Found
from tools.bench.bench_context import Setting
from tools.bench.competitors import GoClient
from tools.bench.competitors import Helm
from tools.bench.competitors import KubectlApply
from tools.bench.own_operations import OwnOperations
from tools.bench.rounds import Contender

COMPRESSIBLE = 32
"""Bytes drawn by lot of a text in the chart: Helm keeps both the chart and
what came of it in one Secret, of at most 1 MiB."""


def found(setting: Setting) -> Found:
    measured = []
    contenders = _contenders(setting)
    for number in range(setting.rounds + 1):
        one = rounds.run(setting.ground, contenders, number, setting.noise)
        times = ", ".join(
            f"{k} {v.seconds:.2f}" for k, v in sorted(one.items())
        )
        name = f"round {number} of {setting.rounds}" if number else "warm-up"
        setting.say(f"{name}, seconds: {times}")
        if number:
            measured.append(one)
    return Found(
        tuple(budgets.of_rounds(measured, setting.objects)),
        [
            {what: dataclasses.asdict(one) for what, one in each.items()}
            for each in measured
        ],
    )


def _contenders(setting: Setting) -> dict[str, Contender]:
    objects = setting.folder / "objects.yaml"
    manifests = workload.config_maps(setting.objects)
    workload.write(objects, manifests)
    chart = setting.folder / "chart"
    alike = workload.config_maps(setting.objects, drawn=COMPRESSIBLE)
    workload.chart(chart, alike)
    go = GoClient(
        setting.programs("client"),
        setting.kubeconfig,
        objects,
        setting.workers,
    )
    helm = Helm(setting.programs("helm"), setting.kubeconfig, chart)
    package = workload.package(manifests)
    plain = OwnOperations(setting.kubeconfig, package, dry_run=False)
    checked = OwnOperations(setting.kubeconfig, package, dry_run=True)
    kubectl = KubectlApply(setting.ground.kubectl, objects)
    return {
        budgets.PLAIN: Contender(plain.apply, plain.delete),
        budgets.GO: Contender(go.apply, go.delete),
        budgets.KUBECTL: Contender(kubectl.apply),
        budgets.CHECKED: Contender(checked.apply, checked.delete),
        budgets.HELM: Contender(helm.apply, helm.delete),
    }
