"""The controllers of MachineSets and their Machines, and a health check."""

from __future__ import annotations

from collections.abc import Iterator
import itertools
from typing import Any

from tacker_k8s_cr.lcm.healing import remediation
from tacker_k8s_cr.lcm.machines import machine_annotations
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes import field_ownership
from tests.fakes.object_store import Stored

GROUP = "cluster.x-k8s.io"
VERSION = "v1beta2"
SET = GroupKind(GROUP, "MachineSet")
MACHINE = GroupKind(GROUP, "Machine")
CHECK = GroupKind(GROUP, "MachineHealthCheck")


class Machines:
    """A ``controller`` of a fake cluster that counts machines at once.

    What is marked for remediation goes when ``remediate`` is called.

    :ivar idle: it does nothing for now.
    """

    def __init__(self) -> None:
        self.idle = False
        self._names = itertools.count()

    def __call__(self, fake: Any, obj: Manifest) -> None:
        if self.idle or obj["kind"] in ("Lease", "Secret"):
            return
        world = fake.world
        for keeper in list(_alive(world, SET)):
            self._keep(world, keeper)
        names = [machine["metadata"]["name"] for machine in machines_of(world)]
        for check in list(_alive(world, CHECK)):
            _report(world, check, {"targets": names})

    def remediate(self, fake: Any) -> None:
        for machine in machines_of(fake.world):
            if remediation.is_annotated(machine):
                fake.world.request_deletion(ObjectRef.of(machine))
                self(fake, machine)

    def _keep(self, world: Any, keeper: Manifest) -> None:
        wanted = keeper["spec"]["replicas"]
        there = sorted(
            machines_of(world),
            key=lambda m: machine_annotations.DELETE_MACHINE not in _notes(m),
        )
        for machine in there[: max(0, len(there) - wanted)]:
            world.request_deletion(ObjectRef.of(machine))
        for _ in range(wanted - len(there)):
            self._make(world, keeper)
        status = {
            "observedGeneration": keeper["metadata"]["generation"],
            **dict.fromkeys(
                ("replicas", "readyReplicas", "availableReplicas"), wanted
            ),
            "conditions": [{"type": "MachinesReady", "status": "True"}],
        }
        _report(world, keeper, status)

    def _make(self, world: Any, keeper: Manifest) -> None:
        ref = ObjectRef.of(keeper)
        manifest = {
            "apiVersion": keeper["apiVersion"],
            "kind": MACHINE.kind,
            "metadata": {
                "name": f"{ref.name}-{next(self._names)}",
                "namespace": ref.namespace,
                "labels": {f"{GROUP}/set-name": ref.name},
                "ownerReferences": [
                    {
                        "apiVersion": keeper["apiVersion"],
                        "kind": ref.kind,
                        "name": ref.name,
                        "uid": objects.uid(keeper),
                        "controller": True,
                    }
                ],
            },
            "spec": {},
        }
        new = world.new(manifest)
        whole = field_ownership.merge(new, manifest)
        made = Stored(new, {}).updated(whole, "controller")
        kept = world.kept(made, None)
        status = {
            "observedGeneration": 1,
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        _report(world, kept, status)


def machines_of(world: Any) -> list[Manifest]:
    """All machines that do not go."""
    return list(_alive(world, MACHINE))


def is_marked_for_deletion(world: Any) -> dict[str, list[str]]:
    """By machine, what it is marked for."""
    found = {
        machine["metadata"]["name"]: sorted(_notes(machine))
        for machine in machines_of(world)
    }
    return {name: notes for name, notes in found.items() if notes}


def _notes(machine: Manifest) -> Manifest:
    found: Manifest = machine["metadata"].get("annotations") or {}
    return found


def _alive(world: Any, kind: GroupKind) -> Iterator[Manifest]:
    for ref, stored in sorted(world.objects.items()):
        going = stored.obj["metadata"].get("deletionTimestamp")
        if ref.group_kind == kind and not going:
            yield stored.obj


def _report(world: Any, obj: Manifest, status: Manifest) -> None:
    stored = world.objects[ObjectRef.of(obj)]
    after = {**stored.obj, "status": dict(status)}
    world.kept(stored.updated(after, "controller", "status"), stored)
