"""What a cluster can do for us: the seam between deciding and acting.

Two things show this behaviour: the real cluster, and the fake one of the
tests. ``tests/contracts`` runs the same suite on both.
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
    """What an apply left: the object, and whether it was not there before."""

    obj: Manifest
    created: bool


@dataclasses.dataclass(frozen=True)
class Watch:
    """One stream: a kind in a namespace (empty for all), by a selector.

    ``names`` are the objects that matter; where listing is forbidden each
    is watched by its name instead.
    """

    group_kind: GroupKind
    namespace: str
    selector: str
    names: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """All that a list showed at one moment, which says what is absent too."""

    watch: Watch
    objs: tuple[Manifest, ...]


@dataclasses.dataclass(frozen=True)
class WatchEvent:
    """One object as an event showed it.

    ``gone`` only means that the selector no longer matches; whether the
    object is gone is for a GET to say.
    """

    obj: Manifest
    deleted: bool = False


WatchUpdate = Snapshot | WatchEvent


class WatchSession(Protocol):
    """Open streams. All of them end when the context does."""

    def next_events(self, seconds: float) -> Sequence[WatchUpdate]:
        """What came since, waiting up to so many seconds for the first.

        Raises the error of a stream that cannot go on.
        """
        ...


class Cluster(Protocol):
    """An API server, as one credential sees it.

    Every verb raises a ``ClusterError``: Unreachable, Unauthenticated,
    Forbidden, Rejected, or Unavailable when the retries that the server's
    answer calls for did not help until the deadline.
    """

    @property
    def server(self) -> str:
        """The server's URL, without user information."""
        ...

    @property
    def requests(self) -> int:
        """How many requests were sent since the connection was made."""
        ...

    def with_deadline(self, deadline: Deadline) -> Cluster:
        """The same cluster and connections, no request past the deadline."""
        ...

    def version(self) -> str:
        """The server's own version, such as ``v1.36.3``."""
        ...

    def can_i(self, right: Permission) -> bool:
        """Whether the server's authorizer lets us do that."""
        ...

    def list_rules(self, namespace: str) -> Sequence[PolicyRule]:
        """What we may do in a namespace, as far as the server lists it.

        What is not listed may be allowed all the same.
        """
        ...

    def resource(self, group_kind: GroupKind, version: str = "") -> Resource:
        """How a kind is served, at a version or else at the preferred one.

        Asks the server again on a miss. Raises KindNotServed.
        """
        ...

    def resources(self) -> Sequence[Resource]:
        """Every kind that can be listed, at its preferred version."""
        ...

    def invalidate(self, group: str) -> None:
        """Ask anew what a group serves, after its definitions changed."""
        ...

    def get(self, ref: ObjectRef, version: str = "") -> Manifest | None:
        """The object, or None when it is not there.

        An object of a kind that the server does not serve is not there.

        :param version: at which it is shown; empty for the preferred one.
        """
        ...

    def get_metadata(self, ref: ObjectRef) -> Manifest | None:
        """The object's metadata only; None when it is not there."""
        ...

    def list_objects(
        self,
        group_kind: GroupKind,
        namespace: str = "",
        selector: str = "",
        fields: str = "",
        page: int = 0,
    ) -> Iterator[Manifest]:
        """Objects, in pages; each has its apiVersion and kind filled in.

        :param page: maximum number of objects in a page; 0 for the default.
        """
        ...

    def list_metadata(
        self, group_kind: GroupKind, namespace: str = "", selector: str = ""
    ) -> Iterator[Manifest]:
        """The metadata of objects, in pages."""
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
        """Server-side apply, at the manifest's own version.

        :param uid: of the object that is to be changed. An object with
            another, or none at all, raises Conflict.

        Raises FieldConflict, DependencyMissing, Conflict or Rejected beside
        what every verb may raise.
        """
        ...

    def create(self, manifest: Manifest, manager: str) -> Manifest:
        """A new object. Raises Conflict when there is one already."""
        ...

    def submit(self, manifest: Manifest, manager: str) -> Manifest:
        """What the server answers to an object that it does not keep.

        For kinds whose only verb is create; a name is not needed. Raises
        Conflict when the server has done already what is asked for.
        """
        ...

    def replace(self, manifest: Manifest, manager: str) -> Manifest:
        """The whole object; its resourceVersion must be the live one.

        Raises Conflict when it is not, or the object is gone.
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
        """JSON merge patch of an object or of its sub-resource.

        Raises Conflict when the body has a uid or resourceVersion that is
        not the live one, or the object is gone.
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
        """Ask for the deletion of the object with this UID.

        None when no such object is there any more: it was gone, another
        has its name, or the server removed it at once. Else the object,
        which goes on to exist until its finalizers are removed.

        :param propagation: ``Background`` or ``Foreground``, what becomes
            of the objects that this one owns.
        """
        ...

    def map_parallel(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[tuple[Item, Result | Error], None, None]:
        """The function on every item, in parallel, as they come to an end.

        An Error is yielded in the place of a result; anything else is
        raised. Closing the iterator starts no further items and waits for
        those that run.
        """
        ...

    def watch(
        self, watches: Sequence[Watch]
    ) -> contextlib.AbstractContextManager[WatchSession]:
        """List, then watch, each of the streams on a connection of its own."""
        ...

    def close(self) -> None:
        """Give back connections and threads."""
        ...


def results_or_raise(
    outcomes: Generator[tuple[Item, Result | Error], None, None],
) -> Iterator[tuple[Item, Result]]:
    """What ``each`` yields, where the first error is to end it all."""
    with contextlib.closing(outcomes):
        for item, outcome in outcomes:
            if isinstance(outcome, Error):
                raise outcome
            yield item, outcome
