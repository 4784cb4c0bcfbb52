"""What has to hold after a step, over values that were read: pure.

A sentence names the object and never shows what a Secret holds.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import hashlib
import json
from typing import Any

from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tools.soak import model
from tools.soak import packages
from tools.soak import readiness
from tools.soak.model import Instance

Others = Mapping[ObjectRef, str]
"""Objects of other managers, with a digest of each."""

_OWN_STATUS = frozenset({"Deployment", "CustomResourceDefinition"})
"""Kinds whose status their controllers may write at any time."""


@dataclasses.dataclass(frozen=True)
class Observation:
    """What was read of an instance and around it.

    :param owned: by the record, with UIDs.
    :param record: the Secrets and the Lease of the instance that exist.
    :param named: of these, what the head of the record names, and the head.
    :param holder: of the Lease; empty if no process holds it.
    :param labelled: objects with the label of the instance.
    :param live: the objects of any version of the package that exist.
    :param others: the objects of other managers in the namespace.
    """

    state: model.RecordedState = dataclasses.field(
        default_factory=model.RecordedState
    )
    owned: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    record: frozenset[ObjectRef] = frozenset()
    named: frozenset[ObjectRef] = frozenset()
    holder: str = ""
    labelled: Mapping[ObjectRef, str] = dataclasses.field(default_factory=dict)
    live: Mapping[ObjectRef, Manifest] = dataclasses.field(
        default_factory=dict
    )
    others: Others = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Check:
    """What is to be checked, and how strictly.

    :param expected: the instance as it has to be.
    :param complete: no operation has ended early; else only what holds at any
        time is checked.
    :param undisturbed: no fault and no kill can have left a lock or a piece of
        a record.
    :param patience: seconds in which all of it has to hold at some moment. A
        heal waits until new Pods are ready; their Deployment is updated a
        moment later, and counts none meanwhile.
    :param created: an instantiate has just succeeded, so that what is to run
        once must exist too.
    """

    expected: Instance
    others: Others
    complete: bool = True
    undisturbed: bool = True
    patience: float = 0.0
    created: bool = False


def find_violations(check: Check, observation: Observation) -> list[str]:
    """Return what does not hold, a sentence each."""
    found = list(_compare_foreign(check.others, observation.others))
    found += _find_unexpected(check.expected, observation)
    if not check.complete:
        return found
    if check.undisturbed and observation.holder:
        found.append(f"the Lease is held by {observation.holder}")
    if not check.expected.phase:
        return found + list(_check_absent(check, observation))
    return found + list(_check_present(check, observation))


def digest(obj: Manifest) -> str:
    """Return what changes when an object is written to or replaced.

    Its status counts for nothing where controllers keep writing to it.
    """
    metadata = obj["metadata"]
    if obj["kind"] in _OWN_STATUS:
        kept: Any = [
            metadata["uid"],
            metadata.get("generation"),
            metadata.get("labels"),
            metadata.get("ownerReferences"),
            metadata.get("deletionTimestamp"),
            obj.get("spec"),
        ]
    else:
        kept = [metadata["uid"], metadata.get("resourceVersion")]
    text = json.dumps(kept, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def contains(wanted: Any, found: Any) -> bool:
    """Return whether what was found contains all that is expected."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            contains(value, found.get(key)) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(wanted) == len(found)
            and all(map(contains, wanted, found))
        )
    return bool(wanted == found)


# -- Parts --------------------------------------------------------------------


def _compare_foreign(before: Others, now: Others) -> Iterator[str]:
    for ref, value in before.items():
        if ref not in now:
            yield f"{ref} of another manager does not exist any more"
        elif now[ref] != value:
            yield f"{ref} of another manager was changed or replaced"


def _refs(instance: Instance, versions: Collection[str]) -> set[ObjectRef]:
    return {
        packages.placed(manifest, instance.namespace)
        for version in versions
        for manifest in packages.manifests(
            instance.form, version, instance.name
        )
    }


def _find_unexpected(
    instance: Instance, observation: Observation
) -> Iterator[str]:
    known = _refs(instance, packages.VERSIONS)
    for ref in sorted(observation.labelled.keys() - known):
        yield f"{ref} has the label and is in no version of the package"
    for ref in sorted(observation.owned.keys() - known):
        yield f"{ref} is in the record and in no version of the package"


def _check_absent(check: Check, observation: Observation) -> Iterator[str]:
    if observation.state.phase:
        yield f"the record exists, {observation.state.phase}; expected none"
    others = check.others.keys()
    for ref in sorted(
        (observation.live.keys() | observation.labelled.keys()) - others
    ):
        yield f"{ref} is left"
    if check.undisturbed:
        for ref in sorted(observation.record):
            yield f"{ref} is left"


def _check_present(check: Check, observation: Observation) -> Iterator[str]:
    expected = check.expected
    if observation.state.phase != model.AT_REST:
        phase = observation.state.phase or "absent"
        yield f"the record is {phase}; expected {model.AT_REST}"
    if observation.state.version != expected.version:
        yield (
            f"the record has version "
            f"{observation.state.version or 'unknown'}; "
            f"expected {expected.version}"
        )
    if check.undisturbed:
        for ref in sorted(observation.record - observation.named):
            yield f"{ref} is not named by the head of the record"
    yield from _compare_objects(check, observation)
    numbers = expected.possible()
    for manifest in packages.manifests(
        expected.form, expected.version, expected.name
    ):
        ref = packages.placed(manifest, expected.namespace)
        if (obj := observation.live.get(ref)) and not _is_over(
            ref, check, observation
        ):
            possible = numbers.get(f"{ref.kind}/{ref.name}")
            yield from _compare_manifest(ref, manifest, obj, possible)


def _compare_objects(check: Check, observation: Observation) -> Iterator[str]:
    """Compare record, label and live objects with the version."""
    expected = check.expected
    wanted = _refs(expected, [expected.version])
    uids = {
        ref: obj["metadata"]["uid"] for ref, obj in observation.live.items()
    }
    for ref in sorted(wanted):
        uid = uids.get(ref)
        if _is_over(ref, check, observation):
            continue
        if uid is None:
            yield f"{ref} does not exist"
        if observation.owned.get(ref) != uid:
            owned = observation.owned.get(ref)
            yield f"{ref} is {uid}; the record has {owned}"
        if observation.labelled.get(ref) != uid:
            yield f"{ref} does not have the label of the instance"
    for ref in sorted(observation.owned.keys() - wanted):
        yield f"{ref} is in the record and not in the package"
    for ref in sorted(observation.labelled.keys() - wanted):
        yield f"{ref} has the label and is not in the package"
    for ref in sorted(observation.live.keys() - wanted - check.others.keys()):
        yield f"{ref} exists and is not in the package"


def _is_over(ref: ObjectRef, check: Check, observation: Observation) -> bool:
    """Return whether an object need not exist any more: it was to run once.

    An earlier change may have pruned it, or has requested that, and a rollback
    does not create it again. The record may keep its UID, so that a heal does
    not create it either.
    """
    if check.created or ref.kind not in packages.DONE_ONCE:
        return False
    obj = observation.live.get(ref)
    return obj is None or "deletionTimestamp" in obj["metadata"]


def _compare_manifest(
    ref: ObjectRef,
    manifest: Manifest,
    obj: Manifest,
    possible: frozenset[int] | None,
) -> Iterator[str]:
    wanted = json.loads(json.dumps(manifest))
    if possible is not None:
        del wanted["spec"]["replicas"]
        number = obj["spec"].get("replicas")
        if number not in possible:
            numbers = " or ".join(map(str, sorted(possible)))
            yield f"{ref} has {number} replicas; expected {numbers}"
    if not contains(wanted, obj):
        yield f"{ref} is not as its manifest has it"
    if why := readiness.explain_not_ready(obj):
        yield f"{ref} {why}"
