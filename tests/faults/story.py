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
from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.recording import stored
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
class Story:
    """Two versions of a package, and the kinds of objects to look at.

    :param crowded: kinds of which controllers make objects there, too; of
        these only the record's count.
    """

    old: Manifests
    new: Manifests
    kinds: tuple[GroupKind, ...]
    crowded: tuple[GroupKind, ...] = ()


def story(name: str) -> Story:
    """A definition with its resources, configuration, and a workload."""
    group = f"{name}.example.org"
    definition = manifests.definition(group, "Thing", status=False)
    changed = manifests.deployment("web")
    container = changed["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "example.org/a:2"
    return Story(
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


def with_claims(name: str) -> Story:
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
    return Story(package, package, kinds)


def workload_cluster(name: str) -> Story:
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
    return Story(old, tuple(new), (*sorted(kinds), SECRET, LEASE), (SECRET,))


# -- What is there ------------------------------------------------------------


def there(
    cluster: Cluster, namespace: str, told: Story
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
        except errors.KindUnknown:
            continue
        found.update((ObjectRef.of(obj), obj) for obj in listed)
    usual = USUAL._replace(namespace=namespace)
    return {
        ref: obj
        for ref, obj in found.items()
        if ref != usual
        and (
            ref.group_kind not in told.crowded
            or ref.name.startswith(record.NAME)
        )
    }


def differences(
    cluster: Cluster,
    name: str,
    namespace: str,
    told: Story,
    wanted: Iterable[Manifest],
) -> tuple[list[str], list[str]]:
    """What is lacking, or not as it should be; and what is too much.

    The record belongs to what should be there: it has to own all of it by
    UID, and no piece may be there that its head does not name.
    """
    found = there(cluster, namespace, told)
    should = {_placed(cluster, m, namespace): m for m in wanted}
    lost = [f"{ref} is not there" for ref in should.keys() - found.keys()] + [
        f"{ref} is not as it should be"
        for ref, manifest in should.items()
        if ref in found and not _holds(manifest, found[ref])
    ]
    ours = set(should)
    entry = record.read(cluster, name, namespace)
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
        ours |= _of_record(entry, namespace, found)
    return lost, [str(ref) for ref in found.keys() - ours]


def _of_record(
    entry: record.Entry, namespace: str, found: Mapping[ObjectRef, Manifest]
) -> set[ObjectRef]:
    """The head, the pieces that it names, and the Lease that nobody has."""
    name = entry.head["metadata"]["name"]
    text = base64.b64decode(entry.head["data"]["head"]).decode()
    named = {name, *(f"{name}.{piece}" for piece in stored.pieces_of(text))}
    lease = ObjectRef("coordination.k8s.io", "Lease", namespace, name)
    refs = {ObjectRef("", "Secret", namespace, each) for each in named}
    held = found.get(lease, {}).get("spec", {}).get("holderIdentity")
    return refs if held else {*refs, lease}


def replaced(
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


def _holds(wanted: Any, found: Any) -> bool:
    """Whether all that is wanted is in what was found."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            _holds(value, found.get(key)) if value != {} else True
            for key, value in wanted.items()
        )
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return (
            isinstance(found, Sequence)
            and len(wanted) == len(found)
            and all(map(_holds, wanted, found))
        )
    return bool(wanted == found)
