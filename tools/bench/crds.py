"""What it costs that a server has many kinds which the package has not."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from tools.bench import budgets
from tools.bench import own_process
from tools.bench import workload
from tools.bench.bench_context import Found
from tools.bench.bench_context import Setting

DEFINITIONS = 500
OBJECTS = 10

Times = dict[str, list[float]]


def found(setting: Setting) -> Found:
    setting.ground.quiet()
    without = _times(setting)
    setting.say(f"adding {DEFINITIONS} definitions")
    with _defined(setting):
        setting.ground.quiet()
        beside = _times(setting)
    rows = budgets.of_definitions(without, beside, OBJECTS, DEFINITIONS)
    return Found(tuple(rows), {"without": without, "with": beside})


def _times(setting: Setting) -> Times:
    """Run each operation in its own process: discovery starts again."""
    times: Times = {}
    for _ in range(setting.rounds + 1):
        with setting.ground.namespace() as namespace:
            for what in ("apply", "terminate"):
                one = own_process.run(
                    what,
                    setting.kubeconfig,
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
def _defined(setting: Setting) -> Iterator[None]:
    kubectl = setting.ground.kubectl
    path = setting.folder / "definitions.yaml"
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
