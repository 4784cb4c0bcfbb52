"""A tenth, all and ten times the objects, each in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping

from tools.bench import budgets
from tools.bench import own_process
from tools.bench import rounds
from tools.bench.bench_context import Found
from tools.bench.bench_context import Setting

Sizes = Mapping[int, Mapping[str, Mapping[str, float]]]
"""Of one round: by number of objects and operation, what was measured."""


def found(setting: Setting) -> Found:
    sizes = (setting.objects // 10, setting.objects, setting.objects * 10)
    measured: list[Sizes] = []
    # The largest takes most of the time, and a tenth of the spread.
    for number in range(max(1, setting.rounds // 2)):
        one = {}
        for objects in rounds.order(sizes, number):
            one[objects] = _lives(setting, objects)
            told = ", ".join(
                f"{what} {each['seconds']:.2f} s, {each['peak']:.0f} MiB"
                for what, each in one[objects].items()
            )
            setting.say(f"{objects} objects: {told}")
        measured.append(one)
    return Found(tuple(budgets.of_sizes(measured)), measured)


def _lives(setting: Setting, objects: int) -> dict[str, dict[str, float]]:
    with setting.ground.namespace() as namespace:
        return {
            what: own_process.run(
                what, setting.kubeconfig, namespace=namespace, objects=objects
            )
            for what in ("apply", "terminate")
        }
