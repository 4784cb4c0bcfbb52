"""A tenth, all and ten times the objects, each in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping

from tools.bench import budgets
from tools.bench import own_process
from tools.bench import rounds
from tools.bench.bench_context import BenchContext
from tools.bench.bench_context import BenchResult

Sizes = Mapping[int, Mapping[str, Mapping[str, float]]]
"""Of one round: by number of objects and operation, what was measured."""


def measure(context: BenchContext) -> BenchResult:
    sizes = (context.objects // 10, context.objects, context.objects * 10)
    measured: list[Sizes] = []
    # The largest takes most of the time, and a tenth of the spread.
    for number in range(max(1, context.rounds // 2)):
        one = {}
        for objects in rounds.rotate(sizes, number):
            one[objects] = _measure_life_cycle(context, objects)
            summary = ", ".join(
                f"{what} {each['seconds']:.2f} s, {each['peak']:.0f} MiB"
                for what, each in one[objects].items()
            )
            context.print_line(f"{objects} objects: {summary}")
        measured.append(one)
    return BenchResult(tuple(budgets.compare_sizes(measured)), measured)


def _measure_life_cycle(
    context: BenchContext, objects: int
) -> dict[str, dict[str, float]]:
    with context.measured_cluster.namespace() as namespace:
        return {
            what: own_process.run(
                what, context.kubeconfig, namespace=namespace, objects=objects
            )
            for what in ("apply", "terminate")
        }
