"""The interface of a cluster.

It has two implementations: the real cluster, and the fake one of the tests.
``tests/contracts`` runs the same suite on both.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
from typing import Any, Protocol, TypeVar

from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.permissions import Permission
from tacker_k8s_cr.model.permissions import PolicyRule

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class ApplyResponse:
    """The result of an apply: the object, and whether it was created."""

    obj: Manifest
    created: bool


@dataclasses.dataclass(frozen=True)
class Watch:
    """A kind in a namespace (empty for all), with a label selector.

    ``names`` are the relevant objects; where listing is forbidden, each is
    watched by its name instead.
    """

    group_kind: GroupKind
    namespace: str
    selector: str
    names: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """All objects of a list at one moment, which also shows what is absent."""

    watch: Watch
    objs: tuple[Manifest, ...]


@dataclasses.dataclass(frozen=True)
class WatchEvent:
    """One object of an event.

    ``deleted`` only means that the selector no longer matches; only a GET
    shows whether the object exists.
    """

    obj: Manifest
    deleted: bool = False


WatchUpdate = Snapshot | WatchEvent


class WatchSession(Protocol):
    """Open watches. All of them end with the context."""

    def next_events(self, seconds: float) -> Sequence[WatchUpdate]:
        """Return new updates, waiting up to so many seconds for the first.

        Raises the error of a watch that cannot continue.
        """
        ...


class Cluster(Protocol):
    """An API server, accessed with one credential.

    Every verb raises a ``ClusterError``: Unreachable, Unauthenticated,
    Forbidden, Rejected, or Unavailable when the retries that the server's
    response allows did not succeed before the deadline.
    """

    @property
    def server(self) -> str:
        """The server's URL, without user information."""
        ...

    @property
    def requests(self) -> int:
        """The number of requests sent so far."""
        ...

    def with_deadline(self, deadline: Deadline) -> Cluster:
        """Return the same cluster; it sends no request past the deadline."""
        ...

    def version(self) -> str:
        """Return the server's version, such as ``v1.36.3``."""
        ...

    def can_i(self, permission: Permission) -> bool:
        """Return whether the server's authorizer allows that."""
        ...

    def list_rules(self, namespace: str) -> Sequence[PolicyRule]:
        """Return the permissions in a namespace that the server lists.

        Permissions that are not listed may be granted anyway.
        """
        ...

    def resource(self, group_kind: GroupKind, version: str = "") -> Resource:
        """Return how a kind is served, by default at the preferred version.

        Repeats discovery for an unknown kind. Raises KindNotServed.
        """
        ...

    def resources(self) -> Sequence[Resource]:
        """Return every kind that can be listed, at its preferred version."""
        ...

    def invalidate(self, group: str) -> None:
        """Discover a group again, after its definitions changed."""
        ...

    def get(self, ref: ObjectRef, version: str = "") -> Manifest | None:
        """Return the object, or None if it does not exist.

        An object of a kind that the server does not serve does not exist.

        :param version: of the returned object; empty for the preferred one.
        """
        ...

    def get_metadata(self, ref: ObjectRef) -> Manifest | None:
        """Return the object's metadata; None if it does not exist."""
        ...

    def list_objects(
        self,
        group_kind: GroupKind,
        namespace: str = "",
        selector: str = "",
        fields: str = "",
        page: int = 0,
    ) -> Iterator[Manifest]:
        """Yield objects, in pages, each with its apiVersion and kind.

        :param page: maximum number of objects in a page; 0 for the default.
        """
        ...

    def list_metadata(
        self, group_kind: GroupKind, namespace: str = "", selector: str = ""
    ) -> Iterator[Manifest]:
        """Yield the metadata of objects, in pages."""
        ...

    def apply(
        self,
        manifest: Manifest,
        manager: str,
        *,
        uid: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> ApplyResponse:
        """Send a server-side apply, at the manifest's version.

        :param uid: of the object to change. Raises Conflict if the object
            has another UID or does not exist.

        Raises FieldConflict, DependencyMissing, Conflict or Rejected, in
        addition to the errors of every verb.
        """
        ...

    def create(self, manifest: Manifest, manager: str) -> Manifest:
        """Create an object. Raises Conflict if it already exists."""
        ...

    def submit(self, manifest: Manifest, manager: str) -> Manifest:
        """Send an object that the server does not store; return the response.

        For kinds whose only verb is create; a name is not needed. Raises
        Conflict if the server has already done what is requested.
        """
        ...

    def replace(self, manifest: Manifest, manager: str) -> Manifest:
        """Replace the whole object; its resourceVersion must be the live one.

        Raises Conflict if it is not, or if the object does not exist.
        """
        ...

    def patch(
        self,
        ref: ObjectRef,
        body: Mapping[str, Any],
        manager: str,
        *,
        subresource: str = "",
    ) -> Manifest:
        """Send a JSON merge patch of an object or of its sub-resource.

        Raises Conflict if the body has a uid or resourceVersion that is not
        the live one, or if the object does not exist.
        """
        ...

    def delete(
        self,
        ref: ObjectRef,
        uid: str,
        *,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> Manifest | None:
        """Request the deletion of the object with this UID.

        Returns None if no such object exists any longer: it was deleted
        before, another has its name, or the server removed it at once.
        Otherwise returns the object, which exists until its finalizers are
        removed.

        :param propagation: ``Background`` or ``Foreground``, for the objects
            that this one owns.
        """
        ...

    def map_parallel(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[tuple[Item, Result | Error], None, None]:
        """Call the function for every item in parallel; yield as each ends.

        An Error is yielded instead of a result; other exceptions are raised.
        Closing the iterator starts no further items and waits for those that
        run.
        """
        ...

    def watch(
        self, watches: Sequence[Watch]
    ) -> contextlib.AbstractContextManager[WatchSession]:
        """List, then watch, each selection on a separate connection."""
        ...

    def close(self) -> None:
        """Close connections and end threads."""
        ...


def results_or_raise(
    outcomes: Generator[tuple[Item, Result | Error], None, None],
) -> Iterator[tuple[Item, Result]]:
    """Yield the results of ``map_parallel``; raise the first error."""
    with contextlib.closing(outcomes):
        for item, outcome in outcomes:
            if isinstance(outcome, Error):
                raise outcome
            yield item, outcome
