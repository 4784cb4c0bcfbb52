"""Where Cluster API's contract puts its fields, for each of its versions.

The version of a contract is not the version of an object: providers number
their kinds as they please, and one management cluster may hold both. So it
is read off what the status of an object shows.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Path

GROUP = "cluster.x-k8s.io"
CONTROL_PLANE_GROUP = "controlplane.cluster.x-k8s.io"
BOOTSTRAP_GROUP = "bootstrap.cluster.x-k8s.io"
INFRASTRUCTURE_GROUP = "infrastructure.cluster.x-k8s.io"

CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
"""Label on all that belongs to a Cluster."""

REPLICAS: Path = ("spec", "replicas")


@dataclasses.dataclass(frozen=True)
class Contract:
    """Field paths of one version of the contract.

    :param provisioned: infrastructure is there for the first time.
    :param data_created: bootstrap data is there.
    :param initialized: a control plane took its first request.
    :param counters: of what is asked, in the order in which they are met.
    :param own_fields: fields of a status that only this version has.
    :param terminal: whether failureReason and failureMessage are final.
    """

    name: str
    provisioned: Path
    data_created: Path
    initialized: Path
    counters: tuple[str, ...]
    own_fields: frozenset[str]
    terminal: bool


V1BETA1 = Contract(
    "v1beta1",
    provisioned=("status", "ready"),
    data_created=("status", "ready"),
    initialized=("status", "initialized"),
    counters=("updatedReplicas", "replicas", "readyReplicas"),
    own_fields=frozenset(
        {
            "bootstrapReady",
            "controlPlaneReady",
            "failureMessage",
            "failureReason",
            "fullyLabeledReplicas",
            "infrastructureReady",
            "initialized",
            "ready",
            "unavailableReplicas",
            "updatedReplicas",
            "v1beta2",
        }
    ),
    terminal=True,
)

V1BETA2 = Contract(
    "v1beta2",
    provisioned=("status", "initialization", "provisioned"),
    data_created=("status", "initialization", "dataSecretCreated"),
    initialized=("status", "initialization", "controlPlaneInitialized"),
    counters=(
        "upToDateReplicas",
        "replicas",
        "readyReplicas",
        "availableReplicas",
    ),
    own_fields=frozenset(
        {
            "controlPlane",
            "deprecated",
            "initialization",
            "upToDateReplicas",
            "workers",
        }
    ),
    terminal=False,
)


def contract_of(obj: Manifest) -> Contract:
    """The contract that an object's status follows.

    A status that shows no sign of either is that of an object on which a
    controller has just begun to work; its apiVersion then is the best hint.
    """
    status = fields.mapping(obj, ("status",))
    if V1BETA2.own_fields & status.keys():
        return V1BETA2
    if V1BETA1.own_fields & status.keys():
        return V1BETA1
    if any(found.severity for found in fields.conditions(obj).values()):
        return V1BETA1
    _, version = objects.split_api_version(fields.text(obj, ("apiVersion",)))
    return V1BETA1 if version == V1BETA1.name else V1BETA2


def is_capi_group(group: str) -> bool:
    """Is it a group of Cluster API, or of one of its providers?"""
    return group == GROUP or group.endswith("." + GROUP)


def uses_cluster_api(refs: Iterable[ObjectRef]) -> bool:
    """Return whether one of the objects is of Cluster API or a provider.

    What only their kinds need is left out of an operation without them.
    """
    return any(is_capi_group(ref.group) for ref in refs)


def resolve_reference(obj: Manifest, path: Path) -> ObjectRef | None:
    """The object that a reference names, in the shape of either version.

    v1beta1 has ``apiVersion`` and may have ``namespace``; v1beta2 has
    ``apiGroup``, and the namespace is that of the object.
    """
    ref = fields.mapping(obj, path)
    kind, name = fields.text(ref, ("kind",)), fields.text(ref, ("name",))
    if not (kind and name):
        return None
    return ObjectRef(
        group_of(ref),
        kind,
        fields.text(ref, ("namespace",))
        or fields.text(obj, ("metadata", "namespace")),
        name,
    )


def group_of(ref: Mapping[str, object]) -> str:
    """The group of a reference of either shape."""
    if group := fields.text(ref, ("apiGroup",)):
        return group
    group, _ = objects.split_api_version(fields.text(ref, ("apiVersion",)))
    return group


def references(*paths: Path) -> Callable[[Manifest], tuple[ObjectRef, ...]]:
    """What a handler's ``children`` is, for references at these paths."""

    def found(obj: Manifest) -> tuple[ObjectRef, ...]:
        refs = (resolve_reference(obj, path) for path in paths)
        return tuple(ref for ref in refs if ref)

    return found


def label_selector(
    kind: str, label: str, name: str
) -> tuple[tuple[GroupKind, str], ...]:
    """Objects of a core kind that carry a label with a name."""
    # A label value has at most 63 characters; a longer name is hashed.
    if not name or len(name) > 63:
        return ()
    return ((GroupKind(GROUP, kind), f"{label}={name}"),)
