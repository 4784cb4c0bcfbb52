"""Stores: a few members that each hold all data, and agree by majority."""

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
"""On what the controller makes; its value is the name of the Store."""


def store(obj: Manifest) -> Verdict:
    """Current when all members are in step, at the version asked for."""
    if verdict := base.observed_verdict(obj):
        return verdict
    if fields.is_true(obj, ("status", "quorumLost")):
        return base.failed("most of its members are lost, and its data")
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
    """What its controller tries again and again, in vain so far.

    An object that shows it for long counts as blocked.
    """
    joining = fields.conditions(obj).get("Joining")
    return joining.signal if joining and joining.false else ""


def refused(obj: Manifest, count: int) -> str | None:
    """An even number agrees no better than one less. None ends the data."""
    if count % 2 or not count:
        return None
    return f"has an odd number of members or none, and {count} is even"


def uses(obj: Manifest) -> tuple[ObjectRef, ...]:
    """Its settings, if they are not its own."""
    name = fields.text(obj, ("spec", "settings"))
    namespace = fields.text(obj, ("metadata", "namespace"))
    return (ObjectRef("", "ConfigMap", namespace, name),) if name else ()


def made(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    """Its Pods, which are VNFCs and can be healed."""
    name = fields.text(obj, ("metadata", "name"))
    return ((GroupKind("", "Pod"), f"{LABEL}={name}"),)


HANDLER = Handler(
    store,
    replicas=SIZE,
    refuse_replicas=refused,
    references=uses,
    child_selectors=made,
    # Before it goes it is backed up, for which its settings must be there.
    delete_exclusively=True,
    # Its data would go with it: a change of package has to ask for that.
    prune_protected=True,
    propagation=base.FOREGROUND,
)
