"""Find by object the objects that it depends on."""

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
"""Annotation with the Certificate whose authority is trusted."""

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
    """Return by object those that it depends on.

    A definition depends on the webhooks for its kind, and on the workloads
    whose service account may write its objects; a webhook on the workloads
    behind its Service; a workload on its service account, the permissions of
    that, and the configuration that it refers to or may read. All objects
    depend on what they refer to by kind and name, on their namespace and on
    their definition.
    """
    package = _Package(manifests)
    links: dict[ObjectRef, set[ObjectRef]] = defaultdict(set)
    for ref, named in references.references(manifests).items():
        links[ref] |= named
    for ref in manifests:
        links[ref].update(_general_dependencies(package, ref))
        links[ref].update(_kind_dependencies(package, ref))
    for workload in package.workloads:
        links[workload.ref].update(_workload_dependencies(package, workload))
    return {
        ref: frozenset(dependencies)
        for ref, found in links.items()
        if (dependencies := found - {ref})
    }


class _Package(ManifestIndex):
    """The manifests, their workloads, and the permissions of these."""

    def __init__(self, manifests: Mapping[ObjectRef, Manifest]):
        super().__init__(manifests)
        self.workloads = tuple(pod_templates.workloads(manifests))
        self.grants = {
            account: tuple(rbac.grants(self, account))
            for account in {w.account for w in self.workloads}
        }

    def may_write_objects_of(
        self, workload: Workload, definition: ObjectRef
    ) -> bool:
        """Return whether a workload may write objects of a definition."""
        manifest = self.manifests[definition]
        group = str(objects.field(manifest, ("spec", "group"), ""))
        plural = _plural(manifest)
        resources = [plural, *(f"{plural}/{s}" for s in _PARTS)]
        return any(
            grant.allows(rbac.WRITES, group, resources)
            for grant in self.grants[workload.account]
        )

    def may_read_all(self, workload: Workload, plural: str) -> bool:
        """Return whether it may read all of these in its own namespace."""
        return any(
            grant.allows(rbac.READS, "", [plural])
            and grant.namespace in ("", workload.ref.namespace)
            and not grant.rule.get("resourceNames")
            for grant in self.grants[workload.account]
        )


_PARTS = ("status", "finalizers", "*")


def _plural(definition: Manifest) -> str:
    return str(objects.field(definition, ("spec", "names", "plural"), ""))


def _general_dependencies(
    package: _Package, ref: ObjectRef
) -> Iterator[ObjectRef]:
    """Yield its namespace, its definition, and its CA's Certificate."""
    yield from package.find("Namespace", "", ref.namespace)
    if found := package.defined.get(ref.group_kind):
        yield found
    path = ("metadata", "annotations", CA_FROM)
    named = str(objects.field(package.manifests[ref], path, ""))
    namespace, _, name = named.partition("/")
    yield from package.find("Certificate", namespace, name)


def _kind_dependencies(
    package: _Package, ref: ObjectRef
) -> Iterator[ObjectRef]:
    manifest = package.manifests[ref]
    kind = ref.group_kind
    if kind == placement.DEFINITION:
        for workload in package.workloads:
            if package.may_write_objects_of(workload, ref):
                yield workload.ref
        for hook in package.all_of(HOOKS):
            if _selects_kind(package.manifests[hook], manifest):
                yield hook
    if kind in (placement.DEFINITION, API_SERVICE, *HOOKS):
        for namespace, name in _webhook_services(manifest):
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


def _selects_kind(hooks: Manifest, definition: Manifest) -> bool:
    """Return whether one of the webhooks is called for a kind."""
    groups = {"*", objects.field(definition, ("spec", "group"), "")}
    plurals = {"*", "*/*", _plural(definition)}
    return any(
        groups & set(rule.get("apiGroups") or ())
        and plurals & set(rule.get("resources") or ())
        for hook in hooks.get("webhooks") or ()
        for rule in hook.get("rules") or ()
    )


def _webhook_services(manifest: Manifest) -> Iterator[tuple[str, object]]:
    """Yield the Services that the server calls for an object."""
    conversion = ("spec", "conversion", "webhook", "clientConfig")
    clients = [
        objects.field(manifest, conversion),
        manifest.get("spec"),
        *(hook.get("clientConfig") for hook in manifest.get("webhooks") or ()),
    ]
    for client in clients:
        service = objects.field(client, ("service",), {})
        yield str(service.get("namespace", "")), service.get("name")


def _workload_dependencies(
    package: _Package, workload: Workload
) -> Iterator[ObjectRef]:
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
    yield from _secret_creators(package, namespace, secrets)
    # An operator does not start without the kinds that it reconciles.
    for definition in package.defined.values():
        if package.may_write_objects_of(workload, definition):
            yield definition
    for kind, plural in (("ConfigMap", "configmaps"), ("Secret", "secrets")):
        if package.may_read_all(workload, plural):
            for ref in package.by_kind[GroupKind("", kind)]:
                if ref.namespace == namespace:
                    yield ref


def _secret_creators(
    package: _Package, namespace: str, secrets: Collection[object]
) -> Iterator[ObjectRef]:
    """Yield custom resources that specify one of these Secrets as output."""
    for ref, manifest in package.manifests.items():
        secret_name = objects.field(manifest, ("spec", "secretName"))
        if (
            secret_name in secrets
            and secret_name
            and ref.namespace == namespace
        ):
            yield ref
