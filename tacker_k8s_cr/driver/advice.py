"""Advice for an operator of Tacker about an error: pure.

The error contains the fault. The option of ``tacker.conf`` or the parameter
of a request that changes the outcome is named here, since a library or a
command line has other names for them.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.package import yaml_text
from tacker_k8s_cr.plan import unknown_fields

_GROUP = "[tacker_k8s_cr]"
_OURS = "additionalParams.tacker_k8s_cr"

AUTOSCALER = GroupKind("autoscaling", "HorizontalPodAutoscaler")
SERVICE = GroupKind("", "Service")


def advice(error: Error) -> str:
    """Return what changes the outcome, beside the error's next step.

    Empty if no option or parameter does.
    """
    for kind, advise in _ADVICE:
        if isinstance(error, kind):
            return advise(error)
    return ""


def _unreachable(error: errors.Unreachable) -> str:
    if not error.is_untrusted:
        return ""
    return (
        "Set ssl_ca_cert of the VIM to the certificate authority of the API "
        f"server. {_GROUP} insecure = true turns the verification off for "
        "all VIMs"
    )


def _no_token(error: errors.TokenRequestFailed) -> str:
    if not error.is_untrusted:
        return ""
    return (
        "Set the certificate authority of the identity provider in "
        f"{_GROUP} oidc_ca_file, or add it to ssl_ca_cert of the VIM"
    )


def _namespace(error: errors.NamespaceNotFound) -> str:
    if not error.is_optional:
        return ""
    return (
        "To create all objects in the namespace of the request: "
        f"{_OURS}.namespace_mode = force, or {_GROUP} namespace_mode = force"
    )


def _kind(error: errors.KindNotServed) -> str:
    missing = any(not e.served for e in (error, *error.others))
    listed = []
    if missing:
        listed.append(
            "If an operator of the package creates the definition, name the "
            f"kind in {_OURS}.expected_kinds."
        )
    listed.append(
        "An object that is not needed can be left out: do not name its file "
        "in lcm-kubernetes-def-files"
    )
    return " ".join(listed)


def _owned(_: errors.OwnedByOther) -> str:
    return (
        f"To adopt the existing object, name it in {_OURS}.adopt, or in "
        f"{_OURS}.transfer_from if it belongs to another instance"
    )


def _conflict(_: errors.FieldConflict) -> str:
    return (
        f"To overwrite or to ignore the field: {_OURS}.field_conflicts or "
        f"{_GROUP} field_conflicts = force or ignore"
    )


def _rights(_: errors.PermissionsMissing) -> str:
    return f"Without this check: {_GROUP} check_permissions = false"


def _replace(_: errors.RolloutRefused) -> str:
    return f"To replace them: {_OURS}.rollout or {_GROUP} rollout = allow"


def _misfit(error: errors.Rejected | errors.DryRunFailed) -> str:
    return _VALIDATION if unknown_fields.is_refused(error) else ""


def _invalid(error: errors.PackageInvalid) -> str:
    repeated = any(yaml_text.DUPLICATE_KEY in str(p) for p in error.problems)
    return _VALIDATION if repeated else ""


_VALIDATION = (
    "To leave unknown fields out and take the last of repeated ones, with a "
    f"warning for each: {_OURS}.field_validation or {_GROUP} "
    "field_validation = warn"
)


def _lost(_: errors.ForeignObjects) -> str:
    return f"To delete them too: {_OURS}.delete_foreign_objects = true"


def _scalable(error: errors.AutoscalerConflict) -> str:
    if not error.is_adjustable:
        return ""
    return (
        f"To adjust the limits of the autoscaler: {_OURS}.autoscaler_limits "
        f"or {_GROUP} autoscaler_limits = adjust"
    )


def _cleanup(_: errors.CleanupFailed) -> str:
    return f"To terminate without cleanup: {_OURS}.cleanup = []"


def _request(_: errors.RequestInvalid) -> str:
    return (
        "Correct what the message names: the parameter of the request, the "
        "option of tacker.conf or the VIM"
    )


def _more_time(error: errors.ReadinessTimeout | errors.DeletionTimeout) -> str:
    longer = f"To allow more time: {_OURS}.timeout"
    if isinstance(error, errors.DeletionTimeout):
        return longer
    return "\n".join(filter(None, (_unsettled(error), longer)))


def _unsettled(error: errors.ReadinessTimeout | errors.ObjectsFailed) -> str:
    kinds = sorted({str(k) for k in _not_waited_for(error.pending)})
    if not kinds:
        return ""
    return (
        f"Tacker's own driver does not wait for this: {', '.join(kinds)}. "
        "To count objects as ready once they are created, instantiate or "
        f'change with {_OURS}.readiness = [{{"of": "{kinds[0]}", '
        f'"readiness": "exists"}}], or set {_GROUP} readiness_exists = '
        f"{','.join(kinds)}"
    )


def _not_waited_for(
    unsettled: Iterable[errors.PendingObject],
) -> Iterable[GroupKind]:
    """Yield kinds that Tacker's own driver creates and does not wait for.

    It waits for the endpoints of a Service, not for its load balancer.
    """
    for item in unsettled:
        kind = item.ref.group_kind
        balanced = "load balancer" in item.verdict.reason
        if kind == AUTOSCALER or (kind == SERVICE and balanced):
            yield kind


_ADVICE: tuple[tuple[type[Error], Callable[..., str]], ...] = (
    (errors.TokenRequestFailed, _no_token),
    (errors.Unreachable, _unreachable),
    (errors.NamespaceNotFound, _namespace),
    (errors.KindNotServed, _kind),
    (errors.OwnedByOther, _owned),
    (errors.FieldConflict, _conflict),
    (errors.PermissionsMissing, _rights),
    (errors.RolloutRefused, _replace),
    (errors.ForeignObjects, _lost),
    (errors.AutoscalerConflict, _scalable),
    (errors.Rejected, _misfit),
    (errors.DryRunFailed, _misfit),
    (errors.PackageInvalid, _invalid),
    (errors.ReadinessTimeout, _more_time),
    (errors.DeletionTimeout, _more_time),
    (errors.ObjectsFailed, _unsettled),
    (errors.CleanupFailed, _cleanup),
    (errors.NotSupported, lambda _: ""),
    (errors.RequestInvalid, _request),
)
"""By type of error; the first match counts."""
