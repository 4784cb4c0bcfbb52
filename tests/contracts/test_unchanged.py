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

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import unchanged
from tests import manifest_strategies
from tests.contracts import random_edits
from tests.contracts.manifests import MANAGER

NUMBERS = itertools.count()


SECONDS = 3600.0
"""A limit that no machine comes near."""


@pytest.fixture
def real_cluster(connected: Cluster) -> Cluster:
    """As long as many examples take."""
    return connected.with_deadline(Deadline.after(SECONDS))


@pytest.fixture
def group(
    cluster: Cluster, remove_afterwards: list[ObjectRef], unique_name: str
) -> str:
    """A group of the test's own, in which there are Gadgets."""
    group = f"{unique_name}.{manifest_strategies.GROUP}"
    remove_afterwards.append(
        random_edits.define_kinds(cluster, group, MANAGER)
    )
    return group


def content(obj: Manifest) -> tuple[Any, Any]:
    """All of an object but what its controllers write, and who owns it."""
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("resourceVersion", "managedFields", "annotations")
    }
    notes = dict(obj["metadata"].get("annotations") or {})
    notes.pop(random_edits.REVISION, None)
    owned = [
        entry
        for entry in obj["metadata"]["managedFields"]
        if entry["manager"] in (MANAGER, random_edits.OTHER)
    ]
    return {**obj, "metadata": metadata, "status": notes}, owned


@pytest.mark.parametrize("kind", manifest_strategies.KINDS)
def test_an_apply_of_what_is_unchanged_changes_nothing(
    cluster: Cluster, test_namespace: str, group: str, kind: str
) -> None:
    """Whatever the manifest, and whatever others have done to the object.

    Controllers may write at the same time, so what they write is left out.
    """
    judged: Counter[tuple[str, bool]] = Counter()

    def objs(data: st.DataObject, count: int) -> list[Manifest]:
        one = manifest_strategies.manifest(
            kind, f"n{next(NUMBERS)}", test_namespace
        )
        return [
            random_edits.with_group(data.draw(one), group)
            for _ in range(count)
        ]

    @settings(suppress_health_check=list(HealthCheck))
    @given(st.data())
    def shown(data: st.DataObject) -> None:
        first, other, third = objs(data, 3)
        way = data.draw(st.sampled_from(random_edits.WAYS))
        compare(first, data.draw(st.sampled_from((first, other))), third, way)

    # Of those above it may be that none was left alone and accepted.
    @settings(
        max_examples=settings().max_examples // 2,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def shown_alone(data: st.DataObject) -> None:
        (first,) = objs(data, 1)
        compare(first, first, first, "nothing")

    def compare(
        first: Manifest, second: Manifest, third: Manifest, way: str
    ) -> None:
        ref = ObjectRef.of(first)
        with contextlib.suppress(errors.Rejected):
            cluster.apply(first, MANAGER)
        if made := cluster.get(ref):
            random_edits.edit_by_other_manager(
                cluster, made, way, third, MANAGER
            )
        if (live := cluster.get(ref)) is None:  # it was refused
            return
        same = unchanged.is_unchanged(second, live, MANAGER)
        judged[way, same] += 1
        if same:
            after = cluster.apply(second, MANAGER, uid=objects.uid(live))

            assert content(live) == content(after.obj)

    shown()
    shown_alone()
    assert judged["nothing", True]
