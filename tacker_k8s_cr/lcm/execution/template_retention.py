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

SET = GroupKind(contract.GROUP, "MachineSet")

MAYBE = "we may not list MachineSets to see whether machines are made from it"


def templates_in_use(
    cluster: Cluster,
    items: Iterable[PlacedManifest],
    refs: Collection[ObjectRef],
) -> dict[ObjectRef, str]:
    """Return the templates to retain of those to be deleted: why.

    :param items: the objects of the package. Only a MachineDeployment that
        replaces a Machine when a client deletes it (OnDelete) has Machines of
        former templates for long; those of any other are deleted before.
    """
    pools = {i.ref for i in items if rollouts.when_deleted(i.manifest)}
    former = {r for r in refs if templates.is_template(r.group_kind)}
    places = {r.namespace for r in pools} & {r.namespace for r in former}
    found: dict[ObjectRef, str] = {}
    for place in sorted(places):
        try:
            sets = list(cluster.list_objects(SET, place))
        except errors.KindNotServed:
            continue
        except errors.Forbidden:
            # Who may not look loses nothing by leaving them.
            here = {r for r in former if r.namespace == place}
            found.update(dict.fromkeys(here, MAYBE))
            continue
        for obj in sets:
            pool = _pool(obj)
            if pool in pools and rollouts.machines(obj):
                for ref in _refers(obj) & former:
                    found[ref] = (
                        f"machines of {pool} are made from it, until "
                        "somebody deletes them"
                    )
    return found


def _pool(machine_set: Manifest) -> ObjectRef:
    """The MachineDeployment that has made a MachineSet."""
    owners = fields.mappings(machine_set, ("metadata", "ownerReferences"))
    name = next(
        (
            fields.text(owner, ("name",))
            for owner in owners
            if fields.text(owner, ("kind",)) == rollouts.DEPLOYMENT.kind
        ),
        "",
    )
    place = ObjectRef.of(machine_set).namespace
    return ObjectRef(
        rollouts.DEPLOYMENT.group, rollouts.DEPLOYMENT.kind, place, name
    )


def _refers(machine_set: Manifest) -> set[ObjectRef]:
    place = ObjectRef.of(machine_set).namespace
    return {
        ObjectRef(kind.group, kind.kind, place, name)
        for _, kind, name in references.template_refs(machine_set)
    }
