"""Creating, replacing, patching and deleting."""

from __future__ import annotations

from typing import Any

import pytest

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import Conflict
from tacker_k8s_cr.model.objects import ObjectRef
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


def test_create_makes_an_object(cluster: Cluster, test_namespace: str) -> None:
    """What was created is there, with the uid of the answer."""
    made = cluster.create(config_map(test_namespace, a="1"), MANAGER)

    found = cluster.get(ref(test_namespace))
    assert found is not None
    assert objects.uid(made) == objects.uid(found)


def test_create_does_not_replace(
    cluster: Cluster, test_namespace: str
) -> None:
    """Of two clients that create the same object, the second gets an error."""
    cluster.create(config_map(test_namespace, a="1"), MANAGER)

    with pytest.raises(Conflict, match="already exists"):
        cluster.create(config_map(test_namespace, a="1"), MANAGER)


def test_replace_needs_the_live_version(
    cluster: Cluster, test_namespace: str
) -> None:
    """Of two clients that replace what they read, the second gets an error."""
    read = cluster.create(config_map(test_namespace, a="1"), MANAGER)
    second = cluster.replace({**read, "data": {"a": "2"}}, MANAGER)

    assert {"a": "2"} == second["data"]
    with pytest.raises(Conflict):
        cluster.replace({**read, "data": {"a": "3"}}, MANAGER)


def test_replace_of_a_deleted_object(
    cluster: Cluster, test_namespace: str
) -> None:
    """Replacing an object that was deleted does not make it again."""
    read = cluster.create(config_map(test_namespace, a="1"), MANAGER)
    cluster.delete(ref(test_namespace), objects.uid(read))

    with pytest.raises(Conflict):
        cluster.replace({**read, "data": {"a": "2"}}, MANAGER)


def test_patch_merges(cluster: Cluster, test_namespace: str) -> None:
    """A merge patch changes what it names; null takes a field away."""
    cluster.create(config_map(test_namespace, a="1", b="2"), MANAGER)

    obj = cluster.patch(
        ref(test_namespace), {"data": {"a": None, "c": "3"}}, MANAGER
    )

    assert {"b": "2", "c": "3"} == obj["data"]


@pytest.mark.parametrize(
    "metadata", [{"uid": ANOTHER}, {"resourceVersion": "1"}]
)
def test_patch_of_another(
    cluster: Cluster, test_namespace: str, metadata: dict[str, str]
) -> None:
    """A patch with a uid or version that is not the live one does nothing."""
    cluster.create(config_map(test_namespace, a="1"), MANAGER)

    with pytest.raises(Conflict):
        cluster.patch(
            ref(test_namespace),
            {"metadata": metadata, "data": {"a": "2"}},
            MANAGER,
        )


def test_patch_of_an_absent_object(
    cluster: Cluster, test_namespace: str
) -> None:
    """A patch creates nothing."""
    with pytest.raises(Conflict):
        cluster.patch(ref(test_namespace), {"data": {"a": "2"}}, MANAGER)


def test_scale_moves_the_number_only(
    cluster: Cluster, test_namespace: str
) -> None:
    """Through the sub-resource the number changes; so does its owner."""
    web = ObjectRef("apps", "Deployment", test_namespace, "web")
    cluster.apply(deployment(test_namespace, 0), MANAGER)

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


def test_delete_at_once(cluster: Cluster, test_namespace: str) -> None:
    """Without finalizers the object is deleted; the answer reports that."""
    obj = cluster.create(config_map(test_namespace, a="1"), MANAGER)

    assert cluster.delete(ref(test_namespace), objects.uid(obj)) is None
    assert cluster.get(ref(test_namespace)) is None


def test_delete_of_another(cluster: Cluster, test_namespace: str) -> None:
    """An object of the same name with another uid is left alone."""
    cluster.create(config_map(test_namespace, a="1"), MANAGER)

    assert cluster.delete(ref(test_namespace), ANOTHER) is None
    assert cluster.get(ref(test_namespace)) is not None


def test_delete_of_nothing(cluster: Cluster, test_namespace: str) -> None:
    """Deleting a missing object, or one of an unserved kind, succeeds."""
    nonesuch = ObjectRef("example.org", "Nonesuch", test_namespace, "one")

    assert cluster.delete(ref(test_namespace), ANOTHER) is None
    assert cluster.delete(nonesuch, ANOTHER) is None


def test_a_finalizer_holds_the_object(
    cluster: Cluster, test_namespace: str
) -> None:
    """A deleted object goes on to exist until its finalizers are removed."""
    obj = cluster.create(held(test_namespace, "example.org/hold"), MANAGER)

    left = cluster.delete(ref(test_namespace), objects.uid(obj))

    assert left is not None
    assert left["metadata"]["deletionTimestamp"]
    assert cluster.get(ref(test_namespace)) is not None
    cluster.patch(
        ref(test_namespace), {"metadata": {"finalizers": None}}, MANAGER
    )
    assert cluster.get(ref(test_namespace)) is None


def test_a_namespace_takes_its_time(
    cluster: Cluster, test_namespace: str
) -> None:
    """A deleted namespace with something in it is terminating at first."""
    namespace = ObjectRef("", "Namespace", "", test_namespace)
    obj = cluster.create(held(test_namespace, "example.org/hold"), MANAGER)
    found = cluster.get(namespace)
    assert found is not None

    left = cluster.delete(namespace, objects.uid(found))

    assert left is not None
    assert left["metadata"]["deletionTimestamp"]
    cluster.delete(ref(test_namespace), objects.uid(obj))
    cluster.patch(
        ref(test_namespace), {"metadata": {"finalizers": None}}, MANAGER
    )
