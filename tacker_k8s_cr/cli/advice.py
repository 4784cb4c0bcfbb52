"""Name the option of a command that changes the outcome of an error: pure.

The error itself names none, since a library and a driver have other names
for them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tacker_k8s_cr import errors
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.package import targets
from tacker_k8s_cr.package import yaml_text
from tacker_k8s_cr.planning import misfits


def advice(error: Error, args: argparse.Namespace) -> str:
    """Return what to do next; empty if the error itself contains it.

    :param args: those of the command: an option that the command does not
        have is not named.
    """
    for kind, option, advise in _ADVICE:
        if isinstance(error, kind) and hasattr(args, option):
            return advise(error)
    return ""


def _absent(error: errors.NamespaceAbsent) -> str:
    if not error.avoidable:
        return ""
    return (
        "To create all objects in the namespace of the instance: "
        "--namespaces override"
    )


def _owned(error: errors.Owned) -> str:
    refs = sorted(error.owners)
    shown = " ".join(f"--adopt {ref}" for ref in refs[:3])
    more = " ..." * (len(refs) > 3)
    return (
        f"To take over what does not belong to another instance: {shown}"
        f"{more}; from another instance: --take-from "
        "INSTANCE=KIND/NAMESPACE/OBJECT"
    )


def _conflict(_: errors.Conflict) -> str:
    return (
        "To take the fields over: --conflict take; to leave them as they "
        "are: --conflict leave"
    )


def _lost(_: errors.WouldBeLost) -> str:
    return "To delete them too: --lose-others"


def _replace(_: errors.WouldReplace) -> str:
    return "To replace the machines: --rollout allow"


def _scalable(error: errors.NotScalable) -> str:
    if not error.movable:
        return ""
    return "To move the limits of the autoscaler: --autoscaled move"


def _misfit(error: errors.Rejected | errors.Refused) -> str:
    return _VALIDATION if misfits.is_refused(error) else ""


def _invalid(error: errors.PackageInvalid) -> str:
    said = [str(problem) for problem in error.problems]
    found = []
    if any(yaml_text.AGAIN in text for text in said):
        found.append(_VALIDATION)
    if any(targets.SELECT in text for text in said):
        found.append(
            "To select an object for a VDU: --vdu VDU=KIND/OBJECT; to read "
            "some of the files only: --def-file FILE"
        )
    return "\n".join(found)


_VALIDATION = (
    "To leave unknown fields out and take the last of repeated ones, with a "
    "warning for each: --field-validation warn"
)

_ADVICE: tuple[tuple[type[Error], str, Callable[..., str]], ...] = (
    (errors.NamespaceAbsent, "namespaces", _absent),
    (errors.Owned, "adopt", _owned),
    (errors.Conflict, "conflict", _conflict),
    (errors.WouldBeLost, "lose_others", _lost),
    (errors.WouldReplace, "rollout", _replace),
    (errors.NotScalable, "autoscaled", _scalable),
    (errors.Rejected, "field_validation", _misfit),
    (errors.Refused, "field_validation", _misfit),
    (errors.PackageInvalid, "field_validation", _invalid),
)
"""By type of error: the option that must exist, and its advice."""
