"""What the user of a cluster must be allowed to do: pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource


@dataclasses.dataclass(frozen=True)
class Permission:
    """To do something to a resource, as Kubernetes' authorization has it.

    :param resource: plural, perhaps with a sub-resource after a slash.
    :param namespace: empty for all of them, or the cluster scope.
    :param names: of the objects that it is about; empty for all.
    """

    group: str
    resource: str
    namespace: str
    verb: str
    names: frozenset[str] = frozenset()


EVERYTHING = Permission("*", "*", "", "*")


@dataclasses.dataclass(frozen=True)
class PolicyRule:
    """A rule of what the user may do, as the server returns it."""

    groups: frozenset[str]
    resources: frozenset[str]
    verbs: frozenset[str]
    names: frozenset[str] = frozenset()

    def allows(self, permission: Permission) -> bool:
        """Whether it is about this, for its names or all."""
        plural, slash, sub = permission.resource.partition("/")
        spelt = {"*", permission.resource, f"*/{sub}" if slash else plural}
        return bool(
            self.groups & {"*", permission.group}
            and self.resources & spelt
            and self.verbs & {"*", permission.verb}
        )


def is_allowed_by(permission: Permission, rules: Iterable[PolicyRule]) -> bool:
    """Whether the rules show that the user has the right.

    That they do not proves nothing: the list may be incomplete.
    """
    remaining = set(permission.names)
    for rule in rules:
        if rule.allows(permission):
            if not rule.names:
                return True
            remaining -= rule.names
    return bool(permission.names) and not remaining


@dataclasses.dataclass(frozen=True)
class PermissionNeed:
    """A right, what it is for, and whether nothing goes without it.

    :param refs: the objects of the package that it is for, if it is.
    """

    permission: Permission
    refs: frozenset[ObjectRef] = frozenset()
    is_required: bool = True


_SECRETS = ("get", "list", "create", "update", "delete")
_LEASES = ("get", "watch", "create", "update", "delete")
_WRITING = ("get", "create", "patch", "delete")


def for_record(namespace: str) -> tuple[PermissionNeed, ...]:
    """For the record and the lock of an instance."""
    group = "coordination.k8s.io"
    # Listing cleans up what a writer left who died.
    return (
        *(
            PermissionNeed(
                Permission("", "secrets", namespace, verb),
                is_required=verb != "list",
            )
            for verb in _SECRETS
        ),
        *(
            PermissionNeed(Permission(group, "leases", namespace, verb))
            for verb in _LEASES
        ),
    )


def for_objects(
    refs: Iterable[ObjectRef],
    resources: Mapping[GroupKind, Resource],
    defined: Mapping[ObjectRef, GroupKind] | None = None,
    scaled: Collection[ObjectRef] = (),
) -> tuple[PermissionNeed, ...]:
    """For a package's objects, from the check before to their end.

    :param resources: how each kind is served, or will be, if that is known.
    :param defined: by definition of the package, the kind that it brings.
    :param scaled: objects whose number goes to their scale sub-resource.
    """
    places: dict[tuple[GroupKind, str], set[ObjectRef]] = defaultdict(set)
    for ref in refs:
        places[ref.group_kind, ref.namespace].add(ref)
    needs = []
    for (kind, namespace), some in sorted(places.items()):
        resource = resources.get(kind)
        if resource is None:  # it appears later, with an unknown plural name
            continue

        def need(
            verb: str,
            subresource: str = "",
            *,
            refs: Collection[ObjectRef] = frozenset(some),
            place: tuple[Resource, str] = (resource, namespace),
            must: bool = True,
        ) -> PermissionNeed:
            spelt = place[0].plural + (f"/{subresource}" * bool(subresource))
            names = frozenset(ref.name for ref in refs)
            right = Permission(place[0].group, spelt, place[1], verb, names)
            return PermissionNeed(right, frozenset(refs), must)

        needs += [need(verb) for verb in _WRITING]
        # A kind without status is current when it is stored.
        waits = "status" in resource.subresources
        needs.append(need("watch", must=waits))
        all_of = need("list", must=False)
        right = dataclasses.replace(all_of.permission, names=frozenset())
        needs.append(dataclasses.replace(all_of, permission=right))
        if own := some & set(scaled):
            needs.append(need("patch", "scale", refs=own))
    for namespace in sorted({namespace for _, namespace in places} - {""}):
        right = Permission(
            "", "namespaces", namespace, "get", frozenset([namespace])
        )
        needs.append(PermissionNeed(right))
        needs += for_diagnostics(namespace)
    for ref, kind in sorted((defined or {}).items()):
        # Other people's objects are looked for before a definition goes.
        right = Permission(kind.group, resources[kind].plural, "", "list")
        needs.append(PermissionNeed(right, frozenset([ref])))
    return tuple(needs)


def for_dry_run(
    refs: Iterable[ObjectRef], resources: Mapping[GroupKind, Resource]
) -> tuple[PermissionNeed, ...]:
    """For creating what the server answers and does not keep."""
    places = sorted({(ref.group_kind, ref.namespace) for ref in refs})
    return tuple(
        PermissionNeed(
            Permission(kind.group, resources[kind].plural, namespace, "create")
        )
        for kind, namespace in places
        if kind in resources
    )


def for_deletions(
    refs: Iterable[ObjectRef], resources: Mapping[GroupKind, Resource]
) -> tuple[PermissionNeed, ...]:
    """For deleting objects whose package is not at hand any more."""
    places: dict[tuple[GroupKind, str], set[str]] = defaultdict(set)
    for ref in refs:
        places[ref.group_kind, ref.namespace].add(ref.name)
    return tuple(
        PermissionNeed(
            Permission(
                kind.group,
                resources[kind].plural,
                namespace,
                "delete",
                frozenset(names),
            )
        )
        for (kind, namespace), names in sorted(places.items())
        if kind in resources
    )


def for_claims(sets: Iterable[ObjectRef]) -> tuple[PermissionNeed, ...]:
    """Return the permissions for deleting the claims of these StatefulSets."""
    places: dict[str, set[ObjectRef]] = defaultdict(set)
    for ref in sets:
        places[ref.namespace].add(ref)
    return tuple(
        PermissionNeed(
            Permission("", "persistentvolumeclaims", namespace, verb),
            frozenset(some),
        )
        for namespace, some in sorted(places.items())
        for verb in ("get", "list", "watch", "delete")
    )


def for_diagnostics(namespace: str) -> tuple[PermissionNeed, ...]:
    """For errors that say more."""
    return tuple(
        PermissionNeed(
            Permission(group, resource, namespace, "list"), is_required=False
        )
        for group, resource in (
            ("", "events"),
            ("", "pods"),
            ("apps", "replicasets"),
        )
    )


def for_members(vdus: Iterable[ObjectRef]) -> tuple[PermissionNeed, ...]:
    """For listing the members of a package's VDUs, as a VNFM has to.

    :param vdus: the objects that bear the VDUs' numbers.
    """
    wanted = set()
    for ref in vdus:
        if ref.group.endswith("cluster.x-k8s.io"):
            wanted.add(
                Permission("cluster.x-k8s.io", "machines", *_listing(ref))
            )
            continue
        wanted.add(Permission("", "pods", *_listing(ref)))
        if ref.kind == "CronJob":
            wanted.add(Permission("batch", "jobs", *_listing(ref)))
        if ref.kind == "Deployment":
            wanted.add(Permission("apps", "replicasets", *_listing(ref)))
    return tuple(
        PermissionNeed(right)
        for right in sorted(wanted, key=lambda r: r.resource)
    )


def _listing(ref: ObjectRef) -> tuple[str, str]:
    return ref.namespace, "list"


def format_permissions(permissions: Iterable[Permission]) -> tuple[str, ...]:
    """One line for each resource in a namespace, with all its verbs."""
    verbs: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for permission in permissions:
        verbs[
            permission.namespace, permission.group, permission.resource
        ].append(permission.verb)
    lines = []
    for (namespace, group, resource), found in sorted(verbs.items()):
        plural, slash, sub = resource.partition("/")
        spelt = f"{plural}.{group}" if group else plural
        where = (
            f"in the namespace {namespace}"
            if namespace
            else "at the cluster scope"
        )
        named = ", ".join(dict.fromkeys(found))
        lines.append(f"{named} {spelt}{slash}{sub} {where}")
    return tuple(lines)
