"""What defines where objects go, which kinds there are, and who checks."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

DELETION_CONDITIONS = (
    "NamespaceDeletionContentFailure",
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceFinalizersRemaining",
    "NamespaceContentRemaining",
)
"""Conditions that say why a namespace is still there, the worst first."""

CA_INJECTION_ANNOTATIONS = (
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "cert-manager.io/inject-apiserver-ca",
    "service.beta.openshift.io/inject-cabundle",
)
"""Annotations by which an author asks for the CA to be filled in."""


def namespace(obj: Manifest) -> Verdict:
    if verdict := base.common_verdict(obj):
        condition = fields.first_with_status(
            fields.conditions(obj), DELETION_CONDITIONS, "True"
        )
        if verdict.state is State.TERMINATING and condition:
            return Verdict(State.TERMINATING, str(condition))
        return verdict
    phase = fields.text(obj, ("status", "phase"))
    if phase == "Terminating":
        return Verdict(State.TERMINATING, "deletion requested")
    if phase != "Active":
        return base.in_progress(f"phase {phase}" if phase else "no phase yet")
    return base.current("Active")


def definition(obj: Manifest) -> Verdict:
    """A CustomResourceDefinition: may objects of its kind be made?

    Its conversion webhook is not waited for: the workload that answers it
    may be brought by the same package, after this.
    """
    found = fields.conditions(obj)
    if verdict := base.common_verdict(obj):
        condition = found.get("Terminating")
        if verdict.state is State.TERMINATING and condition:
            return Verdict(State.TERMINATING, str(condition))
        return verdict
    names = found.get("NamesAccepted")
    if names and names.is_false:
        return base.failed(str(names))
    established = found.get("Established")
    if not established:
        return base.in_progress("not Established yet")
    if established.is_true and not established.is_outdated(obj):
        return base.current("Established")
    if established.is_false and established.reason != "Installing":
        return base.in_progress(str(established), established.as_error)
    return base.in_progress(str(established))


def api_service(obj: Manifest) -> Verdict:
    if verdict := base.common_verdict(obj):
        return verdict
    available = fields.conditions(obj).get("Available")
    if not available:
        return base.in_progress("not Available yet")
    if available.is_true:
        return base.current(f"Available: {available.reason}")
    # At every start the server behind it does not answer yet; these two
    # mean that the referenced Service or port does not exist.
    wrong = ("ServiceNotFound", "ServicePortError")
    error = available.as_error if available.reason in wrong else ""
    return base.in_progress(str(available), error)


def webhook_configuration(obj: Manifest) -> Verdict:
    """Current once stored, and once the CA that its author asks for is in."""
    if verdict := base.common_verdict(obj):
        return verdict
    annotations = fields.annotations_of(obj)
    has_injection = [
        n
        for n in CA_INJECTION_ANNOTATIONS
        if annotations.get(n, "false") != "false"
    ]
    for hook in fields.mappings(obj, ("webhooks",)):
        if has_injection and not fields.text(
            hook, ("clientConfig", "caBundle")
        ):
            return base.in_progress(
                f"webhook {fields.text(hook, ('name',))} has no caBundle "
                f"yet, which {has_injection[0]} asks for"
            )
    return base.current("stored")


def admission_policy(obj: Manifest) -> Verdict:
    """In force once stored; a controller only checks its types later."""
    if verdict := base.common_verdict(obj):
        return verdict
    warnings = fields.mappings(
        obj, ("status", "typeChecking", "expressionWarnings")
    )
    for warning in warnings[:1]:
        text = fields.one_line(fields.text(warning, ("warning",)))
        where = fields.text(warning, ("fieldRef",))
        return base.current(f"stored, with a warning: {where}: {text}")
    return base.current("stored")


_REGISTRATION = "admissionregistration.k8s.io"

HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind("", "Namespace"): Handler(
        namespace, ApplyOrder.NAMESPACE, prune_protected=True
    ),
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): Handler(
        definition, ApplyOrder.DEFINITION, prune_protected=True
    ),
    GroupKind("apiregistration.k8s.io", "APIService"): Handler(
        api_service, ApplyOrder.HOOK
    ),
    GroupKind(_REGISTRATION, "MutatingWebhookConfiguration"): Handler(
        webhook_configuration, ApplyOrder.HOOK
    ),
    GroupKind(_REGISTRATION, "ValidatingWebhookConfiguration"): Handler(
        webhook_configuration, ApplyOrder.HOOK
    ),
    GroupKind(_REGISTRATION, "ValidatingAdmissionPolicy"): Handler(
        admission_policy, ApplyOrder.HOOK
    ),
    GroupKind(_REGISTRATION, "ValidatingAdmissionPolicyBinding"): Handler(
        base.stored, ApplyOrder.HOOK
    ),
    GroupKind(_REGISTRATION, "MutatingAdmissionPolicy"): Handler(
        base.stored, ApplyOrder.HOOK
    ),
    GroupKind(_REGISTRATION, "MutatingAdmissionPolicyBinding"): Handler(
        base.stored, ApplyOrder.HOOK
    ),
}
