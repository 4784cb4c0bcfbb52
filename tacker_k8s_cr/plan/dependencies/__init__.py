"""Dependencies between the objects of a package."""

from tacker_k8s_cr.plan.dependencies.links import dependencies_of

__all__ = ["dependencies_of"]
