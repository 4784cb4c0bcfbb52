"""Former machine templates still in use by Machines."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import references
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kinds.capi import templates
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.placement import PlacedManifest

MACHINE_SET = GroupKind(contract.GROUP, "MachineSet")

UNKNOWN_USE = (
    "listing MachineSets, which shows whether Machines use it, is forbidden"
)


def find_templates_in_use(
    cluster: Cluster,
    items: Iterable[PlacedManifest],
    refs: Collection[ObjectRef],
) -> dict[ObjectRef, str]:
    """Return the templates to retain instead of deleting, and why.

    :param items: the objects of the package. Only a MachineDeployment that
        replaces a Machine when a client deletes it (OnDelete) has Machines of
        former templates for long.
    """
    on_delete_refs = {
        i.ref for i in items if rollouts.has_on_delete_strategy(i.manifest)
    }
    former = {r for r in refs if templates.is_template(r.group_kind)}
    namespaces = {r.namespace for r in on_delete_refs} & {
        r.namespace for r in former
    }
    found: dict[ObjectRef, str] = {}
    for namespace in sorted(namespaces):
        try:
            sets = list(cluster.list_objects(MACHINE_SET, namespace))
        except errors.KindNotServed:
            continue
        except errors.Forbidden:
            # Retaining them is safe.
            unreadable = {r for r in former if r.namespace == namespace}
            found.update(dict.fromkeys(unreadable, UNKNOWN_USE))
            continue
        for obj in sets:
            deployment = _deployment_of(obj)
            if deployment in on_delete_refs and rollouts.machine_count(obj):
                for ref in _template_refs(obj) & former:
                    found[ref] = (
                        f"Machines of {deployment} use it until a client "
                        "deletes them"
                    )
    return found


def _deployment_of(machine_set: Manifest) -> ObjectRef:
    """Return the MachineDeployment that owns a MachineSet."""
    owners = fields.mappings(machine_set, ("metadata", "ownerReferences"))
    name = next(
        (
            fields.text(owner, ("name",))
            for owner in owners
            if fields.text(owner, ("kind",)) == rollouts.DEPLOYMENT.kind
        ),
        "",
    )
    namespace = ObjectRef.of(machine_set).namespace
    return ObjectRef(
        rollouts.DEPLOYMENT.group, rollouts.DEPLOYMENT.kind, namespace, name
    )


def _template_refs(machine_set: Manifest) -> set[ObjectRef]:
    namespace = ObjectRef.of(machine_set).namespace
    return {
        ObjectRef(kind.group, kind.kind, namespace, name)
        for _, kind, name in references.template_refs(machine_set)
    }
