"""What the fake cluster serves before more kinds are defined."""

from __future__ import annotations

from collections.abc import Iterator

from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.objects import field

VERBS = frozenset(
    ["create", "delete", "get", "list", "patch", "update", "watch"]
)
SCALABLE = frozenset(["scale", "status"])

_NAMESPACED = {
    "v1": "ConfigMap Endpoints Event PersistentVolumeClaim Pod Secret Service "
    "ServiceAccount",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet "
    "StatefulSet",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "coordination.k8s.io/v1": "Lease",
    "events.k8s.io/v1": "Event",
    "networking.k8s.io/v1": "Ingress NetworkPolicy",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "Role RoleBinding",
}
_CLUSTER_SCOPED = {
    "v1": "Namespace Node PersistentVolume",
    "admissionregistration.k8s.io/v1": "MutatingWebhookConfiguration "
    "ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1": "APIService",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass",
    "storage.k8s.io/v1": "StorageClass",
}
_SCALABLE = ("Deployment", "ReplicaSet", "StatefulSet")
_CREATE_ONLY = {
    ("v1", "Binding"): True,
    ("authentication.k8s.io/v1", "TokenReview"): False,
    ("authorization.k8s.io/v1", "LocalSubjectAccessReview"): True,
    ("authorization.k8s.io/v1", "SubjectAccessReview"): False,
}
"""Kinds that are answered and not kept, and whether they have a namespace."""


def built_in_resources() -> Iterator[Resource]:
    for served, namespaced in ((_NAMESPACED, True), (_CLUSTER_SCOPED, False)):
        for api_version, kinds in served.items():
            group, _, version = api_version.rpartition("/")
            for kind in kinds.split():
                parts = SCALABLE if kind in _SCALABLE else frozenset()
                plural = _plural(kind)
                yield Resource(
                    group, version, kind, plural, namespaced, VERBS, parts
                )

    for (api_version, kind), namespaced in _CREATE_ONLY.items():
        group, _, version = api_version.rpartition("/")
        create = frozenset(["create"])
        yield Resource(group, version, kind, _plural(kind), namespaced, create)


def is_definition(manifest: Manifest) -> bool:
    """Whether a CustomResourceDefinition is one that a server takes."""
    spec = field(manifest, ("spec",))
    names = field(spec, ("names",))
    texts = [
        field(spec, ("group",)),
        *(field(names, (name,)) for name in ("kind", "plural")),
    ]
    versions = field(spec, ("versions",))
    return (
        all(isinstance(text, str) and text for text in texts)
        and isinstance(versions, list)
        and bool(versions)
        and all(
            isinstance(version, dict)
            and isinstance(version.get("name"), str)
            and isinstance(version.get("subresources", {}), dict)
            for version in versions
        )
    )


def resources_of_crd(definition: Manifest) -> Iterator[Resource]:
    """What a CustomResourceDefinition brings, the storage version first."""
    spec = definition["spec"]
    versions = sorted(
        (version for version in spec["versions"] if version.get("served")),
        key=lambda version: not version.get("storage"),
    )
    for version in versions:
        yield Resource(
            spec["group"],
            version["name"],
            spec["names"]["kind"],
            spec["names"]["plural"],
            spec.get("scope") == "Namespaced",
            VERBS,
            frozenset(field(version, ("subresources",), {})),
        )


def kind_of(definition: Manifest) -> GroupKind:
    spec = definition["spec"]
    return GroupKind(spec["group"], spec["names"]["kind"])


def _plural(kind: str) -> str:
    word = kind.lower()
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    if word.endswith("endpoints"):
        return word
    return f"{word}es" if word.endswith("s") else f"{word}s"
