"""Asking for rights: the fake one and a real server answer the same."""

from __future__ import annotations

from tacker_k8s_cr import rights
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.rights import Right


def test_an_administrator_may_do_everything(cluster: Cluster) -> None:
    """One question tells (K4)."""
    assert cluster.allowed(rights.EVERYTHING)


def test_a_right_is_asked_for_by_its_parts(cluster: Cluster) -> None:
    """Sub-resource, namespace and name among them."""
    wanted = Right(
        "apps", "deployments/scale", "default", "patch", frozenset(["web"])
    )

    assert cluster.allowed(wanted)


def test_rules_may_be_listed(cluster: Cluster) -> None:
    """What they show is true; they need not be whole (K4)."""
    for rule in cluster.rules("default"):
        assert rule.verbs
