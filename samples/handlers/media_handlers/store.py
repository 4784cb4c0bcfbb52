"""Stores: members that each hold all data and agree by majority."""

from __future__ import annotations

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path
from tacker_k8s_cr.model.objects import Verdict

SIZE: Path = ("spec", "members", "count")

LABEL = "media.example.org/store"
"""A label of the Pods of a Store; its value is the name of the Store."""


def store(obj: Manifest) -> Verdict:
    """Return current if all members are in step at the wanted version."""
    if verdict := base.observed_verdict(obj):
        return verdict
    if fields.is_true(obj, ("status", "quorumLost")):
        return base.failed("most of its members and its data are lost")
    asked = fields.number(obj, SIZE) or 0
    members = fields.mappings(obj, ("status", "members"))
    in_step = [m for m in members if fields.is_true(m, ("inStep",))]
    if len(in_step) != asked or len(members) != asked:
        return base.in_progress(
            f"{len(in_step)} of {len(members)} member(s) in step, "
            f"{asked} asked",
            _trouble(obj),
        )
    version = fields.text(obj, ("spec", "version"))
    running = {fields.text(m, ("version",)) for m in members}
    if members and running != {version}:
        return base.in_progress(
            f"version {', '.join(sorted(running))}, {version} asked"
        )
    return base.current(f"{asked} member(s) in step at version {version}")


def _trouble(obj: Manifest) -> str:
    """Return the error that its controller retries.

    An object with the same error for the stall timeout is blocked.
    """
    joining = fields.conditions(obj).get("Joining")
    return joining.as_error if joining and joining.is_false else ""


def refused(obj: Manifest, count: int) -> str | None:
    """Reject even numbers: they tolerate no more failures than one less."""
    if count % 2 or not count:
        return None
    return f"has an odd number of members or none, and {count} is even"


def uses(obj: Manifest) -> tuple[ObjectRef, ...]:
    """Return the ConfigMap with its settings, if it refers to one."""
    name = fields.text(obj, ("spec", "settings"))
    namespace = fields.text(obj, ("metadata", "namespace"))
    return (ObjectRef("", "ConfigMap", namespace, name),) if name else ()


def made(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    """Return its Pods, which are VNFCs and can be healed."""
    name = fields.text(obj, ("metadata", "name"))
    return ((GroupKind("", "Pod"), f"{LABEL}={name}"),)


HANDLER = Handler(
    store,
    replicas=SIZE,
    refuse_replicas=refused,
    references=uses,
    child_selectors=made,
    # Its controller backs it up during deletion, and needs its settings.
    delete_exclusively=True,
    # Its data would be deleted too, so a change must request its pruning.
    prune_protected=True,
    propagation=base.FOREGROUND,
)
