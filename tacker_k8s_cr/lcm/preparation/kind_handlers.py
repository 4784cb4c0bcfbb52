"""The handlers of the kinds of a package, and of an instance."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import contextlib

from tacker_k8s_cr.engine import kind_resolution
from tacker_k8s_cr.engine import preflight
from tacker_k8s_cr.engine import replicas_paths
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.kinds.capi import clusters
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.plan.inventory import Inventory


def resolve_kinds(
    cluster: Cluster,
    documents: Sequence[Document],
    registry: Registry,
    policy: Policy,
) -> tuple[kind_resolution.KindResolution, Registry]:
    """Return how the kinds of a package are served, and their handlers."""
    expected = kind_resolution.expected_kinds(documents, policy)
    found = kind_resolution.resolve_kinds(cluster, documents, expected)
    preflight.validate_annotations(documents)
    manifests = [document.manifest for document in documents]
    known = kind_resolution.with_statusless_kinds(registry, found.subresources)
    known = replicas_paths.with_scale_paths(
        cluster, known, found.subresources, manifests
    )
    known = known.with_handlers(
        kind_resolution.claim_handlers(cluster, manifests, registry)
    )
    known = _with_workers(known, manifests)
    return found, policy.apply_to(known)


def _with_workers(
    registry: Registry, manifests: Iterable[Manifest]
) -> Registry:
    """Add what a package specifies about the workers of its Clusters."""
    if registry[clusters.CLUSTER].name:  # a plugin provides the handler
        return registry
    return registry.with_handlers(clusters.with_workers(manifests))


JUDGED_TOGETHER = ("Cluster", "PersistentVolumeClaim")
"""Kinds whose handler depends on other objects of the package."""


def registry_for(
    cluster: Cluster, registry: Registry, inventory: Inventory
) -> Registry:
    """Return the handlers for an instance.

    They include its kinds without status, and the readiness rules of its
    policy.
    """
    found = {}
    for kind in {ref.group_kind for ref in inventory.owned}:
        with contextlib.suppress(errors.KindNotServed):
            found[kind] = cluster.resource(kind).subresources
    registry = kind_resolution.with_statusless_kinds(registry, found)
    registry = replicas_paths.with_scale_paths(
        cluster, registry, found, inventory.manifests
    )
    registry = registry.with_handlers(
        kind_resolution.claim_handlers(cluster, inventory.manifests, registry)
    )
    registry = _with_workers(registry, inventory.manifests)
    return inventory.policy.apply_to(registry)
