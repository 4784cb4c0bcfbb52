"""Two versions of a package, and how what they made compares with them."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import pathlib
from typing import Any

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import record_secrets
from tacker_k8s_cr.state import serialization
from tacker_k8s_cr.state import store
from tests.functional import manifests
from tests.functional import volumes

Manifests = tuple[Mapping[str, Any], ...]

DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
SAMPLE = (
    pathlib.Path(__file__).parents[2]
    / "samples/vnf_packages/capi_workload_cluster"
)
USUAL = ObjectRef("", "ConfigMap", "", "kube-root-ca.crt")


SECRET = GroupKind("", "Secret")
LEASE = GroupKind("coordination.k8s.io", "Lease")


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Two versions of a package, and the kinds of objects to check.

    :param crowded: kinds of which controllers create objects there, too; of
        these only the recorded ones count.
    """

    old: Manifests
    new: Manifests
    kinds: tuple[GroupKind, ...]
    crowded: tuple[GroupKind, ...] = ()


def mixed_package(name: str) -> Scenario:
    """A definition with its resources, configuration, and a workload."""
    group = f"{name}.example.org"
    definition = manifests.definition(group, "Thing", status=False)
    changed = manifests.deployment("web")
    container = changed["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "example.org/a:2"
    return Scenario(
        (
            manifests.custom(group, "Thing", "one", size="s"),
            definition,
            manifests.config_map("same"),
            manifests.config_map("old"),
            manifests.deployment("web"),
        ),
        (
            manifests.custom(group, "Thing", "one", size="xl"),
            manifests.custom(group, "Thing", "two", size="s"),
            definition,
            manifests.config_map("same"),
            changed,
        ),
        (
            GroupKind(group, "Thing"),
            GroupKind("", "ConfigMap"),
            GroupKind("apps", "Deployment"),
            SECRET,
            LEASE,
        ),
    )


def stateful_set_with_claims(name: str) -> Scenario:
    """A StatefulSet with a claim for each Pod, and volumes for these."""
    package = (
        *(volumes.volume(f"{name}-{number}", name) for number in range(2)),
        volumes.stateful_set("db", name, replicas=2),
        manifests.config_map("same"),
    )
    kinds = (
        GroupKind("apps", "StatefulSet"),
        GroupKind("", "Pod"),
        GroupKind("", "PersistentVolumeClaim"),
        GroupKind("", "ConfigMap"),
        SECRET,
        LEASE,
    )
    return Scenario(package, package, kinds)


def workload_cluster(name: str) -> Scenario:
    """The sample with a Cluster; the new one replaces its control plane.

    Its version stays, since no rollback lowers one. Names are the instance's
    own, so that no trial meets what a controller remembers of another.
    """
    documents = k8s_cr.load(SAMPLE).documents
    text = json.dumps([document.manifest for document in documents])
    text = text.replace('"workload', f'"{name}')
    old = tuple(json.loads(text))
    new = json.loads(text)
    for manifest in new:
        if manifest["kind"] == "KubeadmControlPlane":
            manifest["spec"]["kubeadmConfigSpec"]["preKubeadmCommands"] = [":"]
    kinds = {ObjectRef.of(manifest).group_kind for manifest in old}
    return Scenario(
        old, tuple(new), (*sorted(kinds), SECRET, LEASE), (SECRET,)
    )


# -- What is there ------------------------------------------------------------


def find_objects(
    cluster: Cluster, namespace: str, told: Scenario
) -> dict[ObjectRef, Manifest]:
    """All objects of the story's kinds, and its definitions."""
    found = {}
    definitions = [
        ObjectRef.of(m) for m in told.old if m["kind"] == DEFINITION.kind
    ]
    for ref in definitions:
        obj = cluster.get(ref)
        if obj is not None:
            found[ref] = obj
    for kind in told.kinds:
        try:
            listed = list(cluster.list_objects(kind, namespace))
        except errors.KindNotServed:
            continue
        found.update((ObjectRef.of(obj), obj) for obj in listed)
    usual = USUAL._replace(namespace=namespace)
    return {
        ref: obj
        for ref, obj in found.items()
        if ref != usual
        and (
            ref.group_kind not in told.crowded
            or ref.name.startswith(record_names.PREFIX)
        )
    }


def compare(
    cluster: Cluster,
    name: str,
    namespace: str,
    told: Scenario,
    wanted: Iterable[Manifest],
) -> tuple[list[str], list[str]]:
    """What is missing or differs; and what is superfluous.

    The record belongs to what should exist: it has to own all of it by UID,
    and no piece may exist that its head does not name.
    """
    found = find_objects(cluster, namespace, told)
    should = {_placed(cluster, m, namespace): m for m in wanted}
    lost = [
        f"{ref} does not exist" for ref in should.keys() - found.keys()
    ] + [
        f"{ref} is not as it should be"
        for ref, manifest in should.items()
        if ref in found and not _contains(manifest, found[ref])
    ]
    ours = set(should)
    entry = store.read(cluster, name, namespace)
    if should:
        if entry is None:
            return [*lost, "the record"], []
        inventory = entry.inventory
        if inventory.phase is not Phase.INSTANTIATED:
            lost.append(f"the record is {inventory.phase.value}")
        uids = {r: o["metadata"]["uid"] for r, o in found.items()}
        owned = dict(inventory.owned)
        lost += [
            f"{ref} is {uids.get(ref)}, but {owned.get(ref)} in the record"
            for ref in should.keys() | owned.keys()
            if uids.get(ref) != owned.get(ref) or ref not in should
        ]
        ours |= _record_objects(entry, namespace, found)
    return lost, [str(ref) for ref in found.keys() - ours]


def _record_objects(
    entry: record_secrets.StoredRecord,
    namespace: str,
    found: Mapping[ObjectRef, Manifest],
) -> set[ObjectRef]:
    """The head, the pieces that it names, and the unheld Lease."""
    name = entry.index["metadata"]["name"]
    text = base64.b64decode(entry.index["data"]["head"]).decode()
    named = {
        name,
        *(f"{name}.{piece}" for piece in serialization.chunk_names(text)),
    }
    lease = ObjectRef("coordination.k8s.io", "Lease", namespace, name)
    refs = {ObjectRef("", "Secret", namespace, each) for each in named}
    held = found.get(lease, {}).get("spec", {}).get("holderIdentity")
    return refs if held else {*refs, lease}


def replaced_objects(
    cluster: Cluster,
    before: Mapping[ObjectRef, Manifest],
    wanted: Iterable[Manifest],
) -> list[str]:
    """What is another object than it was before, and had no reason to."""
    names = {(m["kind"], m["metadata"]["name"]) for m in wanted}
    pairs = (
        (ref, obj["metadata"]["uid"], cluster.get_metadata(ref))
        for ref, obj in before.items()
        if (ref.kind, ref.name) in names
    )
    return [
        f"{ref} is another one"
        for ref, uid, now in pairs
        # Only the change itself removed it, and its rollback brought it back.
        if now and now["metadata"]["uid"] != uid and ref.name != "old"
    ]


def _placed(cluster: Cluster, manifest: Manifest, namespace: str) -> ObjectRef:
    ref = ObjectRef.of(manifest)
    if ref.group_kind == DEFINITION:
        return ref
    return ref._replace(namespace=namespace)


def _contains(wanted: Any, found: Any) -> bool:
    """Whether what was found contains all that is expected."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            _contains(value, found.get(key)) if value != {} else True
            for key, value in wanted.items()
        )
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return (
            isinstance(found, Sequence)
            and len(wanted) == len(found)
            and all(map(_contains, wanted, found))
        )
    return bool(wanted == found)
