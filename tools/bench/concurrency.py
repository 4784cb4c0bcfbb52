"""Many operations at once: throughput, fairness, sockets and threads."""

from __future__ import annotations

from tools.bench import budgets
from tools.bench import own_process
from tools.bench.bench_context import Found
from tools.bench.bench_context import Setting

OPERATIONS = 64


def found(setting: Setting) -> Found:
    objects = max(1, setting.objects // OPERATIONS)
    measured = []
    for number in range(1, max(1, setting.rounds // 2) + 1):
        with setting.ground.namespace() as namespace:
            one = own_process.run(
                "crowd",
                setting.kubeconfig,
                namespace=namespace,
                objects=objects,
                operations=OPERATIONS,
            )
        measured.append(one)
        at_once = one["together"]["apply"]["seconds"]
        in_turn = one["one_by_one"]["apply"]["seconds"]
        setting.say(
            f"{OPERATIONS} operations, round {number}: applying takes "
            f"{at_once:.2f} s at once, {in_turn:.2f} s one by one"
        )
    rows = budgets.of_crowd(measured, OPERATIONS, objects)
    return Found(tuple(rows), measured)
