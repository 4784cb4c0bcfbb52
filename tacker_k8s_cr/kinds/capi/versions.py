"""Steps from one version of Kubernetes to another, as Cluster API has them."""

from __future__ import annotations

from collections.abc import Mapping
import re

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path

_TOPOLOGY: Path = ("spec", "topology", "version")
_CONTROL_PLANE: Path = ("spec", "version")
_MACHINES: Path = ("spec", "template", "spec", "version")

_BOOTSTRAP: Path = ("spec", "template", "spec", "bootstrap", "configRef")

UNSAFE = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check"
"""Annotation of a Cluster with which its webhook lets any version pass."""

MAX_MINOR_SKEW = 3
"""Minor versions that a kubelet may be behind its control plane."""

DOWNGRADE_REASON = "a version of Kubernetes cannot be lowered"


def version_path(group_kind: GroupKind) -> Path | None:
    """Where an object of the kind names a version of Kubernetes."""
    if group_kind == rollouts.CLUSTER:
        return _TOPOLOGY
    if group_kind.group == contract.CONTROL_PLANE_GROUP:
        return _CONTROL_PLANE
    if group_kind in (rollouts.DEPLOYMENT, rollouts.POOL):
        return _MACHINES
    return None


def is_control_plane_kind(group_kind: GroupKind) -> bool:
    """Whether its version is that of a control plane."""
    return group_kind == rollouts.CLUSTER or (
        group_kind.group == contract.CONTROL_PLANE_GROUP
    )


def version_of(obj: Manifest) -> str:
    """The version that an object asks for; empty where it names none."""
    where = version_path(GroupKind.of(obj)) if obj else None
    return fields.text(obj, where) if where else ""


def parse_version(text: str) -> tuple[int, int, int] | None:
    """``v1.35.2`` as numbers; None for any other text."""
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", text)
    if not found:
        return None
    major, minor, patch = (int(part) for part in found.groups())
    return major, minor, patch


def is_downgrade(before: str, after: str) -> bool:
    """Whether that is a step back."""
    old, new = parse_version(before), parse_version(after)
    return old is not None and new is not None and new < old


def upgrade_error(
    before: Manifest, after: Manifest, *, chained: bool
) -> str | None:
    """Why a control plane cannot go from one version to another; or None.

    :param chained: its class names versions, which it passes through.
    """
    old, new = (
        parse_version(version_of(before)),
        parse_version(version_of(after)),
    )
    if old is None or new is None or old == new:
        return None
    if UNSAFE in fields.mapping(after, ("metadata", "annotations")):
        return None
    step = f"{version_of(before)} -> {version_of(after)}"
    where = ".".join(version_path(GroupKind.of(after)) or ())
    if new < old:
        return f"{where}: {step}: {DOWNGRADE_REASON}"
    if not chained and new[:2] > (old[0], old[1] + 1):
        return (
            f"{where}: {step}: one minor version at a time, here to "
            f"v{old[0]}.{old[1] + 1}"
        )
    return None


def can_join(
    workers: Manifest, version: str, control_plane_version: str
) -> bool:
    """Whether new workers of a version can join a control plane of another.

    kubeadm joins only what is of the same minor version.
    """
    new, current = parse_version(version), parse_version(control_plane_version)
    if new is None or current is None:
        return True
    ref = fields.mapping(workers, _BOOTSTRAP)
    by_kubeadm = fields.text(ref, ("kind",)) == "KubeadmConfigTemplate"
    return new[:2] == current[:2] if by_kubeadm else new <= current


def version_skew_error(
    workers: Manifest, control_plane: Manifest, live: Manifest | None
) -> str | None:
    """Why these workers cannot work with that control plane; or None.

    :param live: the workers as they are. What does not change has joined.
    """
    version, control_plane_version = (
        parse_version(version_of(workers)),
        parse_version(version_of(control_plane)),
    )
    if version is None or control_plane_version is None:
        return None
    where = ".".join(_MACHINES)
    ref = ObjectRef.of(control_plane)
    if version > control_plane_version:
        why = "cannot be newer than"
    elif (
        version[0] == control_plane_version[0]
        and version[1] < control_plane_version[1] - MAX_MINOR_SKEW
    ):
        why = f"cannot be more than {MAX_MINOR_SKEW} minor versions behind"
    elif _machine_template(live or {}) != _machine_template(
        workers
    ) and not can_join(
        workers, version_of(workers), version_of(control_plane)
    ):
        why = "has to be of the minor version, for kubeadm to join it, of"
    else:
        return None
    return (
        f"{where}: {version_of(workers)} {why} "
        f"{version_of(control_plane)} of {ref}"
    )


def _machine_template(workers: Manifest) -> tuple[str, ...]:
    """What new machines of workers are made from, in either contract."""
    spec = fields.mapping(workers, ("spec", "template", "spec"))
    return (
        fields.text(spec, ("version",)),
        fields.text(spec, ("infrastructureRef", "name")),
        fields.text(spec, ("bootstrap", "configRef", "name")),
    )


def control_plane_ref(cluster: Manifest) -> ObjectRef | None:
    """The control plane of a Cluster that names one."""
    return contract.resolve_reference(cluster, ("spec", "controlPlaneRef"))


def cluster_name(workers: Manifest) -> str:
    return fields.text(workers, ("spec", "clusterName"))


def upgrade_order(
    manifests: Mapping[ObjectRef, Manifest],
    live: Mapping[ObjectRef, Manifest],
) -> dict[ObjectRef, ObjectRef]:
    """By workers that get another version, the control plane before them.

    :param manifests: as they are to be.
    :param live: as they are, of those that name versions.
    """
    found = {}
    for ref, manifest in manifests.items():
        if is_control_plane_kind(ref.group_kind) or ref not in live:
            continue
        control_plane = control_plane_of(manifest, manifests)
        if control_plane is None or control_plane not in live:
            continue
        is_upgraded = version_of(manifests[control_plane]) != version_of(
            live[control_plane]
        )
        if is_upgraded and version_of(manifest) != version_of(live[ref]):
            found[ref] = control_plane
    return found


def control_plane_of(
    workers: Manifest, manifests: Mapping[ObjectRef, Manifest]
) -> ObjectRef | None:
    """The control plane that workers join, if it is among the manifests."""
    if version_path(GroupKind.of(workers)) != _MACHINES:
        return None
    ref = ObjectRef.of(workers)
    cluster = manifests.get(
        ObjectRef(
            rollouts.CLUSTER.group,
            rollouts.CLUSTER.kind,
            ref.namespace,
            cluster_name(workers),
        )
    )
    control_plane = control_plane_ref(cluster) if cluster else None
    return control_plane if control_plane in manifests else None
