"""Creating, replacing, patching and deleting."""

from __future__ import annotations

from typing import Any

import pytest

from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.errors import Outdated
from tacker_k8s_cr.objects import ObjectRef
from tests.contracts.manifests import MANAGER
from tests.contracts.manifests import config_map
from tests.contracts.manifests import deployment

ANOTHER = "00000000-0000-0000-0000-000000000000"


def ref(namespace: str) -> ObjectRef:
    return ObjectRef("", "ConfigMap", namespace, "one")


def held(namespace: str, *finalizers: str) -> dict[str, Any]:
    manifest = config_map(namespace, a="1")
    manifest["metadata"]["finalizers"] = list(finalizers)
    return manifest


def test_create_makes_an_object(cluster: Cluster, place: str) -> None:
    """What was created is there, with the uid of the answer."""
    made = cluster.create(config_map(place, a="1"), MANAGER)

    found = cluster.get(ref(place))
    assert found is not None
    assert objects.uid(made) == objects.uid(found)


def test_create_does_not_replace(cluster: Cluster, place: str) -> None:
    """Of two that create the same, the second is told."""
    cluster.create(config_map(place, a="1"), MANAGER)

    with pytest.raises(Outdated, match="already exists"):
        cluster.create(config_map(place, a="1"), MANAGER)


def test_replace_needs_the_live_version(cluster: Cluster, place: str) -> None:
    """Of two that replace what they read, the second is told."""
    read = cluster.create(config_map(place, a="1"), MANAGER)
    second = cluster.replace({**read, "data": {"a": "2"}}, MANAGER)

    assert {"a": "2"} == second["data"]
    with pytest.raises(Outdated):
        cluster.replace({**read, "data": {"a": "3"}}, MANAGER)


def test_replace_of_what_is_gone(cluster: Cluster, place: str) -> None:
    """Replacing an object that was deleted does not make it again."""
    read = cluster.create(config_map(place, a="1"), MANAGER)
    cluster.delete(ref(place), objects.uid(read))

    with pytest.raises(Outdated):
        cluster.replace({**read, "data": {"a": "2"}}, MANAGER)


def test_patch_merges(cluster: Cluster, place: str) -> None:
    """A merge patch changes what it names; null takes a field away."""
    cluster.create(config_map(place, a="1", b="2"), MANAGER)

    obj = cluster.patch(ref(place), {"data": {"a": None, "c": "3"}}, MANAGER)

    assert {"b": "2", "c": "3"} == obj["data"]


@pytest.mark.parametrize(
    "metadata", [{"uid": ANOTHER}, {"resourceVersion": "1"}]
)
def test_patch_of_another(
    cluster: Cluster, place: str, metadata: dict[str, str]
) -> None:
    """A patch with a uid or version that is not the live one does nothing."""
    cluster.create(config_map(place, a="1"), MANAGER)

    with pytest.raises(Outdated):
        cluster.patch(
            ref(place), {"metadata": metadata, "data": {"a": "2"}}, MANAGER
        )


def test_patch_of_what_is_not_there(cluster: Cluster, place: str) -> None:
    """A patch creates nothing."""
    with pytest.raises(Outdated):
        cluster.patch(ref(place), {"data": {"a": "2"}}, MANAGER)


def test_scale_moves_the_number_only(cluster: Cluster, place: str) -> None:
    """Through the sub-resource the number changes; so does its owner."""
    web = ObjectRef("apps", "Deployment", place, "web")
    cluster.apply(deployment(place, 0), MANAGER)

    cluster.patch(web, {"spec": {"replicas": 2}}, MANAGER, subresource="scale")

    obj = cluster.get(web)
    assert obj is not None
    assert 2 == obj["spec"]["replicas"]
    owners = {
        entry["operation"]
        for entry in obj["metadata"]["managedFields"]
        if "f:replicas" in entry["fieldsV1"].get("f:spec", {})
    }
    assert {"Update"} == owners


def test_delete_at_once(cluster: Cluster, place: str) -> None:
    """Nothing holds the object: it is gone, and the answer says so."""
    obj = cluster.create(config_map(place, a="1"), MANAGER)

    assert cluster.delete(ref(place), objects.uid(obj)) is None
    assert cluster.get(ref(place)) is None


def test_delete_of_another(cluster: Cluster, place: str) -> None:
    """An object of the same name with another uid is left alone."""
    cluster.create(config_map(place, a="1"), MANAGER)

    assert cluster.delete(ref(place), ANOTHER) is None
    assert cluster.get(ref(place)) is not None


def test_delete_of_nothing(cluster: Cluster, place: str) -> None:
    """What is not there needs no deletion, nor does a kind not served."""
    nonesuch = ObjectRef("example.org", "Nonesuch", place, "one")

    assert cluster.delete(ref(place), ANOTHER) is None
    assert cluster.delete(nonesuch, ANOTHER) is None


def test_a_finalizer_holds_the_object(cluster: Cluster, place: str) -> None:
    """A deleted object goes on to exist until its finalizers are removed."""
    obj = cluster.create(held(place, "example.org/hold"), MANAGER)

    left = cluster.delete(ref(place), objects.uid(obj))

    assert left is not None
    assert left["metadata"]["deletionTimestamp"]
    assert cluster.get(ref(place)) is not None
    cluster.patch(ref(place), {"metadata": {"finalizers": None}}, MANAGER)
    assert cluster.get(ref(place)) is None


def test_a_namespace_takes_its_time(cluster: Cluster, place: str) -> None:
    """A deleted namespace with something in it is terminating at first."""
    namespace = ObjectRef("", "Namespace", "", place)
    obj = cluster.create(held(place, "example.org/hold"), MANAGER)
    found = cluster.get(namespace)
    assert found is not None

    left = cluster.delete(namespace, objects.uid(found))

    assert left is not None
    assert left["metadata"]["deletionTimestamp"]
    cluster.delete(ref(place), objects.uid(obj))
    cluster.patch(ref(place), {"metadata": {"finalizers": None}}, MANAGER)
