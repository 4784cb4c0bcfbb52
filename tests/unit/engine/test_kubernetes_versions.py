"""The step of a change that brings versions of Kubernetes first."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.engine import kubernetes_versions
from tacker_k8s_cr.model.objects import ObjectRef


def leader(version, **spec):
    return {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"version": version, **spec},
    }


def plain(value):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "n"},
        "data": {"a": value},
    }


LEADER = ObjectRef.of(leader(""))
OLD = (leader("v1.35.0", replicas=1), plain("1"))
HALF = (leader("v1.36.0", replicas=1), plain("1"))
NEW = (leader("v1.36.0", replicas=3), plain("2"))


@pytest.mark.requirement("P9")
def test_only_versions_are_changed_first():
    """Everything else is as it was, until they have got there."""
    step, rising = kubernetes_versions.with_new_versions_only(OLD, OLD, NEW)

    assert list(HALF) == list(step.values())
    assert {LEADER} == rising


def test_an_interrupted_step_is_resumed():
    """The manifests have the versions by then; the machines may not."""
    step, rising = kubernetes_versions.with_new_versions_only(OLD, HALF, NEW)

    assert list(HALF) == list(step.values())
    assert {LEADER} == rising


def test_a_step_that_is_over_is_not_made_again():
    """A change that died after it has the manifests of the package."""
    assert not kubernetes_versions.with_new_versions_only(OLD, NEW, NEW)[1]


def test_versions_alone_need_no_step_of_their_own():
    """Nor does a package that names the versions that are there."""
    assert not kubernetes_versions.with_new_versions_only(OLD, OLD, HALF)[1]
    assert not kubernetes_versions.with_new_versions_only(HALF, HALF, NEW)[1]


def test_new_and_deleted_objects_have_no_version_to_change():
    """It comes, or goes, with the rest."""
    assert not kubernetes_versions.with_new_versions_only(
        OLD[1:], OLD[1:], NEW
    )[1]
    assert not kubernetes_versions.with_new_versions_only(OLD, OLD, NEW[1:])[1]
