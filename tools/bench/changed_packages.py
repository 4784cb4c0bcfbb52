"""Packages of which one object of many has changed, or none."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses

from tools.bench import budgets
from tools.bench import rounds
from tools.bench import workload
from tools.bench.bench_context import BenchContext
from tools.bench.bench_context import BenchResult
from tools.bench.budgets import ChangeMeasurements
from tools.bench.competitors import KubectlApply
from tools.bench.own_operations import OwnOperations
from tools.bench.rounds import TimedCall
from tools.bench.rows import Row


def measure(context: BenchContext) -> BenchResult:
    widgets = "stages" not in context.unavailable
    rows: list[Row] = []
    raw = {}
    for what, manifests in (
        ("ConfigMaps", workload.config_maps(context.objects)),
        ("mixed", workload.mixed_manifests(context.objects, widgets)),
    ):
        measured = _measure_manifests(context, what, manifests)
        rows += budgets.compare_changes(measured, what, context.objects)
        raw[what] = [
            {
                f"{done} {name}": dataclasses.asdict(one)
                for done, each in one_round.items()
                for name, one in each.items()
            }
            for one_round in measured
        ]
    return BenchResult(tuple(rows), raw)


def _measure_manifests(
    context: BenchContext, what: str, manifests: Sequence[workload.Manifest]
) -> list[budgets.Changes]:
    """In each round one object changes, and then none."""
    objects = context.folder / f"{what}.yaml"
    kubectl = KubectlApply(context.measured_cluster.kubectl, objects)
    measured: list[budgets.Changes] = []
    with contextlib.ExitStack() as stack:
        places = {
            name: stack.enter_context(context.measured_cluster.namespace())
            for name in (budgets.PLAIN, budgets.CHECKED, budgets.KUBECTL)
        }
        first = OwnOperations(
            context.kubeconfig, workload.package(manifests), dry_run=False
        )
        workload.write(objects, manifests)
        for name, namespace in places.items():
            one = kubectl if name == budgets.KUBECTL else first
            one.apply(namespace)
        # Controllers may still be at work on what kubectl did not wait for.
        context.measured_cluster.wait_idle()
        known = first.discovery()
        for number in range(context.rounds):
            # What is waited for has rows of its own.
            text = f"changed in round {number}"
            manifests = workload.change_text(manifests, number % 2, text)
            workload.write(objects, manifests)
            package = workload.package(manifests)
            plain = OwnOperations(context.kubeconfig, package, dry_run=False)
            checked = dataclasses.replace(plain, dry_run=True, requests=[])
            doing = {
                budgets.PLAIN: (plain.change, plain.requests),
                budgets.CHECKED: (checked.change, checked.requests),
                budgets.KUBECTL: (kubectl.apply, [known]),
            }
            one_round = {
                done: _in_turn(context, doing, places, number, known)
                for done in (budgets.CHANGE, budgets.AGAIN)
            }
            for done, each in one_round.items():
                summary = ", ".join(
                    f"{name} {one.seconds:.2f}" for name, one in each.items()
                )
                context.print_line(
                    f"{what}, {done} {number + 1}, seconds: {summary}"
                )
            measured.append(one_round)
        # Objects go with their namespaces: the instance's record stays whole
        # until then.
    return measured


def _in_turn(
    context: BenchContext,
    doing: Mapping[str, tuple[TimedCall, Sequence[int]]],
    places: Mapping[str, str],
    number: int,
    known: int,
) -> dict[str, ChangeMeasurements]:
    """Let each of them do it once.

    :param known: requests that only find out how the kinds are served.
    """
    found = {}
    for name in rounds.rotate(tuple(doing), number):
        do, requests = doing[name]
        before = context.measured_cluster.count_requests()
        seconds = do(places[name])
        applies = (
            context.measured_cluster.count_requests().applies - before.applies
        )
        found[name] = ChangeMeasurements(
            seconds, requests[-1] - known, applies
        )
    return found
