"""API servers that do not serve yet all kinds that the cluster defines.

The API servers of a cluster receive a CustomResourceDefinition one after
the other. Until then a server answers 404 for the kind and for every object
of it, the same answer as for an object that does not exist. The definition,
which every server reads from etcd, shows whether the kind exists.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import threading
import time

from tacker_k8s_cr.kube import pagination
from tacker_k8s_cr.kube.http import verbs
from tacker_k8s_cr.kube.http.http_model import NotFound
from tacker_k8s_cr.kube.pagination import Send
from tacker_k8s_cr.kube.single_flight import acquire_before
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model.deadline import Clock
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.errors import Forbidden
from tacker_k8s_cr.model.errors import Unavailable
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.objects import field

RETRY_SECONDS = 10.0
"""Seconds for which a request is sent again, each time on another
connection: a balancer then gives it to another server."""

_MAX_AGE = 1.0
"""Seconds for which the definitions of a group are remembered. A package
may ask for many objects of a kind at once."""

_DEFINITIONS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    False,
    frozenset(("get", "list")),
)

_Served = frozenset[tuple[str, str]]
"""Kinds with the versions at which they are served."""


class Definitions:
    """The definitions of a cluster, cached for all threads of a process."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._cache: dict[str, tuple[float, _Served]] = {}

    def is_served(
        self,
        send: Send,
        group_kind: GroupKind,
        version: str,
        deadline: Deadline,
    ) -> bool:
        """Return whether an Established definition serves the kind.

        :param version: the version to serve it at; empty for any.
        """
        if "." not in group_kind.group:
            return False  # a definition has a group with a dot
        if not acquire_before(self._lock, deadline):
            raise Unavailable("list definitions", 408, "the deadline passed")
        try:
            cached = self._cache.get(group_kind.group)
            if cached is None or self._clock() >= cached[0]:
                served = _read_served(send, group_kind.group)
                cached = self._clock() + _MAX_AGE, served
                self._cache[group_kind.group] = cached
        finally:
            self._lock.release()
        return any(
            kind == group_kind.kind and version in ("", served_version)
            for kind, served_version in cached[1]
        )


def _read_served(send: Send, group: str) -> _Served:
    """Return what the definitions of a group serve; empty if forbidden.

    Their names end with the group, so only few are read completely.
    """
    found: set[tuple[str, str]] = set()
    selection = pagination.ListQuery(_DEFINITIONS)
    try:
        named = [
            ObjectRef.of(obj)
            for obj in pagination.list_objects(send, selection, metadata=True)
            if obj["metadata"]["name"].endswith(f".{group}")
        ]
        for ref in named:
            found.update(
                _served_versions(send(verbs.get(ref, _DEFINITIONS)).body)
            )
    except (NotFound, Forbidden):
        pass
    return frozenset(found)


def _served_versions(definition: Manifest) -> _Served:
    conditions = field(definition, ("status", "conditions"), ())
    if not any(
        one.get("type") == "Established" and one.get("status") == "True"
        for one in conditions
    ):
        return frozenset()
    kind = field(definition, ("spec", "names", "kind"), "")
    return frozenset(
        (kind, version["name"])
        for version in field(definition, ("spec", "versions"), ())
        if version.get("served")
    )


@dataclasses.dataclass
class LaggingServer:
    """A request that is repeated because its server may be behind.

    :param defined: whether the cluster defines the kind.
    :param reconnect: closes the idle connections.
    """

    server: str
    group_kind: GroupKind
    deadline: Deadline
    defined: Callable[[], bool]
    reconnect: Callable[[], None]
    sleep: Callable[[float], None] = time.sleep
    _until: Deadline | None = None
    _attempts: int = 1

    def should_retry(self, error: Error | None = None) -> bool:
        """Return whether to send again; false for a kind that is not defined.

        :param error: the server's answer; for a write it names the object.

        Raises DependencyMissing when the server has not caught up in time.
        """
        if not self.defined():
            return False
        if self._until is None:
            self._until = self.deadline.at_most(RETRY_SECONDS)
        delay = backoff.LAGGING_SERVER.delay(self._attempts)
        if self._until.remaining <= delay:
            kind = self.group_kind
            ref = ObjectRef(kind.group, kind.kind, "", "*")
            if isinstance(error, DependencyMissing):
                ref = error.ref
            why = (
                "its definition is Established, but the API server "
                f"{self.server} does not serve the kind; it may be behind "
                "the other API servers of the cluster"
            )
            raise DependencyMissing(ref, why)
        self.reconnect()
        self.sleep(delay)
        self._attempts += 1
        return True
