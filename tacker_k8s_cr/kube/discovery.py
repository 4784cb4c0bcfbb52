"""Which kinds a server has, asked for one group at a time, and remembered.

Nothing is kept on disk, nor for long: what a server serves changes when a
definition does, and asking for a group again costs a millisecond.
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

Ask = Callable[[str, Deadline], Mapping[str, Any]]
"""Gets a path; an empty mapping where the server has nothing."""

_Kinds = Mapping[str, Resource]
_Versions = Mapping[str, tuple[str, ...]]
"""By group, the preferred one first."""

_HASTE = 10.0
"""Seconds for each group where all are asked for."""

_AGE = 300.0
"""Seconds for which an answer is believed. An operation meets what changed
by itself; this is for a VIM on which there is always another one."""

_NEVER = Deadline.never()

_LEASE = Resource(
    "coordination.k8s.io",
    "v1",
    "Lease",
    "leases",
    True,
    frozenset(("create", "delete", "get", "list", "patch", "update", "watch")),
)
"""The kind of the lock, which every server serves like this. To ask for its
group would cost each operation a request."""


class Discovery:
    """What one server serves, for all threads of a process.

    One thread asks for a group. Only who needs that group waits for the
    answer: the server of an aggregated API may be silent.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._groups: TTLCache[str, _Versions] = TTLCache(_AGE, clock)
        self._kinds: TTLCache[tuple[str, str], _Kinds] = TTLCache(_AGE, clock)

    def resource(
        self,
        ask: Ask,
        group_kind: GroupKind,
        version: str,
        deadline: Deadline = _NEVER,
    ) -> Resource:
        """Raises KindNotServed, or what the server's refusal means."""
        if group_kind == _LEASE.group_kind and version in ("", "v1"):
            return _LEASE
        if remembered := self._remembered(group_kind, version):
            return remembered
        asking = _Asking(self._groups, self._kinds, ask, deadline)
        known = self._remembers(group_kind.group)
        found = asking.found(group_kind, version)
        if found is None and known:
            self.invalidate(group_kind.group)
            found = asking.found(group_kind, version)
        if found is not None:
            return found
        served = asking.serving(group_kind) if version else ()
        raise KindNotServed(group_kind, version, served)

    def _remembered(
        self, group_kind: GroupKind, version: str
    ) -> Resource | None:
        """Return a kind that is already known, as in nearly every call."""
        group = group_kind.group
        served = {} if version else self._groups.fresh("") or {}
        for each in (version,) if version else served.get(group, ()):
            kinds = self._kinds.fresh((group, each))
            if kinds is None:
                return None
            if found := kinds.get(group_kind.kind):
                return found
        return None

    def resources(
        self, ask: Ask, deadline: Deadline = _NEVER
    ) -> Sequence[Resource]:
        """Asks for everything anew; what does not answer is passed over."""
        self._groups.forget()
        self._kinds.forget()
        asking = _Asking(self._groups, self._kinds, ask, deadline, _HASTE)
        return tuple(asking.listable())

    def invalidate(self, group: str) -> None:
        self._groups.forget()
        self._kinds.forget(lambda key: key[0] == group)

    def _remembers(self, group: str) -> bool:
        asked = any(known == group for known, _ in self._kinds.known())
        return asked or bool(self._groups.known())


@dataclasses.dataclass(frozen=True)
class _Asking:
    """What is known, and a way to the rest."""

    groups: TTLCache[str, _Versions]
    kinds: TTLCache[tuple[str, str], _Kinds]
    ask: Ask
    deadline: Deadline
    each: float = math.inf

    def found(self, group_kind: GroupKind, version: str) -> Resource | None:
        group = group_kind.group
        versions = (version,) if version else self._of(group)
        # The kind may be missing in the version that its group prefers.
        for each in versions:
            if found := self._in(group, each).get(group_kind.kind):
                return found
        return None

    def serving(self, group_kind: GroupKind) -> tuple[str, ...]:
        group = group_kind.group
        return tuple(
            version
            for version in self._of(group)
            if group_kind.kind in self._in(group, version)
        )

    def listable(self) -> Iterator[Resource]:
        for group, versions in self._versions().items():
            seen: set[str] = set()
            for version in versions:
                try:
                    kinds = self._in(group, version)
                except ClusterError as error:
                    LOG.warning("%s/%s: %s; left out", group, version, error)
                    continue
                for kind, resource in kinds.items():
                    if kind not in seen and "list" in resource.verbs:
                        yield resource
                    seen.add(kind)

    def _of(self, group: str) -> tuple[str, ...]:
        return self._versions().get(group, ())

    def _versions(self) -> _Versions:
        def asked() -> _Versions:
            core = self.ask("/api", self._until()).get("versions", ())
            listed = self.ask("/apis", self._until()).get("groups", ())
            return _groups(core, listed)

        return self.groups.get_or_ask("", "GET /apis", asked, self._until())

    def _in(self, group: str, version: str) -> _Kinds:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"

        def asked() -> _Kinds:
            listed = self.ask(path, self._until()).get("resources", ())
            return _kinds(group, version, listed)

        key = group, version
        return self.kinds.get_or_ask(key, f"GET {path}", asked, self._until())

    def _until(self) -> Deadline:
        return self.deadline.at_most(self.each)


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
    """Kinds by name; ``deployments/scale`` is a sub-resource of another."""
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
