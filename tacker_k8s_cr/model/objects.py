"""The nouns that all modules share, and reading fields of an object."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import enum
from typing import Any, NamedTuple

Manifest = Mapping[str, Any]
"""An object as a package gave it, or (then called ``obj``) as the server did.

Never wrapped: we do not model Kubernetes, we read a few fields of it.
"""

Path = tuple[str, ...]
"""Where a field is: the keys from the root of an object."""

PREFIX = "k8s-cr.tacker.openstack.org/"
"""Prefix of every label and annotation of this project."""

INSTANCE = PREFIX + "instance"
"""Label on every object that an instance owns; its value is the id."""

VNF_INSTANCE = "tacker_vnf_instance_id"
"""Label that Tacker's own driver puts on every object of a VNF instance."""

MANAGER = "tacker-k8s-cr:"
"""Field manager of every write, followed by the id of the instance."""

SERVER_SET = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Fields of metadata that a server writes and a package cannot know."""


class GroupKind(NamedTuple):
    """A kind, whatever version of it is served.

    A tuple, as ``ObjectRef`` is: they are keys of nearly every mapping, and
    its hash takes a fifth of the time of a dataclass's.
    """

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @classmethod
    def of(cls, manifest: Manifest) -> GroupKind:
        group, _ = split_api_version(manifest["apiVersion"])
        return cls(group, manifest["kind"])


class ObjectRef(NamedTuple):
    """One object: the subject of every sentence, log line and error.

    The namespace is empty for an object of a cluster-scoped kind, and for a
    manifest without a namespace.
    """

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.group_kind}/{where}{self.name}".rstrip("/")

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @classmethod
    def of(cls, manifest: Manifest) -> ObjectRef:
        """The reference of a manifest or object.

        The name is empty for a manifest that has none: it leaves the name
        to a prefix, or is of a kind whose objects are answered and not kept.
        """
        group, _ = split_api_version(manifest["apiVersion"])
        metadata = manifest["metadata"]
        return cls(
            group,
            manifest["kind"],
            metadata.get("namespace") or "",
            metadata.get("name") or "",
        )


@dataclasses.dataclass(frozen=True)
class Resource:
    """How a server serves a kind, from its discovery.

    ``subresources`` holds the names after the slash, such as ``status``.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class State(enum.Enum):
    """How far an object is from what was asked of it."""

    CURRENT = "current"
    IN_PROGRESS = "in progress"
    BLOCKED = "blocked"
    FAILED = "failed"
    TERMINATING = "terminating"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A state, and the one sentence that justifies it.

    ``error`` is a sign of trouble that a controller keeps retrying (its
    type and reason, without the message, which may differ each time). It
    does not end a wait; when it persists for the stall timeout, the
    object is blocked.
    """

    state: State
    reason: str
    error: str = ""

    def __str__(self) -> str:
        return f"{self.state.value}: {self.reason}"


def split_api_version(api_version: str) -> tuple[str, str]:
    """``apps/v1`` is group apps, version v1; ``v1`` is the core group's."""
    group, _, version = api_version.rpartition("/")
    return group, version


def field(obj: Any, path: Path, default: Any = None) -> Any:
    """Return the value at the path, or the default if a key is missing."""
    for key in path:
        # Nearly all are dictionaries; to ask that first takes half the time.
        if not isinstance(obj, (dict, Mapping)):
            return default
        obj = obj.get(key)
        if obj is None:
            return default
    return obj


def conditions(
    obj: Manifest, path: Path = ("status", "conditions")
) -> dict[str, Mapping[str, Any]]:
    """Conditions by type; what has no type is passed over."""
    listed = field(obj, path, ())
    if not isinstance(listed, list | tuple):
        return {}
    return {
        item["type"]: item
        for item in listed
        if isinstance(item, Mapping) and isinstance(item.get("type"), str)
    }


def _of_metadata(obj: Manifest, name: str, default: Any = None) -> Any:
    """What ``field`` finds there, in half its time: it is asked for a lot."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, (dict, Mapping)):
        return default
    value = metadata.get(name)
    return default if value is None else value


def uid(obj: Manifest) -> str:
    return str(_of_metadata(obj, "uid", ""))


def generation(obj: Manifest) -> int:
    """The number of the object's last change of spec; 0 for a kind without."""
    found = _of_metadata(obj, "generation", 0)
    return found if isinstance(found, int) else 0


def resource_version(obj: Manifest) -> str:
    """Return the resourceVersion of a view of an object."""
    return str(_of_metadata(obj, "resourceVersion", ""))


def is_before(obj: Manifest, known: str) -> bool:
    """Return whether a view of an object is older than this version of it.

    False if that is unknown: a server other than Kubernetes' own may have
    resourceVersions that are not numbers.
    """
    found = resource_version(obj)
    if found == known:
        return False
    numbers = found.isdecimal() and known.isdecimal()
    return numbers and int(found) < int(known)


def labels(obj: Manifest) -> Mapping[str, str]:
    found: Mapping[str, str] = _of_metadata(obj, "labels", {})
    return found


def has_annotations(obj: Manifest) -> bool:
    """Return whether an object has an annotation with our prefix."""
    found = _of_metadata(obj, "annotations")
    return isinstance(found, (dict, Mapping)) and any(
        isinstance(name, str) and name.startswith(PREFIX) for name in found
    )


def annotation(obj: Manifest, name: str) -> str | None:
    """One of our own annotations, by its name without the prefix."""
    found = _of_metadata(obj, "annotations")
    if not found or not isinstance(found, (dict, Mapping)):
        return None
    value = found.get(PREFIX + name)
    return value if isinstance(value, str) else None
