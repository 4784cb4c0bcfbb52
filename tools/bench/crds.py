"""What it costs that a server has many kinds which the package has not."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from tools.bench import budgets
from tools.bench import own_process
from tools.bench import workload
from tools.bench.bench_context import BenchContext
from tools.bench.bench_context import BenchResult

DEFINITIONS = 500
OBJECTS = 10

Times = dict[str, list[float]]


def measure(context: BenchContext) -> BenchResult:
    context.measured_cluster.wait_idle()
    without = _times(context)
    context.print_line(f"adding {DEFINITIONS} definitions")
    with _with_crds(context):
        context.measured_cluster.wait_idle()
        beside = _times(context)
    rows = budgets.compare_crds(without, beside, OBJECTS, DEFINITIONS)
    return BenchResult(tuple(rows), {"without": without, "with": beside})


def _times(context: BenchContext) -> Times:
    """Run each operation in its own process: discovery starts again."""
    times: Times = {}
    for _ in range(context.rounds + 1):
        with context.measured_cluster.namespace() as namespace:
            for what in ("apply", "terminate"):
                one = own_process.run(
                    what,
                    context.kubeconfig,
                    namespace=namespace,
                    objects=OBJECTS,
                )
                times.setdefault(what, []).append(one["seconds"])
                times.setdefault(f"{what} requests", []).append(
                    one["requests"]
                )
    # The first one warms up.
    return {what: values[1:] for what, values in times.items()}


@contextlib.contextmanager
def _with_crds(context: BenchContext) -> Iterator[None]:
    kubectl = context.measured_cluster.kubectl
    path = context.folder / "definitions.yaml"
    workload.write(path, workload.definitions(DEFINITIONS))
    selector = ",".join(f"{k}={v}" for k, v in workload.LABEL.items())
    what = ("customresourcedefinitions", f"--selector={selector}")
    try:
        kubectl("apply", "--server-side", f"--filename={path}")
        kubectl("wait", "--for=condition=Established", "--timeout=120s", *what)
        yield
    finally:
        # One request: kubectl would go through them one by one.
        path_ = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        query = selector.replace("=", "%3D")
        kubectl("delete", f"--raw={path_}?labelSelector={query}")
        kubectl.run("wait", "--for=delete", "--timeout=180s", *what)
