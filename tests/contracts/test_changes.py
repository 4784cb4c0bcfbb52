"""List, then watch."""

from __future__ import annotations

from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Changed
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.cluster.protocol import Listed
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tests.contracts.manifests import MANAGER
from tests.contracts.manifests import config_map
from tests.contracts.manifests import labelled
from tests.contracts.observing import shows
from tests.contracts.observing import until

KIND = GroupKind("", "ConfigMap")
SELECTOR = "part=x"


def is_list(item: object) -> bool:
    return isinstance(item, Listed)


def test_first_what_there_is(cluster: Cluster, place: str) -> None:
    """A watch begins with a list; its objects name their kind."""
    cluster.apply(labelled(config_map(place, a="1"), part="x"), MANAGER)
    cluster.apply(config_map(place, "two"), MANAGER)
    watch = Watch(KIND, place, SELECTOR)

    with cluster.watching([watch]) as watching:
        (listed,) = until(watching, is_list)

    assert isinstance(listed, Listed)
    assert watch == listed.watch
    assert ["one"] == [obj["metadata"]["name"] for obj in listed.objs]
    assert ("v1", "ConfigMap") == (
        listed.objs[0]["apiVersion"],
        listed.objs[0]["kind"],
    )


def test_then_what_changes(cluster: Cluster, place: str) -> None:
    """Each change shows the object as it is then."""
    with cluster.watching([Watch(KIND, place, SELECTOR)]) as watching:
        until(watching, is_list)
        cluster.apply(labelled(config_map(place, a="1"), part="x"), MANAGER)
        (made,) = until(watching, shows("one"))
        cluster.apply(labelled(config_map(place, a="2"), part="x"), MANAGER)
        (changed,) = until(watching, shows("one"))

    assert isinstance(made, Changed)
    assert isinstance(changed, Changed)
    assert {"a": "1"} == made.obj["data"]
    assert {"a": "2"} == changed.obj["data"]
    assert "ConfigMap" == changed.obj["kind"]


def test_leaving_the_selector(cluster: Cluster, place: str) -> None:
    """An object whose label went is shown as gone, though it exists."""
    cluster.apply(labelled(config_map(place), part="x"), MANAGER)

    with cluster.watching([Watch(KIND, place, SELECTOR)]) as watching:
        until(watching, is_list)
        cluster.apply(config_map(place), MANAGER)
        until(watching, shows("one", gone=True))

    assert cluster.get(ObjectRef("", "ConfigMap", place, "one")) is not None


def test_a_deletion(cluster: Cluster, place: str) -> None:
    """A held object is shown terminating first, and gone when released."""
    ref = ObjectRef("", "ConfigMap", place, "one")
    manifest = labelled(config_map(place), part="x")
    manifest["metadata"]["finalizers"] = ["example.org/hold"]
    obj = cluster.apply(manifest, MANAGER).obj

    with cluster.watching([Watch(KIND, place, SELECTOR)]) as watching:
        until(watching, is_list)
        cluster.delete(ref, objects.uid(obj))
        (terminating,) = until(watching, shows("one"))
        release = {"metadata": {"finalizers": None}}
        cluster.patch(ref, release, MANAGER)
        until(watching, shows("one", gone=True))

    assert isinstance(terminating, Changed)
    assert terminating.obj["metadata"]["deletionTimestamp"]


def test_several_streams(cluster: Cluster, place: str) -> None:
    """What they bring comes to one place, and tells its stream."""
    watches = [
        Watch(KIND, place, SELECTOR),
        Watch(GroupKind("", "Secret"), place, ""),
    ]

    found: set[Watch] = set()

    def all_listed(item: object) -> bool:
        if isinstance(item, Listed):
            found.add(item.watch)
        return set(watches) == found

    with cluster.watching(watches) as watching:
        until(watching, all_listed)

    assert set(watches) == found


def test_nothing_to_take(cluster: Cluster, place: str) -> None:
    """A watch that has nothing to show says so when the time is up."""
    with cluster.watching([Watch(KIND, place, SELECTOR)]) as watching:
        until(watching, is_list)

        assert [] == list(watching.take(0))
