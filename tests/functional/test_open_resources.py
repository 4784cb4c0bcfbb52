"""What is open while operations run, and after them."""

from __future__ import annotations

import concurrent.futures
import gc
import os
import threading

import pytest

import tacker_k8s_cr as k8s_cr
from tests.functional import manifests

pytestmark = pytest.mark.plane

POOL = 4
AT_ONCE = 3
KINDS = 3


def sockets() -> int:
    """How many this process has."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
        except FileNotFoundError:
            continue  # that of the folder itself
    return count


@pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="there is no /proc"
)
@pytest.mark.requirement("P25")
def test_threads_and_sockets_are_bounded_and_released(
    kubeconfig, make_request, make_package, unique_name
):
    """By the pool, a lock and streams of each operation; then none."""
    before = threading.active_count(), sockets()
    cluster = k8s_cr.connect(kubeconfig=str(kubeconfig), pool=POOL)
    most = [0, 0]

    def listen(progress):
        most[0] = max(most[0], threading.active_count() - before[0])
        most[1] = max(most[1], sockets() - before[1])

    def live(number):
        name = f"{unique_name}-{number}"
        package = make_package(
            manifests.deployment(name),
            manifests.definition(f"{name}.example.org", "Thing", status=False),
            *(manifests.config_map(f"{name}-{n}") for n in range(9)),
            name=name,
        )
        k8s_cr.instantiate(
            make_request(cluster, name, on_progress=listen), package
        )
        k8s_cr.terminate(make_request(cluster, name, on_progress=listen))

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as callers:
        list(callers.map(live, range(AT_ONCE)))
    cluster.close()
    gc.collect()

    assert before == (threading.active_count(), sockets())
    # Of each operation: its caller, the lock, a stream for each kind.
    assert 0 < most[0] <= POOL + AT_ONCE * (2 + KINDS)
    # A caller and the lock have a connection each, too.
    assert 0 < most[1] <= POOL + AT_ONCE * (2 + KINDS)
