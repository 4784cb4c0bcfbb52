"""Validate the manifests that the record of an instance contains."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses

from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.lcm.preparation import check_prepared
from tacker_k8s_cr.lcm.preparation import kind_handlers
from tacker_k8s_cr.lcm.preparation.existing_objects import ExistingObjects
from tacker_k8s_cr.lcm.preparation.live_checks import LiveCheck
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.plan import order as orders
from tacker_k8s_cr.plan import template_rotation
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.plan.placement import PlacedManifest


def prepare_from_record(
    op: Session,
    wanted: Inventory,
    now: Inventory,
    *,
    lenient: bool = False,
    recreate: Collection[ObjectRef] = (),
    only: Collection[ObjectRef] | None = None,
    options: Options | None = None,
) -> Prepared:
    """Check what an instance applied, now or before. Writes nothing.

    Replica counts of existing objects are preserved. Missing objects get the
    last requested count. A Job that has completed and was deleted is not
    recreated: it would run again.

    :param lenient: leave out what is refused, rather than raise.
    :param recreate: what may be recreated where it cannot be changed in place.
    :param only: which objects, without their order; None for all.
    """
    where = f"the record of {now.instance}"
    options = options or op.options
    documents = tuple(
        Document(manifest, where)
        for manifest in wanted.manifests
        if only is None or ObjectRef.of(manifest) in only
    )
    found, registry = kind_handlers.resolve_kinds(
        op.cluster, documents, op.request.registry, wanted.policy
    )
    items = tuple(
        PlacedManifest(
            ObjectRef.of(document.manifest), document.manifest, where
        )
        for document in documents
    )
    items = replicas.with_level_replicas(
        items, registry, replicas.desired_replicas(wanted)
    )
    ready = Prepared(
        template_rotation.with_live_names(items, wanted.live_names),
        wanted.manifests,
        ExistingObjects({}, frozenset()),
        frozenset(),
        registry,
        wanted.vdus,
        wanted.scale_levels,
        wanted.live_names,
        order=waves.order_of(items, registry, wanted.live_names)
        if only is None
        else orders.NONE,
        expected=found.expected,
        vnfd=wanted.vnfd,
        generated=wanted.generated,
    )
    check = LiveCheck(
        op.cluster,
        now,
        registry,
        found,
        options,
        lenient=lenient,
        recreate=recreate,
    )
    ready = check_prepared.check_prepared(
        check,
        ready,
        check_prepared.sets_with_deleted_claims(
            ready.items, wanted.policy, options
        ),
    )
    completed = {
        item.ref
        for item in ready.items
        if registry[item.ref.group_kind].ephemeral
        and item.ref in wanted.owned
        and item.ref not in ready.owners.live
    }
    return dataclasses.replace(
        ready, items=tuple(i for i in ready.items if i.ref not in completed)
    )
