"""The namespace of an instance, as Tacker determines it: pure.

It is that of the request, else the one that all manifests name, else
``default``.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses

from tacker_k8s_cr.driver.additional_params import RequestParams
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.plan import placement

_CLUSTER_SCOPED = {
    "": ("Namespace", "Node", "PersistentVolume"),
    "admissionregistration.k8s.io": (
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    ),
    "apiextensions.k8s.io": ("CustomResourceDefinition",),
    "apiregistration.k8s.io": ("APIService",),
    "authentication.k8s.io": ("SelfSubjectReview", "TokenReview"),
    "authorization.k8s.io": (
        "SelfSubjectAccessReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
    ),
    "certificates.k8s.io": ("CertificateSigningRequest",),
    "flowcontrol.apiserver.k8s.io": (
        "FlowSchema",
        "PriorityLevelConfiguration",
    ),
    "networking.k8s.io": ("IngressClass", "IPAddress", "ServiceCIDR"),
    "node.k8s.io": ("RuntimeClass",),
    "rbac.authorization.k8s.io": ("ClusterRole", "ClusterRoleBinding"),
    "resource.k8s.io": ("DeviceClass", "ResourceSlice"),
    "scheduling.k8s.io": ("PriorityClass",),
    "storage.k8s.io": (
        "CSIDriver",
        "CSINode",
        "StorageClass",
        "VolumeAttachment",
        "VolumeAttributesClass",
    ),
}
"""By group, kinds of Kubernetes itself whose objects have no namespace.

The package is read before the first request to a server.
"""


def with_namespace(params: RequestParams, package: Package) -> RequestParams:
    """Return the parameters with the namespace of the instance."""
    if params.has_namespace:
        return params
    namespace = common_namespace(
        [document.manifest for document in package.documents]
    )
    return (
        dataclasses.replace(params, namespace=namespace)
        if namespace
        else params
    )


def common_namespace(manifests: Iterable[Manifest]) -> str:
    """Return the namespace that all manifests name; empty if they differ.

    A manifest without a namespace, of a kind that may need one, differs:
    its object belongs in ``default``.
    """
    all_manifests = tuple(manifests)
    scoped = {
        GroupKind(group, kind)
        for group, kinds in _CLUSTER_SCOPED.items()
        for kind in kinds
    }
    scoped |= {
        kind
        for kind, packaged in placement.packaged_kinds(all_manifests).items()
        if not packaged.namespaced
    }
    named = {
        manifest["metadata"].get("namespace") or ""
        for manifest in all_manifests
        if GroupKind.of(manifest) not in scoped
    }
    return named.pop() if len(named) == 1 else ""


def with_warnings(
    params: RequestParams, package: Package, policy: str
) -> Package:
    """Return the package with a warning for each contradicting namespace.

    :param policy: how the namespace of a request applies to manifests.
    """
    if (
        not params.has_namespace
        or (params.namespace_mode or policy) != "default"
    ):
        return package
    elsewhere = sorted(
        {
            manifest["metadata"].get("namespace") or params.namespace
            for manifest in package.manifests
        }
        - {params.namespace}
    )
    if not elsewhere:
        return package
    warning = (
        f"the request names the namespace {params.namespace}, but manifests "
        f"name {', '.join(elsewhere)}: their objects are created there. "
        "Tacker's own driver creates them in the namespace of the request; "
        "the parameter or option namespace_mode = force does so too"
    )
    return dataclasses.replace(package, warnings=(*package.warnings, warning))
