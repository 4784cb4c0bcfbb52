"""Many objects, read in few requests."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.engine import bulk_read
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes import FakeCluster
from tests.functional import manifests


class Paged(FakeCluster):
    """Record how many objects were read from its lists, and in which pages."""

    def list_objects(self, *args, page=0, **kwargs):
        self.pages.append(page)
        for obj in super().list_objects(*args, **kwargs):
            self.taken += 1
            yield obj


@pytest.fixture
def cluster():
    made = Paged()
    made.pages = []
    made.taken = 0
    return made


def config_map(name, instance="one", **data):
    made = manifests.config_map(name, "default", **data)
    made["metadata"]["labels"] = {objects.INSTANCE: instance}
    return made


def by_ref(*given):
    return {ObjectRef.of(manifest): manifest for manifest in given}


def name_of(ref, obj):
    return obj["metadata"]["name"]


def test_objects_with_the_label_are_assessed(cluster):
    """Left out are others, what is missing, and what is not asked for."""
    for made in (
        config_map("a"),
        config_map("b", "other"),
        config_map("c"),
    ):
        cluster.apply(made, "m")
    wanted = by_ref(config_map("a"), config_map("b"), config_map("missing"))
    cluster.sent.clear()

    found = bulk_read.read_instance_objects(cluster, wanted, "one", name_of)

    assert ["a"] == list(found.values())
    assert ["list"] == [verb for verb, _ in cluster.sent]


def test_a_list_is_read_no_further_than_is_needed(cluster):
    """The next page is not requested once all requested objects were read."""
    for name in "abcd":
        cluster.apply(config_map(name), "m")

    bulk_read.read_instance_objects(
        cluster, by_ref(config_map("b")), "one", name_of
    )

    assert 2 == cluster.taken


@pytest.mark.parametrize(("size", "page"), [(1, 500), (2**20, 3), (2**24, 1)])
def test_a_page_holds_fewer_of_large_objects(cluster, size, page):
    """As their manifests show."""
    wanted = by_ref(*(config_map(f"c{n}", text="x" * size) for n in range(3)))

    bulk_read.read_instance_objects(cluster, wanted, "one", name_of)

    assert [page] == cluster.pages
