"""The controllers of StatefulSets and of volumes, without Pods.

A StatefulSet stands for its Pods, which hold the claims that they use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes import field_ownership
from tests.fakes.object_store import Stored

STATEFUL_SET = GroupKind("apps", "StatefulSet")
CLAIM = GroupKind("", "PersistentVolumeClaim")
VOLUME = GroupKind("", "PersistentVolume")
HOLD = "kubernetes.io/pv-protection"
USE = "kubernetes.io/pvc-protection"


def play_volumes(fake: Any, obj: Manifest) -> None:
    """All at once: claims are made and bound, volumes held and let go."""
    world = fake.world
    if obj["kind"] in ("Lease", "Secret"):
        return
    for stateful_set in _all(world, STATEFUL_SET):
        _make_claims(world, stateful_set)
    sets = [ObjectRef.of(one).name for one in _all(world, STATEFUL_SET)]
    for claim in list(_all(world, CLAIM)):
        name = claim["metadata"]["name"]
        going = "deletionTimestamp" in claim["metadata"]
        if going and not any(f"-{of}-" in name for of in sets):
            _write(world, claim, {"metadata": {"finalizers": None}})
    for volume in _all(world, VOLUME):
        _tend(world, volume)
    for claim in _all(world, CLAIM):
        if not objects.field(claim, ("spec", "volumeName")):
            _bind(world, claim)


def _all(world: Any, kind: GroupKind) -> Iterator[Manifest]:
    for ref in sorted(world.objects):
        if ref.group_kind == kind and ref in world.objects:
            yield world.objects[ref].obj


def _make_claims(world: Any, stateful_set: Manifest) -> None:
    ref = ObjectRef.of(stateful_set)
    spec = stateful_set["spec"]
    number = spec.get("replicas", 1)
    if "deletionTimestamp" in stateful_set["metadata"]:
        return
    for template in spec.get("volumeClaimTemplates", ()):
        for ordinal in range(number):
            name = f"{template['metadata']['name']}-{ref.name}-{ordinal}"
            claim = ObjectRef("", CLAIM.kind, ref.namespace, name)
            if claim not in world.objects:
                labels = spec["selector"]["matchLabels"]
                _create(world, claim, labels, template["spec"])
    counted = dict.fromkeys(
        (
            "replicas",
            "readyReplicas",
            "updatedReplicas",
            "availableReplicas",
            "currentReplicas",
        ),
        number,
    )
    status = {
        **counted,
        "observedGeneration": stateful_set["metadata"]["generation"],
        "currentRevision": "one",
        "updateRevision": "one",
    }
    _write(world, stateful_set, {"status": status}, "status")


def _create(world: Any, ref: ObjectRef, labels: Any, spec: Any) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": ref.kind,
        "metadata": {
            "name": ref.name,
            "namespace": ref.namespace,
            "labels": dict(labels),
            "finalizers": [USE],
        },
        "spec": dict(spec),
    }
    new = world.new(manifest)
    whole = field_ownership.merge(new, manifest)
    world.kept(Stored(new, {}).updated(whole, "controller"), None)


def _tend(world: Any, volume: Manifest) -> None:
    """Hold a volume as long as its claim exists."""
    uid = objects.field(volume, ("spec", "claimRef", "uid"))
    bound = any(objects.uid(claim) == uid for claim in _all(world, CLAIM))
    held = objects.field(volume, ("metadata", "finalizers"), ())
    going = "deletionTimestamp" in volume["metadata"]
    if going and held and not bound:
        _write(world, volume, {"metadata": {"finalizers": None}})
    elif not going and not held:
        _write(world, volume, {"metadata": {"finalizers": [HOLD]}})
        _report(world, volume, "Available")
    elif uid and not bound and not going:
        _report(world, volume, "Released")


def _bind(world: Any, claim: Manifest) -> None:
    for volume in _all(world, VOLUME):
        named = objects.field(volume, ("spec", "storageClassName"))
        taken = objects.field(volume, ("spec", "claimRef"))
        if named != claim["spec"]["storageClassName"] or taken:
            continue
        ref = ObjectRef.of(claim)
        bound = {
            "namespace": ref.namespace,
            "name": ref.name,
            "uid": objects.uid(claim),
        }
        _write(world, volume, {"spec": {"claimRef": bound}})
        _report(world, volume, "Bound")
        name = volume["metadata"]["name"]
        _write(world, claim, {"spec": {"volumeName": name}})
        return


def _report(world: Any, obj: Manifest, phase: str) -> None:
    _write(world, obj, {"status": {"phase": phase}}, "status")


def _write(
    world: Any, obj: Manifest, body: Manifest, subresource: str = ""
) -> None:
    stored = world.objects[ObjectRef.of(obj)]
    after = field_ownership.apply_patch(stored.obj, body)
    world.kept(stored.updated(after, "controller", subresource), stored)
