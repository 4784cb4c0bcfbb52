"""The record, where lists are older than what was written."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses

import pytest

from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.state import record_secrets
from tacker_k8s_cr.state import serialization as texts
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.functional import manifests

A = ObjectRef("", "ConfigMap", "default", "a")
ONE = Inventory(
    "one", "default", owned={A: "uid"}, manifests=(manifests.config_map("a"),)
)
LARGE = dataclasses.replace(
    ONE, shared=(A,), preexisting=frozenset({A}), transferred_out={A: "two"}
)
AFTER = dataclasses.replace(LARGE, owned={})


class Behind(FakeCluster):
    """A fake cluster whose lists show the moment at which it fell behind."""

    old: tuple[Manifest, ...] | None = None

    def fall_behind(self) -> None:
        selector = record_secrets.selector("one")
        self.old = tuple(
            super().list_objects(record_secrets.SECRET, "default", selector)
        )

    def list_objects(self, *args, **kwargs) -> Iterator[Manifest]:
        if self.old is None:
            return super().list_objects(*args, **kwargs)
        return iter(self.old)


@pytest.fixture
def cluster():
    return Behind()


def test_a_piece_that_a_list_does_not_show_is_deleted(cluster):
    """The former head names it, so no list is needed to find it."""
    cluster.fall_behind()
    entry = store.write(cluster, LARGE, None)

    entry = store.write(cluster, AFTER, entry)

    pieces = texts.encode(entry.inventory).chunks
    found = [r for r in cluster.world.objects if r.kind == "Secret"]
    assert len(pieces) + 1 == len(found)


def test_a_list_older_than_the_index_is_not_trusted(cluster):
    """The head is read by name first, and its version is the later one."""
    entry = store.write(cluster, LARGE, None)
    cluster.fall_behind()
    store.write(cluster, AFTER, entry)

    assert AFTER == store.read(cluster, "one", "default").inventory


def test_a_list_of_a_former_record_is_not_trusted(cluster):
    """Another head has the same name by now."""
    entry = store.write(cluster, LARGE, None)
    cluster.fall_behind()
    store.delete_record(cluster, entry)
    store.write(cluster, AFTER, None)

    assert AFTER == store.read(cluster, "one", "default").inventory
