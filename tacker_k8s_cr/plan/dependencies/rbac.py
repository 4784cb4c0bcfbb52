"""Permissions of service accounts, by the roles of a package."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.dependencies.index import ManifestIndex

GROUP = "rbac.authorization.k8s.io"

WRITES = frozenset({"*", "update", "patch"})
READS = frozenset({"*", "get", "list", "watch"})

_BINDINGS = (
    GroupKind(GROUP, "RoleBinding"),
    GroupKind(GROUP, "ClusterRoleBinding"),
)
_EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


@dataclasses.dataclass(frozen=True)
class RoleGrant:
    """A rule, and the namespace that it applies to; empty for all."""

    namespace: str
    rule: Manifest

    def allows(
        self, verbs: Collection[str], group: str, resources: Collection[str]
    ) -> bool:
        """Return whether it allows a verb on one of the resources."""
        return bool(
            set(verbs) & set(self.rule.get("verbs") or ())
            and {"*", group} & set(self.rule.get("apiGroups") or ())
            and {"*", *resources} & set(self.rule.get("resources") or ())
        )


def grants(
    package: ManifestIndex, account: tuple[str, str]
) -> Iterator[RoleGrant]:
    """Return all permissions of an account.

    The rules of a role outside the package are unknown. It counts as
    unrestricted, unless its name is known to grant little.
    """
    for binding in bindings(package, account):
        manifest = package.manifests[binding]
        found = list(role(package, binding, manifest))
        for ref in found:
            parts = [ref, *aggregated_roles(package, package.manifests[ref])]
            for part in parts:
                for rule in package.manifests[part].get("rules") or ():
                    yield RoleGrant(binding.namespace, rule)
        name = str(objects.field(manifest, ("roleRef", "name"), ""))
        if not found and name != "view" and not name.startswith("system:"):
            yield RoleGrant(binding.namespace, _EVERYTHING)


def bindings(
    package: ManifestIndex, account: tuple[str, str]
) -> Iterator[ObjectRef]:
    """Yield the bindings with an account as subject."""
    for ref in package.all_of(_BINDINGS):
        subjects = package.manifests[ref].get("subjects") or ()
        if any(_is_subject(subject, ref, account) for subject in subjects):
            yield ref


def role(
    package: ManifestIndex, binding: ObjectRef, manifest: Manifest
) -> Iterable[ObjectRef]:
    """Return the role of a binding, if the package contains it."""
    kind = str(objects.field(manifest, ("roleRef", "kind"), ""))
    reference = binding.namespace if kind == "Role" else ""
    name = objects.field(manifest, ("roleRef", "name"))
    return package.find(kind, reference, name)


def aggregated_roles(
    package: ManifestIndex, manifest: Manifest
) -> Iterator[ObjectRef]:
    """Yield the roles that a ClusterRole aggregates."""
    path = ("aggregationRule", "clusterRoleSelectors")
    for selector in objects.field(manifest, path, ()):
        wanted = selector.get("matchLabels") or {}
        yield from package.matching(GroupKind(GROUP, "ClusterRole"), wanted)


def _is_subject(
    subject: Manifest, ref: ObjectRef, account: tuple[str, str]
) -> bool:
    namespace, _ = account
    name = subject.get("name")
    if subject.get("kind") == "Group":
        all_accounts = "system:serviceaccounts"
        return name in (all_accounts, f"{all_accounts}:{namespace}")
    reference = subject.get("namespace") or ref.namespace
    return subject.get("kind") == "ServiceAccount" and (
        (reference, name) == account
    )
