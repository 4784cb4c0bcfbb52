"""Many operations at once: throughput, fairness, sockets and threads."""

from __future__ import annotations

from tools.bench import budgets
from tools.bench import own_process
from tools.bench.bench_context import BenchContext
from tools.bench.bench_context import BenchResult

OPERATIONS = 64


def measure(context: BenchContext) -> BenchResult:
    objects = max(1, context.objects // OPERATIONS)
    measured = []
    for number in range(1, max(1, context.rounds // 2) + 1):
        with context.measured_cluster.namespace() as namespace:
            one = own_process.run(
                "crowd",
                context.kubeconfig,
                namespace=namespace,
                objects=objects,
                operations=OPERATIONS,
            )
        measured.append(one)
        at_once = one["together"]["apply"]["seconds"]
        in_turn = one["one_by_one"]["apply"]["seconds"]
        context.print_line(
            f"{OPERATIONS} operations, round {number}: applying takes "
            f"{at_once:.2f} s at once, {in_turn:.2f} s one by one"
        )
    rows = budgets.compare_concurrency(measured, OPERATIONS, objects)
    return BenchResult(tuple(rows), measured)
