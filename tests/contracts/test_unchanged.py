"""What is judged unchanged is left by an apply, on any cluster."""

from __future__ import annotations

from collections import Counter
import contextlib
import itertools
from typing import Any

from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import wait
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import unchanged
from tests import drawn
from tests.contracts.manifests import MANAGER
from tests.functional import manifests

OTHER = "another-manager"

NUMBERS = itertools.count()

EXAMPLES = settings(
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
    ]
)


@pytest.fixture
def gadgets(cluster: Cluster, removed: list[ObjectRef], unique: str) -> str:
    """A group of the test's own, in which there are Gadgets."""
    group = f"{unique}.{drawn.GROUP}"
    definition = manifests.definition(
        group, "Gadget", scale=False, spec=drawn.SPEC
    )
    cluster.apply(definition, MANAGER)
    removed.append(ObjectRef.of(definition))
    kind = GroupKind(group, "Gadget")
    wait.until_served(cluster, {kind: ["v1"]}, Deadline.after(60))
    return group


def content(obj: Manifest) -> tuple[Any, Any]:
    """All of an object but what its controllers write, and who owns it."""
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("resourceVersion", "managedFields")
    }
    notes = dict(metadata.pop("annotations", None) or {})
    notes.pop("deployment.kubernetes.io/revision", None)
    owned = [
        entry
        for entry in obj["metadata"]["managedFields"]
        if entry["manager"] in (MANAGER, OTHER)
    ]
    return {**obj, "metadata": metadata, "status": notes}, owned


def edit(
    cluster: Cluster, obj: Manifest, way: str, manifest: Manifest
) -> None:
    """Let somebody do something to an object; the server may refuse it."""
    ref, uid = ObjectRef.of(obj), objects.uid(obj)
    labels = {**manifest["metadata"]["labels"], "drawn": None}
    parts = {
        key: value
        for key, value in manifest.items()
        if key not in ("apiVersion", "kind", "metadata")
    }
    with contextlib.suppress(errors.Rejected, errors.Conflict):
        if way == "apply":
            cluster.apply(manifest, OTHER, uid=uid)
        elif way == "force":
            cluster.apply(manifest, OTHER, uid=uid, force=True)
        elif way == "relabel":
            cluster.patch(ref, {"metadata": {"labels": labels}}, OTHER)
        elif way == "patch":
            cluster.patch(ref, parts, OTHER)
        elif way == "own patch":
            cluster.patch(ref, parts, MANAGER)
        elif way == "scale" and ref.kind in SCALED:
            body = {"spec": {"replicas": 0}}
            cluster.patch(ref, body, OTHER, subresource="scale")


SCALED = ("Deployment", "StatefulSet")

WAYS = (
    "nothing",
    "nothing",
    "apply",
    "force",
    "relabel",
    "patch",
    "own patch",
    "scale",
)


@pytest.mark.parametrize("kind", drawn.KINDS)
def test_an_apply_of_what_is_unchanged_changes_nothing(
    cluster: Cluster, place: str, gadgets: str, kind: str
) -> None:
    """Whatever the manifest, and whatever others have done to the object.

    Controllers may write at the same time, so what they write is left out.
    """
    judged: Counter[tuple[str, bool]] = Counter()

    @EXAMPLES
    @given(st.data())
    def shown(data: st.DataObject) -> None:
        def draw() -> Manifest:
            found = data.draw(drawn.manifest(kind, name, place))
            version = found["apiVersion"].replace(drawn.GROUP, gadgets)
            return {**found, "apiVersion": version}

        name = f"n{next(NUMBERS)}"
        first = draw()
        with contextlib.suppress(errors.Rejected):
            cluster.apply(first, MANAGER)
        made = cluster.get(ObjectRef.of(first))
        way = data.draw(st.sampled_from(WAYS))
        second = draw() if data.draw(st.booleans()) else first
        if made is None:  # it was refused
            return
        edit(cluster, made, way, draw())
        live = cluster.get(ObjectRef.of(first))
        assert live is not None
        same = unchanged.is_unchanged(second, live, MANAGER)
        judged[way, same] += 1
        if same:
            after = cluster.apply(second, MANAGER, uid=objects.uid(live))

            assert content(live) == content(after.obj)

    shown()
    assert judged["nothing", True]
