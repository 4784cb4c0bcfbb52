"""Name the option of a command that changes the outcome of an error: pure.

The error itself names none, since a library and a driver have other names
for them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.package import vdu_mapping
from tacker_k8s_cr.package import yaml_text
from tacker_k8s_cr.plan import unknown_fields


def advice(error: Error, args: argparse.Namespace) -> str:
    """Return the options that change the outcome; empty if there are none.

    :param args: those of the command: an option that the command does not
        have is not named.
    """
    for kind, option, advise in _ADVICE:
        if isinstance(error, kind) and hasattr(args, option):
            return advise(error)
    return ""


def _request(_: errors.RequestInvalid) -> str:
    return (
        "Correct the argument or the file that the message names; --help "
        "describes the arguments"
    )


def _untrusted(error: errors.Unreachable) -> str:
    if not error.is_untrusted:
        return ""
    return "To connect without verification: --insecure"


def _kind(error: errors.KindNotServed) -> str:
    if all(each.served for each in (error, *error.others)):
        return ""
    kinds = " ".join(
        f"--expected-kinds {each.group_kind}"
        for each in (error, *error.others)[:3]
        if not each.served
    )
    return (
        "If an operator of the package creates the definition while it "
        f"runs: {kinds}"
    )


def _permissions(_: errors.PermissionsMissing) -> str:
    return "Without this check: --no-check-permissions"


def _more_time(_: errors.ReadinessTimeout | errors.DeletionTimeout) -> str:
    return "To allow more time: --timeout TIME"


def _cleanup(_: errors.CleanupFailed) -> str:
    return "To terminate without cleanup: --cleanup nothing"


def _absent(error: errors.NamespaceNotFound) -> str:
    if not error.is_optional:
        return ""
    return (
        "To create all objects in the namespace of the instance: "
        "--namespace-mode force"
    )


def _owned(error: errors.OwnedByOther) -> str:
    refs = sorted(error.owners)
    shown = " ".join(f"--adopt {ref}" for ref in refs[:3])
    more = " ..." * (len(refs) > 3)
    return (
        f"To adopt what does not belong to another instance: {shown}"
        f"{more}; from another instance: --transfer-from "
        "INSTANCE=KIND/NAMESPACE/NAME"
    )


def _conflict(_: errors.FieldConflict) -> str:
    return (
        "To overwrite the fields: --field-conflicts force; to leave them as "
        "they are: --field-conflicts ignore"
    )


def _lost(_: errors.ForeignObjects) -> str:
    return "To delete them too: --delete-foreign-objects"


def _replace(_: errors.RolloutRefused) -> str:
    return "To replace the machines: --rollout allow"


def _scalable(error: errors.AutoscalerConflict) -> str:
    if not error.is_adjustable:
        return ""
    return "To adjust the limits of the autoscaler: --autoscaler-limits adjust"


def _misfit(error: errors.Rejected | errors.DryRunFailed) -> str:
    return _VALIDATION if unknown_fields.is_refused(error) else ""


def _invalid(error: errors.PackageInvalid) -> str:
    problems = [str(problem) for problem in error.problems]
    found = []
    if any(yaml_text.DUPLICATE_KEY in text for text in problems):
        found.append(_VALIDATION)
    if any(vdu_mapping.SELECT in text for text in problems):
        found.append(
            "To select an object for a VDU: --vdu-mapping VDU=KIND/NAME; to "
            "read some of the files only: --def-file FILE"
        )
    return "\n".join(found)


_VALIDATION = (
    "To leave unknown fields out and take the last of repeated ones, with a "
    "warning for each: --field-validation warn"
)

_ADVICE: tuple[tuple[type[Error], str, Callable[..., str]], ...] = (
    (errors.NamespaceNotFound, "namespace_mode", _absent),
    (errors.OwnedByOther, "adopt", _owned),
    (errors.FieldConflict, "field_conflicts", _conflict),
    (errors.ForeignObjects, "delete_foreign_objects", _lost),
    (errors.RolloutRefused, "rollout", _replace),
    (errors.AutoscalerConflict, "autoscaler_limits", _scalable),
    (errors.Rejected, "field_validation", _misfit),
    (errors.DryRunFailed, "field_validation", _misfit),
    (errors.PackageInvalid, "field_validation", _invalid),
    (errors.KindNotServed, "expected_kinds", _kind),
    (errors.PermissionsMissing, "check_permissions", _permissions),
    (errors.Unreachable, "insecure", _untrusted),
    (errors.ReadinessTimeout, "timeout", _more_time),
    (errors.DeletionTimeout, "timeout", _more_time),
    (errors.CleanupFailed, "cleanup", _cleanup),
    (errors.NotSupported, "timeout", lambda _: ""),
    (errors.RequestInvalid, "timeout", _request),
)
"""By type of error: the option that must exist, and its advice."""
