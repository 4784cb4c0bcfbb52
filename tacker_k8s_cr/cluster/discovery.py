"""Which kinds a server has, asked for one group at a time, and remembered.

Nothing is kept on disk: what a server serves changes when a definition
does, and asking for a group again costs a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import logging
import threading
from typing import Any

from tacker_k8s_cr.errors import ClusterError
from tacker_k8s_cr.errors import KindUnknown
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Resource

LOG = logging.getLogger(__name__)

Ask = Callable[[str], Mapping[str, Any]]
"""Gets a path; an empty mapping where the server has nothing."""

_Kinds = Mapping[str, Resource]


class Discovery:
    """What one server serves, for all threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: dict[str, tuple[str, ...]] = {}
        self._kinds: dict[tuple[str, str], _Kinds] = {}

    def resource(
        self, ask: Ask, group_kind: GroupKind, version: str
    ) -> Resource:
        # Without the lock: nearly always it is known.
        if version:
            kinds = self._kinds.get((group_kind.group, version), {})
            if found := kinds.get(group_kind.kind):
                return found
        with self._lock:
            known = self._remembers(group_kind.group)
            found = self._found(ask, group_kind, version)
            if found is None and known:
                self._forget(group_kind.group)
                found = self._found(ask, group_kind, version)
            if found is not None:
                return found
            served = self._serving(ask, group_kind)
        raise KindUnknown(group_kind, version, served if version else ())

    def resources(self, ask: Ask) -> Sequence[Resource]:
        """Asks for everything anew; what does not answer is passed over."""
        with self._lock:
            self._versions.clear()
            self._kinds.clear()
            return tuple(self._listable(ask))

    def forget(self, group: str) -> None:
        with self._lock:
            self._forget(group)

    def _remembers(self, group: str) -> bool:
        asked = any(known == group for known, _ in self._kinds)
        return asked or bool(self._versions)

    def _forget(self, group: str) -> None:
        self._versions.clear()
        for known in [key for key in self._kinds if key[0] == group]:
            del self._kinds[known]

    def _found(
        self, ask: Ask, group_kind: GroupKind, version: str
    ) -> Resource | None:
        group = group_kind.group
        versions = (version,) if version else self._of(ask, group)
        # The kind may be missing in the version that its group prefers.
        for each in versions:
            if found := self._in(ask, group, each).get(group_kind.kind):
                return found
        return None

    def _serving(self, ask: Ask, group_kind: GroupKind) -> tuple[str, ...]:
        group = group_kind.group
        return tuple(
            version
            for version in self._of(ask, group)
            if group_kind.kind in self._in(ask, group, version)
        )

    def _listable(self, ask: Ask) -> Iterator[Resource]:
        self._of(ask, "")
        for group, versions in self._versions.items():
            seen: set[str] = set()
            for version in versions:
                try:
                    kinds = self._in(ask, group, version)
                except ClusterError as error:
                    LOG.warning("%s/%s: %s; left out", group, version, error)
                    continue
                for kind, resource in kinds.items():
                    if kind not in seen and "list" in resource.verbs:
                        yield resource
                    seen.add(kind)

    def _of(self, ask: Ask, group: str) -> tuple[str, ...]:
        """The versions of a group, the preferred one first."""
        if not self._versions:
            core = ask("/api").get("versions", ())
            groups = {"": tuple(core)}
            for item in ask("/apis").get("groups", ()):
                preferred = item["preferredVersion"]["version"]
                others = [served["version"] for served in item["versions"]]
                groups[item["name"]] = tuple(
                    dict.fromkeys([preferred, *others])
                )
            self._versions = groups
        return self._versions.get(group, ())

    def _in(self, ask: Ask, group: str, version: str) -> _Kinds:
        if (group, version) not in self._kinds:
            path = f"/apis/{group}" if group else "/api"
            listed = ask(f"{path}/{version}").get("resources", ())
            self._kinds[group, version] = _kinds(group, version, listed)
        return self._kinds[group, version]


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
