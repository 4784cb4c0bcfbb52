"""Ten thousand objects in one instance."""

from __future__ import annotations

import base64
import random
import time

import pytest

from tacker_k8s_cr.recording import record
from tacker_k8s_cr.recording import stored
from tests.faults import dying
from tests.faults import figures
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
    cluster, kubeconfig, namespace, unique, table
):
    """The pieces of the record are small, and none is left over (H1)."""
    draw = random.Random(OBJECTS)  # noqa: S311  the same ones each time
    package = dying.package(
        [
            manifests.config_map(
                f"item-{n:05}", text=draw.randbytes(LETTERS // 2).hex()
            )
            for n in range(OBJECTS)
        ]
    )

    def run(operation, *given):
        begun = time.monotonic()
        task = dying.Task(
            operation, unique, namespace, *given, seconds=SECONDS
        )
        outcome = dying.Run(task, str(kubeconfig)).outcome()
        assert not outcome.error, outcome.sentence
        assert outcome.memory <= MEMORY
        table.append(
            figures.Row(
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

    entry = record.read(cluster, unique, namespace)
    assert OBJECTS == len(entry.inventory.owned)
    text = base64.b64decode(entry.head["data"]["head"]).decode()
    secrets = {
        secret["metadata"]["name"]: secret["data"]
        for secret in cluster.list_objects(
            record.SECRET, namespace, record.selector(unique)
        )
    }
    assert 1 + len(stored.pieces_of(text)) == len(secrets)
    for data in secrets.values():
        assert all(len(base64.b64decode(v)) <= PIECE for v in data.values())

    run("terminate")

    assert record.read(cluster, unique, namespace) is None
