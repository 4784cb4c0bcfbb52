"""Which objects of a package others do not work without: pure."""

from tacker_k8s_cr.plan.dependencies.links import dependencies_of

__all__ = ["dependencies_of"]
