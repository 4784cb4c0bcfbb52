"""Former templates from which machines are that nobody has replaced yet."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable

from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import references
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.kinds.capi import templates
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning.placing import Placed

SET = GroupKind(contract.GROUP, "MachineSet")

MAYBE = "we may not list MachineSets to see whether machines are made from it"


def needed(
    cluster: Cluster, items: Iterable[Placed], refs: Collection[ObjectRef]
) -> dict[ObjectRef, str]:
    """Of what is to be deleted, the templates that stay: why.

    :param items: what is to be there. Only a MachineDeployment that
        replaces a machine when somebody deletes it has machines of former
        templates for long; of any other they are gone before.
    """
    pools = {i.ref for i in items if rollouts.when_deleted(i.manifest)}
    former = {r for r in refs if templates.is_template(r.group_kind)}
    places = {r.namespace for r in pools} & {r.namespace for r in former}
    found: dict[ObjectRef, str] = {}
    for place in sorted(places):
        try:
            sets = list(cluster.list_objects(SET, place))
        except errors.KindUnknown:
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
    owners = reading.items(machine_set, ("metadata", "ownerReferences"))
    name = next(
        (
            reading.text(owner, ("name",))
            for owner in owners
            if reading.text(owner, ("kind",)) == rollouts.DEPLOYMENT.kind
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
