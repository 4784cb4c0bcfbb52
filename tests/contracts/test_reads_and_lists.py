"""Kinds, objects and lists."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.model.errors import Conflict
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.errors import KindNotServed
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tests.contracts.manifests import MANAGER
from tests.contracts.manifests import config_map
from tests.contracts.manifests import definition
from tests.contracts.manifests import labelled
from tests.contracts.watch_events import read_events_until

CONFIG_MAP = GroupKind("", "ConfigMap")
NONESUCH = GroupKind("example.org", "Nonesuch")


def test_the_server_has_a_version(cluster: Cluster) -> None:
    """The version starts with a letter, as Kubernetes writes it."""
    assert cluster.version().startswith("v1.")


def test_the_server_is_named(cluster: Cluster) -> None:
    """The URL is one that can be shown."""
    assert cluster.server.startswith("https://")
    assert "@" not in cluster.server


def test_how_a_kind_is_served(cluster: Cluster) -> None:
    """Discovery returns a kind's plural, scope and sub-resources."""
    resource = cluster.resource(GroupKind("apps", "Deployment"))

    assert "apps/v1" == resource.api_version
    assert "deployments" == resource.plural
    assert resource.namespaced
    assert {"scale", "status"} <= resource.subresources
    assert not cluster.resource(GroupKind("", "Namespace")).namespaced


def test_a_kind_that_is_not_served(cluster: Cluster) -> None:
    """Asking for it names it; an object of it is just not there."""
    with pytest.raises(KindNotServed):
        cluster.resource(NONESUCH)

    assert cluster.get(ObjectRef("example.org", "Nonesuch", "a", "b")) is None
    with pytest.raises(KindNotServed):
        list(cluster.list_objects(NONESUCH))


def test_every_kind_that_can_be_listed(cluster: Cluster) -> None:
    """Each is there once, at its preferred version."""
    found = [resource.group_kind for resource in cluster.resources()]

    assert CONFIG_MAP in found
    assert GroupKind("apps", "Deployment") in found
    assert len(found) == len(set(found))


@pytest.mark.requirement("P4")
def test_a_definition_brings_a_kind(
    cluster: Cluster,
    unique_name: str,
    test_namespace: str,
    remove_afterwards: list[ObjectRef],
) -> None:
    """Once it is Established, its kind is served and can be written."""
    manifest = definition(f"{unique_name}.example.org")
    ref = ObjectRef.of(manifest)
    kind = GroupKind(f"{unique_name}.example.org", "Sprocket")
    with pytest.raises(KindNotServed):
        cluster.resource(kind)
    remove_afterwards.append(ref)
    cluster.apply(manifest, MANAGER)
    with cluster.watch([Watch(ref.group_kind, "", "")]) as watching:
        read_events_until(watching, lambda item: _established(item, ref.name))

    resource = _served(cluster, kind)

    assert "sprockets" == resource.plural
    assert {"status", "scale"} == resource.subresources
    sprocket = {
        "apiVersion": f"{kind.group}/v1",
        "kind": "Sprocket",
        "metadata": {"name": "one", "namespace": test_namespace},
        "spec": {"replicas": 1},
    }
    assert cluster.apply(sprocket, MANAGER).created
    one = ObjectRef(kind.group, "Sprocket", test_namespace, "one")
    scaled = {"spec": {"replicas": 3}}
    cluster.patch(one, scaled, MANAGER, subresource="scale")
    obj = cluster.get(one)
    assert obj is not None
    assert 3 == obj["spec"]["replicas"]


def _established(item: object, name: str) -> bool:
    objs = getattr(item, "objs", None) or [getattr(item, "obj", None)]
    for obj in filter(None, objs):
        if obj["metadata"]["name"] == name:
            conditions = obj.get("status", {}).get("conditions", ())
            return any(
                condition["type"] == "Established"
                and condition["status"] == "True"
                for condition in conditions
            )
    return False


def _served(cluster: Cluster, kind: GroupKind) -> object:
    """Discovery follows a definition after a moment."""
    for _ in range(10_000):
        try:
            return cluster.resource(kind)
        except KindNotServed:
            continue
    raise AssertionError(f"{kind} is not served")


def test_metadata_only(cluster: Cluster, test_namespace: str) -> None:
    """Metadata comes with the object's own kind and without its content."""
    cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    obj = cluster.get_metadata(
        ObjectRef("", "ConfigMap", test_namespace, "one")
    )

    assert obj is not None
    assert "one" == obj["metadata"]["name"]
    assert ("v1", "ConfigMap") == (obj["apiVersion"], obj["kind"])
    assert "data" not in obj
    nothing = ObjectRef("", "ConfigMap", test_namespace, "two")
    assert cluster.get_metadata(nothing) is None


def test_a_list_has_whole_objects(
    cluster: Cluster, test_namespace: str
) -> None:
    """Listed objects name their kind, as those of a GET do."""
    cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    found = {
        obj["metadata"]["name"]: obj
        for obj in cluster.list_objects(CONFIG_MAP, test_namespace)
    }

    assert {"a": "1"} == found["one"]["data"]
    assert ("v1", "ConfigMap") == (
        found["one"]["apiVersion"],
        found["one"]["kind"],
    )


def test_a_list_of_metadata(cluster: Cluster, test_namespace: str) -> None:
    """It selects as a list does, and has no content."""
    cluster.apply(
        labelled(config_map(test_namespace, a="1"), part="x"), MANAGER
    )
    cluster.apply(config_map(test_namespace, "two", a="1"), MANAGER)

    (obj,) = cluster.list_metadata(CONFIG_MAP, test_namespace, "part=x")

    assert "one" == obj["metadata"]["name"]
    assert ("v1", "ConfigMap") == (obj["apiVersion"], obj["kind"])
    assert "data" not in obj


def test_a_list_by_field(cluster: Cluster, test_namespace: str) -> None:
    """A field selector chooses too."""
    for name in ("one", "two"):
        cluster.apply(config_map(test_namespace, name, a="1"), MANAGER)

    (obj,) = cluster.list_objects(
        CONFIG_MAP, test_namespace, fields="metadata.name=two"
    )

    assert "two" == obj["metadata"]["name"]


@pytest.mark.parametrize("page", [1, 2, 500])
def test_a_list_in_pages_has_all(
    cluster: Cluster, test_namespace: str, page: int
) -> None:
    """However many objects are in each of them."""
    names = {f"n{number}" for number in range(5)}
    for name in names:
        cluster.apply(
            labelled(config_map(test_namespace, name, a="1"), of="pages"),
            MANAGER,
        )

    found = cluster.list_objects(
        CONFIG_MAP, test_namespace, "of=pages", page=page
    )

    assert names == {obj["metadata"]["name"] for obj in found}


def test_each_works_on_all(cluster: Cluster, test_namespace: str) -> None:
    """Every item comes back once, with its own result."""
    manifests = [
        config_map(test_namespace, f"n{number}") for number in range(40)
    ]

    done = {
        item["metadata"]["name"]: result
        for item, result in cluster.map_parallel(_apply(cluster), manifests)
    }

    assert {f"n{number}" for number in range(40)} == set(done)
    assert all(result.created for result in done.values())  # type: ignore[union-attr]


def test_each_yields_errors_as_results(
    cluster: Cluster, test_namespace: str
) -> None:
    """What went wrong with one item does not stop the others."""
    cluster.create(config_map(test_namespace, "n1"), MANAGER)
    manifests = [
        config_map(test_namespace, f"n{number}") for number in range(3)
    ]

    results = {
        item["metadata"]["name"]: isinstance(result, Error)
        for item, result in cluster.map_parallel(_create(cluster), manifests)
    }

    assert {"n0": False, "n1": True, "n2": False} == results


def test_each_raises_what_is_a_fault(cluster: Cluster) -> None:
    """An error of a class outside the project's is a fault of the program."""

    def broken(number: int) -> int:
        return 1 // number

    with pytest.raises(ZeroDivisionError):
        list(cluster.map_parallel(broken, [1, 0]))


def test_each_within_each(cluster: Cluster) -> None:
    """Parallel work may itself be split without waiting for ever."""

    def inner(number: int) -> int:
        results = [
            r for _, r in cluster.map_parallel(lambda n: n + 1, [number] * 20)
        ]
        return sum(result for result in results if isinstance(result, int))

    totals = {result for _, result in cluster.map_parallel(inner, [1] * 40)}

    assert {40} == totals


def test_an_iterator_may_be_left_early(cluster: Cluster) -> None:
    """Closing it starts nothing more; what runs is waited for."""
    done: list[int] = []
    results = cluster.map_parallel(done.append, iter(range(100_000)))
    next(results)

    results.close()  # type: ignore[attr-defined]

    assert len(done) < 100_000
    after = len(done)
    assert after == len(done)


def test_requests_are_counted(cluster: Cluster, test_namespace: str) -> None:
    """One apply of a known kind is one request."""
    cluster.apply(config_map(test_namespace), MANAGER)
    before = cluster.requests

    cluster.apply(config_map(test_namespace, a="1"), MANAGER)

    assert before + 1 == cluster.requests


def _apply(cluster: Cluster):  # type: ignore[no-untyped-def]
    return lambda manifest: cluster.apply(manifest, MANAGER)


def _create(cluster: Cluster):  # type: ignore[no-untyped-def]
    def create(manifest: Manifest) -> Manifest:
        try:
            return cluster.create(manifest, MANAGER)
        except Conflict as error:
            raise Error(str(error)) from error

    return create
