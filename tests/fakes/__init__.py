"""A kube-apiserver in a dictionary; honest as far as the contracts go."""

from tests.fakes.cluster import FakeCluster

__all__ = ("FakeCluster",)
