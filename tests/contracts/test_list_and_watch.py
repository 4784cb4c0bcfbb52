"""List, then watch."""

from __future__ import annotations

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Snapshot
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests.contracts.manifests import MANAGER
from tests.contracts.manifests import config_map
from tests.contracts.manifests import labelled
from tests.contracts.watch_events import is_event_of
from tests.contracts.watch_events import read_events_until

KIND = GroupKind("", "ConfigMap")
SELECTOR = "part=x"


def is_list(item: object) -> bool:
    return isinstance(item, Snapshot)


def test_first_what_there_is(cluster: Cluster, test_namespace: str) -> None:
    """A watch begins with a list; its objects name their kind."""
    cluster.apply(
        labelled(config_map(test_namespace, a="1"), part="x"), MANAGER
    )
    cluster.apply(config_map(test_namespace, "two"), MANAGER)
    watch = Watch(KIND, test_namespace, SELECTOR)

    with cluster.watch([watch]) as watching:
        (listed,) = read_events_until(watching, is_list)

    assert isinstance(listed, Snapshot)
    assert watch == listed.watch
    assert ["one"] == [obj["metadata"]["name"] for obj in listed.objs]
    assert ("v1", "ConfigMap") == (
        listed.objs[0]["apiVersion"],
        listed.objs[0]["kind"],
    )


def test_then_what_changes(cluster: Cluster, test_namespace: str) -> None:
    """Each change shows the object as it is then."""
    with cluster.watch([Watch(KIND, test_namespace, SELECTOR)]) as watching:
        read_events_until(watching, is_list)
        cluster.apply(
            labelled(config_map(test_namespace, a="1"), part="x"), MANAGER
        )
        (made,) = read_events_until(watching, is_event_of("one"))
        cluster.apply(
            labelled(config_map(test_namespace, a="2"), part="x"), MANAGER
        )
        (changed,) = read_events_until(watching, is_event_of("one"))

    assert isinstance(made, WatchEvent)
    assert isinstance(changed, WatchEvent)
    assert {"a": "1"} == made.obj["data"]
    assert {"a": "2"} == changed.obj["data"]
    assert "ConfigMap" == changed.obj["kind"]


def test_leaving_the_selector(cluster: Cluster, test_namespace: str) -> None:
    """An object whose label went is shown as gone, though it exists."""
    cluster.apply(labelled(config_map(test_namespace), part="x"), MANAGER)

    with cluster.watch([Watch(KIND, test_namespace, SELECTOR)]) as watching:
        read_events_until(watching, is_list)
        cluster.apply(config_map(test_namespace), MANAGER)
        read_events_until(watching, is_event_of("one", gone=True))

    assert (
        cluster.get(ObjectRef("", "ConfigMap", test_namespace, "one"))
        is not None
    )


def test_a_deletion(cluster: Cluster, test_namespace: str) -> None:
    """A held object is shown terminating first, and gone when released."""
    ref = ObjectRef("", "ConfigMap", test_namespace, "one")
    manifest = labelled(config_map(test_namespace), part="x")
    manifest["metadata"]["finalizers"] = ["example.org/hold"]
    obj = cluster.apply(manifest, MANAGER).obj

    with cluster.watch([Watch(KIND, test_namespace, SELECTOR)]) as watching:
        read_events_until(watching, is_list)
        cluster.delete(ref, objects.uid(obj))
        (terminating,) = read_events_until(watching, is_event_of("one"))
        release = {"metadata": {"finalizers": None}}
        cluster.patch(ref, release, MANAGER)
        read_events_until(watching, is_event_of("one", gone=True))

    assert isinstance(terminating, WatchEvent)
    assert terminating.obj["metadata"]["deletionTimestamp"]


def test_several_streams(cluster: Cluster, test_namespace: str) -> None:
    """Events of both streams arrive in one queue, each with its stream."""
    watches = [
        Watch(KIND, test_namespace, SELECTOR),
        Watch(GroupKind("", "Secret"), test_namespace, ""),
    ]

    found: set[Watch] = set()

    def all_listed(item: object) -> bool:
        if isinstance(item, Snapshot):
            found.add(item.watch)
        return set(watches) == found

    with cluster.watch(watches) as watching:
        read_events_until(watching, all_listed)

    assert set(watches) == found


def test_nothing_to_take(cluster: Cluster, test_namespace: str) -> None:
    """A watch without events ends with an empty result at its deadline."""
    with cluster.watch([Watch(KIND, test_namespace, SELECTOR)]) as watching:
        read_events_until(watching, is_list)

        assert [] == list(watching.next_events(0))
