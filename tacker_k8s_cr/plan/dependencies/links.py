"""By object, those that it does not work without."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import references
from tacker_k8s_cr.plan.dependencies import pod_templates
from tacker_k8s_cr.plan.dependencies import rbac
from tacker_k8s_cr.plan.dependencies.index import ManifestIndex
from tacker_k8s_cr.plan.dependencies.pod_templates import Workload

CA_FROM = "cert-manager.io/inject-ca-from"
"""Annotation that names the Certificate whose authority is trusted."""

SERVICE = GroupKind("", "Service")
HOOKS = (
    GroupKind("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    GroupKind(
        "admissionregistration.k8s.io", "ValidatingWebhookConfiguration"
    ),
)
API_SERVICE = GroupKind("apiregistration.k8s.io", "APIService")


def dependencies_of(
    manifests: Mapping[ObjectRef, Manifest],
) -> dict[ObjectRef, frozenset[ObjectRef]]:
    """By object, those of these that it does not work without.

    A definition is served by the webhooks for its kind, and by the
    workloads whose account may write its objects; a webhook by the
    workloads behind its Service; a workload by its account, with the rights
    of that, and by the configuration that it names or may read. All need
    what they name by kind and name, their namespace and their definition.
    """
    package = _Package(manifests)
    links: dict[ObjectRef, set[ObjectRef]] = defaultdict(set)
    for ref, named in references.references(manifests).items():
        links[ref] |= named
    for ref in manifests:
        links[ref].update(_of_any(package, ref))
        links[ref].update(_of_kind(package, ref))
    for workload in package.workloads:
        links[workload.ref].update(_of_workload(package, workload))
    return {
        ref: frozenset(others)
        for ref, found in links.items()
        if (others := found - {ref})
    }


class _Package(ManifestIndex):
    """The manifests, their workloads, and what the accounts of these may."""

    def __init__(self, manifests: Mapping[ObjectRef, Manifest]):
        super().__init__(manifests)
        self.workloads = tuple(pod_templates.workloads(manifests))
        self.grants = {
            account: tuple(rbac.grants(self, account))
            for account in {w.account for w in self.workloads}
        }

    def serves(self, workload: Workload, definition: ObjectRef) -> bool:
        """Whether a workload may write objects that a definition defines."""
        manifest = self.manifests[definition]
        group = str(objects.field(manifest, ("spec", "group"), ""))
        plural = _plural(manifest)
        spelt = [plural, *(f"{plural}/{s}" for s in _PARTS)]
        return any(
            grant.allows(rbac.WRITES, group, spelt)
            for grant in self.grants[workload.account]
        )

    def reads(self, workload: Workload, plural: str) -> bool:
        """Whether it may read all of these in its own namespace."""
        return any(
            grant.allows(rbac.READS, "", [plural])
            and grant.namespace in ("", workload.ref.namespace)
            and not grant.rule.get("resourceNames")
            for grant in self.grants[workload.account]
        )


_PARTS = ("status", "finalizers", "*")


def _plural(definition: Manifest) -> str:
    return str(objects.field(definition, ("spec", "names", "plural"), ""))


def _of_any(package: _Package, ref: ObjectRef) -> Iterator[ObjectRef]:
    """Its namespace, its definition, and who vouches for its webhooks."""
    yield from package.find("Namespace", "", ref.namespace)
    if found := package.defined.get(ref.group_kind):
        yield found
    path = ("metadata", "annotations", CA_FROM)
    named = str(objects.field(package.manifests[ref], path, ""))
    namespace, _, name = named.partition("/")
    yield from package.find("Certificate", namespace, name)


def _of_kind(package: _Package, ref: ObjectRef) -> Iterator[ObjectRef]:
    manifest = package.manifests[ref]
    kind = ref.group_kind
    if kind == placement.DEFINITION:
        for workload in package.workloads:
            if package.serves(workload, ref):
                yield workload.ref
        for hook in package.all_of(HOOKS):
            if _about(package.manifests[hook], manifest):
                yield hook
    if kind in (placement.DEFINITION, API_SERVICE, *HOOKS):
        for namespace, name in _called(manifest):
            yield from package.find("Service", namespace, name)
    if kind == SERVICE:
        selector = objects.field(manifest, ("spec", "selector"), {})
        for workload in package.workloads:
            if (
                selector
                and workload.ref.namespace == ref.namespace
                and selector.items() <= workload.labels.items()
            ):
                yield workload.ref
    if kind.group == rbac.GROUP:
        yield from rbac.role(package, ref, manifest)
        yield from rbac.aggregated_roles(package, manifest)


def _about(hooks: Manifest, definition: Manifest) -> bool:
    """Whether one of the webhooks is asked about objects of a kind."""
    groups = {"*", objects.field(definition, ("spec", "group"), "")}
    plurals = {"*", "*/*", _plural(definition)}
    return any(
        groups & set(rule.get("apiGroups") or ())
        and plurals & set(rule.get("resources") or ())
        for hook in hooks.get("webhooks") or ()
        for rule in hook.get("rules") or ()
    )


def _called(manifest: Manifest) -> Iterator[tuple[str, object]]:
    """The Services that the server calls for an object."""
    conversion = ("spec", "conversion", "webhook", "clientConfig")
    clients = [
        objects.field(manifest, conversion),
        manifest.get("spec"),
        *(hook.get("clientConfig") for hook in manifest.get("webhooks") or ()),
    ]
    for client in clients:
        service = objects.field(client, ("service",), {})
        yield str(service.get("namespace", "")), service.get("name")


def _of_workload(package: _Package, workload: Workload) -> Iterator[ObjectRef]:
    namespace, account = workload.account
    yield from package.find("ServiceAccount", namespace, account)
    yield from rbac.bindings(package, workload.account)
    name = workload.spec.get("priorityClassName")
    yield from package.find("PriorityClass", "", name)
    secrets = set()
    for kind, name in pod_templates.pod_references(workload.spec):
        yield from package.find(kind, namespace, name)
        if kind == "Secret":
            secrets.add(name)
    yield from _makers(package, namespace, secrets)
    # An operator that misses a kind of its own does not start.
    for definition in package.defined.values():
        if package.serves(workload, definition):
            yield definition
    for kind, plural in (("ConfigMap", "configmaps"), ("Secret", "secrets")):
        if package.reads(workload, plural):
            for ref in package.by_kind[GroupKind("", kind)]:
                if ref.namespace == namespace:
                    yield ref


def _makers(
    package: _Package, namespace: str, secrets: Collection[object]
) -> Iterator[ObjectRef]:
    """Custom resources that say that they make one of these Secrets."""
    for ref, manifest in package.manifests.items():
        made = objects.field(manifest, ("spec", "secretName"))
        if made in secrets and made and ref.namespace == namespace:
            yield ref
