"""Asking for rights: the fake one and a real server answer the same."""

from __future__ import annotations

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import permissions
from tacker_k8s_cr.model.permissions import Permission


def test_an_administrator_may_do_everything(cluster: Cluster) -> None:
    """One SelfSubjectAccessReview answers whether a request is allowed."""
    assert cluster.can_i(permissions.EVERYTHING)


def test_a_right_is_asked_for_by_its_parts(cluster: Cluster) -> None:
    """Sub-resource, namespace and name among them."""
    wanted = Permission(
        "apps", "deployments/scale", "default", "patch", frozenset(["web"])
    )

    assert cluster.can_i(wanted)


def test_rules_may_be_listed(cluster: Cluster) -> None:
    """What they show is true; they need not be whole."""
    for rule in cluster.list_rules("default"):
        assert rule.verbs
