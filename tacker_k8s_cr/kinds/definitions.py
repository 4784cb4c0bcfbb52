"""What defines where objects go, which kinds there are, and who checks."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Rank
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict

REMAINING = (
    "NamespaceDeletionContentFailure",
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceFinalizersRemaining",
    "NamespaceContentRemaining",
)
"""Conditions that say why a namespace is still there, the worst first."""

INJECTED = (
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "cert-manager.io/inject-apiserver-ca",
    "service.beta.openshift.io/inject-cabundle",
)
"""Annotations by which an author asks for the CA to be filled in."""


def namespace(obj: Manifest) -> Verdict:
    if verdict := base.shared(obj):
        told = reading.first(reading.conditions(obj), REMAINING, "True")
        if verdict.state is State.TERMINATING and told:
            return Verdict(State.TERMINATING, str(told))
        return verdict
    phase = reading.text(obj, ("status", "phase"))
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
    found = reading.conditions(obj)
    if verdict := base.shared(obj):
        told = found.get("Terminating")
        if verdict.state is State.TERMINATING and told:
            return Verdict(State.TERMINATING, str(told))
        return verdict
    names = found.get("NamesAccepted")
    if names and names.false:
        return base.failed(str(names))
    established = found.get("Established")
    if not established:
        return base.in_progress("not Established yet")
    if established.true and not established.behind(obj):
        return base.current("Established")
    if established.false and established.reason != "Installing":
        return base.in_progress(str(established), established.signal)
    return base.in_progress(str(established))


def api_service(obj: Manifest) -> Verdict:
    if verdict := base.shared(obj):
        return verdict
    available = reading.conditions(obj).get("Available")
    if not available:
        return base.in_progress("not Available yet")
    if available.true:
        return base.current(f"Available: {available.reason}")
    # That the server behind it does not answer is how every start looks;
    # these two say that what is referred to is not there.
    wrong = ("ServiceNotFound", "ServicePortError")
    error = available.signal if available.reason in wrong else ""
    return base.in_progress(str(available), error)


def webhook_configuration(obj: Manifest) -> Verdict:
    """Current once stored, and once the CA that its author asks for is in."""
    if verdict := base.shared(obj):
        return verdict
    said = reading.annotations_of(obj)
    asks = [n for n in INJECTED if said.get(n, "false") != "false"]
    for hook in reading.items(obj, ("webhooks",)):
        if asks and not reading.text(hook, ("clientConfig", "caBundle")):
            return base.in_progress(
                f"webhook {reading.text(hook, ('name',))} has no caBundle "
                f"yet, which {asks[0]} asks for"
            )
    return base.current("stored")


def admission_policy(obj: Manifest) -> Verdict:
    """In force once stored; a controller only checks its types later."""
    if verdict := base.shared(obj):
        return verdict
    warnings = reading.items(
        obj, ("status", "typeChecking", "expressionWarnings")
    )
    for warning in warnings[:1]:
        told = reading.one_line(reading.text(warning, ("warning",)))
        where = reading.text(warning, ("fieldRef",))
        return base.current(f"stored, with a warning: {where}: {told}")
    return base.current("stored")


_REGISTRATION = "admissionregistration.k8s.io"

HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind("", "Namespace"): Handler(namespace, Rank.NAMESPACE, kept=True),
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): Handler(
        definition, Rank.DEFINITION, kept=True
    ),
    GroupKind("apiregistration.k8s.io", "APIService"): Handler(
        api_service, Rank.HOOK
    ),
    GroupKind(_REGISTRATION, "MutatingWebhookConfiguration"): Handler(
        webhook_configuration, Rank.HOOK
    ),
    GroupKind(_REGISTRATION, "ValidatingWebhookConfiguration"): Handler(
        webhook_configuration, Rank.HOOK
    ),
    GroupKind(_REGISTRATION, "ValidatingAdmissionPolicy"): Handler(
        admission_policy, Rank.HOOK
    ),
    GroupKind(_REGISTRATION, "ValidatingAdmissionPolicyBinding"): Handler(
        base.stored, Rank.HOOK
    ),
    GroupKind(_REGISTRATION, "MutatingAdmissionPolicy"): Handler(
        base.stored, Rank.HOOK
    ),
    GroupKind(_REGISTRATION, "MutatingAdmissionPolicyBinding"): Handler(
        base.stored, Rank.HOOK
    ),
}
