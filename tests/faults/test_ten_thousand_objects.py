"""Ten thousand objects in one instance."""

from __future__ import annotations

import base64
import random
import time

import pytest

from tacker_k8s_cr.state import record_secrets
from tacker_k8s_cr.state import serialization
from tacker_k8s_cr.state import store
from tests.faults import killable_process
from tests.faults import result_table
from tests.functional import manifests

pytestmark = pytest.mark.plane

OBJECTS = 10_000
LETTERS = 1024
SECONDS = 1800.0
"""No measure of how long it takes, as a machine may be busy."""

MEMORY = 300
"""MiB of the process; the budget."""

PIECE = 512 * 1024


def test_ten_thousand_objects_fit(
    cluster, kubeconfig, namespace, unique_name, table
):
    """The pieces of the record are small, and none is left over."""
    draw = random.Random(OBJECTS)  # noqa: S311  the same ones each time
    package = killable_process.make_package(
        [
            manifests.config_map(
                f"item-{n:05}", text=draw.randbytes(LETTERS // 2).hex()
            )
            for n in range(OBJECTS)
        ]
    )

    def run(operation, *given):
        begun = time.monotonic()
        task = killable_process.Task(
            operation, unique_name, namespace, *given, seconds=SECONDS
        )
        outcome = killable_process.OperationProcess(
            task, str(kubeconfig)
        ).wait_outcome()
        assert not outcome.error, outcome.sentence
        assert outcome.memory <= MEMORY
        table.append(
            result_table.Row(
                f"{operation} of {OBJECTS}, {outcome.memory} MiB",
                1,
                1,
                0,
                0,
                0,
                seconds=time.monotonic() - begun,
            )
        )

    run("instantiate", package)

    entry = store.read(cluster, unique_name, namespace)
    assert OBJECTS == len(entry.inventory.owned)
    text = base64.b64decode(entry.index["data"]["head"]).decode()
    secrets = {
        secret["metadata"]["name"]: secret["data"]
        for secret in cluster.list_objects(
            record_secrets.SECRET,
            namespace,
            record_secrets.selector(unique_name),
        )
    }
    assert 1 + len(serialization.chunk_names(text)) == len(secrets)
    for data in secrets.values():
        assert all(len(base64.b64decode(v)) <= PIECE for v in data.values())

    run("terminate")

    assert store.read(cluster, unique_name, namespace) is None
