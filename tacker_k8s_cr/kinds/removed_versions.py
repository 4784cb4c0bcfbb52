"""API versions that Kubernetes no longer serves, and what replaces them.

The rows are those of the Deprecated API Migration Guide of Kubernetes
(https://kubernetes.io/docs/reference/using-api/deprecation-guide/), and
for what it leaves out those of ``prerelease-lifecycle-gen`` in the sources
of k8s.io/api v0.36. The replacement is the newest version, also where the
guide names one that was removed later.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind


@dataclasses.dataclass(frozen=True)
class Removal:
    """The release that removed a version of a kind.

    :param api_version: that is no longer served.
    :param since: the first release of Kubernetes without it.
    :param replacement: the apiVersion to write, or what to use in words.
    """

    api_version: str
    kind: str
    since: str
    replacement: str

    @property
    def group_kind(self) -> GroupKind:
        group, _ = objects.split_api_version(self.api_version)
        return GroupKind(group, self.kind)

    @property
    def version(self) -> str:
        return objects.split_api_version(self.api_version)[1]

    def __str__(self) -> str:
        return (
            f"it was removed in Kubernetes {self.since}; "
            f"use {self.replacement}"
        )


_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_FLOWS = ("FlowSchema", "PriorityLevelConfiguration")
_ROLES = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_REVIEWS = (
    "LocalSubjectAccessReview",
    "SelfSubjectAccessReview",
    "SelfSubjectRulesReview",
    "SubjectAccessReview",
)
_POD_SECURITY = "Pod Security Admission (labels of the Namespace)"

_Row = tuple[str, tuple[str, ...], str, str]

_ROWS: tuple[_Row, ...] = (
    # -- 1.16
    *(
        (version, kinds, "1.16", "apps/v1")
        for version, kinds in (
            ("extensions/v1beta1", ("DaemonSet", "Deployment", "ReplicaSet")),
            (
                "apps/v1beta1",
                ("ControllerRevision", "Deployment", "StatefulSet"),
            ),
            (
                "apps/v1beta2",
                (
                    "ControllerRevision",
                    "DaemonSet",
                    "Deployment",
                    "ReplicaSet",
                    "StatefulSet",
                ),
            ),
        )
    ),
    (
        "extensions/v1beta1",
        ("NetworkPolicy",),
        "1.16",
        "networking.k8s.io/v1",
    ),
    ("extensions/v1beta1", ("PodSecurityPolicy",), "1.16", _POD_SECURITY),
    # -- 1.22
    ("extensions/v1beta1", ("Ingress",), "1.22", "networking.k8s.io/v1"),
    *(
        (f"{group}/v1beta1", kinds, "1.22", f"{group}/v1")
        for group, kinds in (
            ("admissionregistration.k8s.io", _WEBHOOKS),
            ("apiextensions.k8s.io", ("CustomResourceDefinition",)),
            ("apiregistration.k8s.io", ("APIService",)),
            ("authentication.k8s.io", ("TokenReview",)),
            ("authorization.k8s.io", _REVIEWS),
            ("certificates.k8s.io", ("CertificateSigningRequest",)),
            ("coordination.k8s.io", ("Lease",)),
            ("networking.k8s.io", ("Ingress", "IngressClass")),
            ("rbac.authorization.k8s.io", _ROLES),
            ("scheduling.k8s.io", ("PriorityClass",)),
            (
                "storage.k8s.io",
                ("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"),
            ),
        )
    ),
    # -- 1.24
    (
        "storage.k8s.io/v1alpha1",
        ("CSIStorageCapacity", "VolumeAttachment"),
        "1.24",
        "storage.k8s.io/v1",
    ),
    # -- 1.25
    (
        "autoscaling/v2beta1",
        ("HorizontalPodAutoscaler",),
        "1.25",
        "autoscaling/v2",
    ),
    ("policy/v1beta1", ("PodSecurityPolicy",), "1.25", _POD_SECURITY),
    *(
        (f"{group}/v1beta1", (kind,), "1.25", f"{group}/v1")
        for group, kind in (
            ("batch", "CronJob"),
            ("discovery.k8s.io", "EndpointSlice"),
            ("events.k8s.io", "Event"),
            ("node.k8s.io", "RuntimeClass"),
            ("policy", "PodDisruptionBudget"),
        )
    ),
    # -- 1.26 and later
    (
        "autoscaling/v2beta2",
        ("HorizontalPodAutoscaler",),
        "1.26",
        "autoscaling/v2",
    ),
    *(
        (
            f"flowcontrol.apiserver.k8s.io/{version}",
            _FLOWS,
            since,
            "flowcontrol.apiserver.k8s.io/v1",
        )
        for version, since in (
            ("v1beta1", "1.26"),
            ("v1beta2", "1.29"),
            ("v1beta3", "1.32"),
        )
    ),
    (
        "storage.k8s.io/v1beta1",
        ("CSIStorageCapacity",),
        "1.27",
        "storage.k8s.io/v1",
    ),
    *(
        (
            f"admissionregistration.k8s.io/{version}",
            _POLICIES,
            since,
            "admissionregistration.k8s.io/v1",
        )
        for version, since in (("v1alpha1", "1.32"), ("v1beta1", "1.34"))
    ),
    (
        "storage.k8s.io/v1alpha1",
        ("VolumeAttributesClass",),
        "1.35",
        "storage.k8s.io/v1",
    ),
)


def _removals(rows: Iterable[_Row]) -> Iterator[Removal]:
    for api_version, kinds, since, use in rows:
        for kind in kinds:
            yield Removal(api_version, kind, since, use)


REMOVED = {
    (removal.group_kind, removal.version): removal
    for removal in _removals(_ROWS)
}
"""By kind and version. A server may still serve one that is older."""
