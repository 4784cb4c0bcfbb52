"""Discover the kinds of a server, one group at a time, with a cache.

The cache is in memory and expires soon: what a server serves changes with its
CustomResourceDefinitions, and reading a group again takes a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import logging
import math
import time
from typing import Any

from tacker_k8s_cr.kube.single_flight import TTLCache
from tacker_k8s_cr.model.deadline import Clock
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import ClusterError
from tacker_k8s_cr.model.errors import KindNotServed
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Resource

LOG = logging.getLogger(__name__)

Fetch = Callable[[str, Deadline], Mapping[str, Any]]
"""Gets a path; returns an empty mapping for a path that does not exist."""

_Kinds = Mapping[str, Resource]
_Versions = Mapping[str, tuple[str, ...]]
"""By group, the preferred one first."""

_GROUP_SECONDS = 10.0
"""Seconds for each group when all groups are read."""

_MAX_AGE = 300.0
"""Seconds for which a response is valid. An operation discards what has
changed; this limit is for a VIM with continuous operations."""

_NEVER = Deadline.never()

_LEASE = Resource(
    "coordination.k8s.io",
    "v1",
    "Lease",
    "leases",
    True,
    frozenset(("create", "delete", "get", "list", "patch", "update", "watch")),
)
"""The kind of the lock, which every server serves in this form. Discovery
would cost each operation a request."""


class Discovery:
    """The kinds of one server, for all threads of a process.

    One thread reads a group. Only threads that need that group wait for the
    response: the server of an aggregated API may not respond.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._groups: TTLCache[str, _Versions] = TTLCache(_MAX_AGE, clock)
        self._kinds: TTLCache[tuple[str, str], _Kinds] = TTLCache(
            _MAX_AGE, clock
        )

    def resource(
        self,
        fetch: Fetch,
        group_kind: GroupKind,
        version: str,
        deadline: Deadline = _NEVER,
    ) -> Resource:
        """Return how a kind is served. Raises KindNotServed."""
        if group_kind == _LEASE.group_kind and version in ("", "v1"):
            return _LEASE
        if cached := self._cached(group_kind, version):
            return cached
        query = _Query(self._groups, self._kinds, fetch, deadline)
        was_cached = self._has_cached(group_kind.group)
        found = query.find(group_kind, version)
        if found is None and was_cached:
            self.invalidate(group_kind.group)
            found = query.find(group_kind, version)
        if found is not None:
            return found
        served = query.served_versions(group_kind) if version else ()
        raise KindNotServed(group_kind, version, served)

    def _cached(self, group_kind: GroupKind, version: str) -> Resource | None:
        """Return a cached kind, as in nearly every call."""
        group = group_kind.group
        served = {} if version else self._groups.fresh("") or {}
        for group_version in (version,) if version else served.get(group, ()):
            kinds = self._kinds.fresh((group, group_version))
            if kinds is None:
                return None
            if found := kinds.get(group_kind.kind):
                return found
        return None

    def resources(
        self, fetch: Fetch, deadline: Deadline = _NEVER
    ) -> Sequence[Resource]:
        """Read all groups again; groups without a response are skipped."""
        self._groups.forget()
        self._kinds.forget()
        query = _Query(
            self._groups, self._kinds, fetch, deadline, _GROUP_SECONDS
        )
        return tuple(query.iterate_listable())

    def invalidate(self, group: str) -> None:
        self._groups.forget()
        self._kinds.forget(lambda key: key[0] == group)

    def _has_cached(self, group: str) -> bool:
        has_kinds = any(
            cached_group == group
            for cached_group, _ in self._kinds.cached_keys()
        )
        return has_kinds or bool(self._groups.cached_keys())


@dataclasses.dataclass(frozen=True)
class _Query:
    """A lookup in the cache, which fetches what is missing."""

    groups: TTLCache[str, _Versions]
    kinds: TTLCache[tuple[str, str], _Kinds]
    fetch: Fetch
    deadline: Deadline
    seconds: float = math.inf

    def find(self, group_kind: GroupKind, version: str) -> Resource | None:
        group = group_kind.group
        versions = (version,) if version else self._versions_of(group)
        # The kind may be missing in the version that its group prefers.
        for each in versions:
            if found := self._kinds_of(group, each).get(group_kind.kind):
                return found
        return None

    def served_versions(self, group_kind: GroupKind) -> tuple[str, ...]:
        group = group_kind.group
        return tuple(
            version
            for version in self._versions_of(group)
            if group_kind.kind in self._kinds_of(group, version)
        )

    def iterate_listable(self) -> Iterator[Resource]:
        for group, versions in self._versions().items():
            seen: set[str] = set()
            for version in versions:
                try:
                    kinds = self._kinds_of(group, version)
                except ClusterError as error:
                    LOG.warning(
                        "discovery of %s/%s failed, skipping: %s",
                        group,
                        version,
                        error,
                    )
                    continue
                for kind, resource in kinds.items():
                    if kind not in seen and "list" in resource.verbs:
                        yield resource
                    seen.add(kind)

    def _versions_of(self, group: str) -> tuple[str, ...]:
        return self._versions().get(group, ())

    def _versions(self) -> _Versions:
        def fetch_versions() -> _Versions:
            core = self.fetch("/api", self._request_deadline()).get(
                "versions", ()
            )
            listed = self.fetch("/apis", self._request_deadline()).get(
                "groups", ()
            )
            return _groups(core, listed)

        return self.groups.get_or_fetch(
            "", "GET /apis", fetch_versions, self._request_deadline()
        )

    def _kinds_of(self, group: str, version: str) -> _Kinds:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"

        def fetch_kinds() -> _Kinds:
            listed = self.fetch(path, self._request_deadline()).get(
                "resources", ()
            )
            return _kinds(group, version, listed)

        key = group, version
        return self.kinds.get_or_fetch(
            key, f"GET {path}", fetch_kinds, self._request_deadline()
        )

    def _request_deadline(self) -> Deadline:
        return self.deadline.at_most(self.seconds)


def _groups(
    core: Sequence[str], listed: Sequence[Mapping[str, Any]]
) -> _Versions:
    groups = {"": tuple(core)}
    for item in listed:
        preferred = item["preferredVersion"]["version"]
        others = [served["version"] for served in item["versions"]]
        groups[item["name"]] = tuple(dict.fromkeys([preferred, *others]))
    return groups


def _kinds(
    group: str, version: str, listed: Sequence[Mapping[str, Any]]
) -> _Kinds:
    """Return kinds by name; ``deployments/scale`` is a sub-resource."""
    subresources: dict[str, set[str]] = {}
    for item in listed:
        plural, _, subresource = item["name"].partition("/")
        if subresource:
            subresources.setdefault(plural, set()).add(subresource)
    return {
        item["kind"]: Resource(
            group,
            version,
            item["kind"],
            item["name"],
            bool(item["namespaced"]),
            frozenset(item.get("verbs", ())),
            frozenset(subresources.get(item["name"], ())),
        )
        for item in listed
        if "/" not in item["name"]
    }
