"""Whatever a status holds, a judgement is made of it."""

from __future__ import annotations

import copy
import pathlib

from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import pytest
import yaml

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import autoscaling
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds import storage
from tacker_k8s_cr.kinds.capi import references
from tacker_k8s_cr.kinds.capi import template_names
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

DATA = pathlib.Path(__file__).parent / "data"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

KINDS = [
    *kinds.BUILT_IN.handlers,
    GroupKind("infrastructure.cluster.x-k8s.io", "OpenStackCluster"),
    GroupKind("infrastructure.cluster.x-k8s.io", "OpenStackMachineTemplate"),
    GroupKind("bootstrap.cluster.x-k8s.io", "KubeadmConfig"),
    GroupKind("controlplane.cluster.x-k8s.io", "ManagedControlPlane"),
    GroupKind("example.org", "Gizmo"),
]

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.sampled_from(
        ["", "True", "False", "Unknown", "Running", "Ready", "1Gi", "x" * 999]
    )
)
WORDS = st.sampled_from(
    [
        "conditions",
        "controlPlane",
        "deprecated",
        "initialization",
        "observedGeneration",
        "phase",
        "ready",
        "replicas",
        "status",
        "type",
        "v1beta1",
        "v1beta2",
        "workers",
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4)
    ),
    max_leaves=12,
)


def judged(obj) -> Verdict:
    """All that a handler does with an object, and what it makes of it."""
    group_kind = GroupKind.of(obj)
    handler = kinds.BUILT_IN[group_kind]
    ref = ObjectRef.of(obj)
    if handler.references:
        assert all(isinstance(r, ObjectRef) for r in handler.references(obj))
    if handler.child_selectors:
        for kind, selector in handler.child_selectors(obj):
            assert isinstance(kind, GroupKind)
            assert isinstance(selector, str)
    if handler.refuse_replicas:
        handler.refuse_replicas(obj, 2)
    autoscaling.topology_reason(obj)
    autoscaling.topology_entry(obj)
    autoscaling.cluster_autoscaler_reason(obj)
    autoscaling.hpa_reason([obj], ref)
    references.with_renamed(
        obj,
        {(kind, name): "b" for _, kind, name in references.template_refs(obj)},
    )
    template_names.hashed_name(obj)
    storage.claim(obj, frozenset())
    return handler.assess(obj)


@given(
    st.sampled_from(KINDS),
    VALUES,
    VALUES,
    st.none() | st.integers(0, 3) | st.text(max_size=2),
)
def test_assessing_is_total(group_kind, spec, status, generation):
    """Any mapping with apiVersion, kind and metadata gets a verdict."""
    obj = {
        "apiVersion": f"{group_kind.group}/v1",
        "kind": group_kind.kind,
        "metadata": {"name": "a", "generation": generation},
        "spec": spec,
        "status": status,
    }
    before = copy.deepcopy(obj)

    assert judged(obj).reason
    assert before == obj


FILES = sorted(DATA.glob("*/*.yaml"))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(FILES), st.data())
def test_one_field_of_a_wrong_type_raises_nothing(path, data):
    """A real object with one field replaced by anything gets a verdict."""
    obj = yaml.load(path.read_text(), LOADER)  # noqa: S506
    place, key = data.draw(st.sampled_from(list(_places(obj))))
    place[key] = data.draw(VALUES)

    assert judged(obj).reason


def _places(obj):
    """Every field of spec, status, labels and annotations."""
    metadata = obj["metadata"]
    for name in ("labels", "annotations", "finalizers", "generation"):
        if name in metadata:
            yield metadata, name
    waiting = [(obj, name) for name in ("spec", "status") if name in obj]
    waiting = waiting or [(obj, "spec")]
    while waiting:
        place, key = waiting.pop()
        yield place, key
        inside = place.get(key) if isinstance(place, dict) else place[key]
        if isinstance(inside, dict):
            waiting += [(inside, name) for name in inside]
        elif isinstance(inside, list):
            waiting += [(inside, number) for number in range(len(inside))]


@given(VALUES, st.integers(1, 9), st.integers(1, 9))
@pytest.mark.requirement("P1")
def test_no_object_is_current_on_an_older_generation(status, seen, ahead):
    """A generation that was not seen is in progress, whatever else is said."""
    if not isinstance(status, dict):
        status = {}
    obj = {
        "apiVersion": "example.org/v1",
        "kind": "Gizmo",
        "metadata": {"name": "a", "generation": seen + ahead},
        "status": {**status, "observedGeneration": seen},
    }

    assert State.IN_PROGRESS is generic.generic_verdict(obj).state


@pytest.mark.parametrize("group_kind", KINDS, ids=str)
@pytest.mark.requirement("P1", "C5")
def test_silence_is_not_success(group_kind):
    """No kind that has a controller is current with an empty status."""
    handler = kinds.BUILT_IN[group_kind]
    if group_kind in WITHOUT:
        return
    obj = {
        "apiVersion": f"{group_kind.group}/v1",
        "kind": group_kind.kind,
        "metadata": {"name": "a", "generation": 1},
        "spec": {"type": "LoadBalancer", "hard": {"pods": "1"}},
        "status": {},
    }

    assert State.IN_PROGRESS is handler.assess(obj).state


WITHOUT = {
    kind for kind in KINDS if kinds.BUILT_IN[kind].assess is kinds.base.stored
} | {
    GroupKind("batch", "CronJob"),
    GroupKind("networking.k8s.io", "Ingress"),
    # These ask for no Gateway here.
    *(k for k in KINDS if k.kind.endswith("Route")),
    # What reports on these does so only of late.
    *(k for k in KINDS if k.group == "sriovnetwork.openshift.io"),
    GroupKind("cluster.x-k8s.io", "MachineHealthCheck"),
    *(
        GroupKind("admissionregistration.k8s.io", kind)
        for kind in (
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
        )
    ),
}
"""Kinds that are ready without a controller's report."""
