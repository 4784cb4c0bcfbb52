"""Validate a package, reporting the most useful errors first."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import secrets

from tacker_k8s_cr.engine import preflight
from tacker_k8s_cr.engine import replicas
from tacker_k8s_cr.engine import unknown_fields
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.lcm.preparation import check_prepared
from tacker_k8s_cr.lcm.preparation import kind_handlers
from tacker_k8s_cr.lcm.preparation import scale_levels
from tacker_k8s_cr.lcm.preparation.existing_objects import ExistingObjects
from tacker_k8s_cr.lcm.preparation.live_checks import LiveCheck
from tacker_k8s_cr.lcm.preparation.prepared import PackageChoices
from tacker_k8s_cr.lcm.preparation.prepared import Prepared
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import field_validation
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.plan import naming
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import template_rotation
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.placement import PlacedManifest


def prepare(
    op: Session,
    package: Package,
    before: Inventory,
    choices: PackageChoices,
    keep_predicted: Callable[[ObjectRef], bool] = lambda ref: False,
) -> Prepared:
    """Check a whole package. Writes nothing.

    :param before: the inventory so far, or an empty one.
    :param keep_predicted: which objects' predicted content is returned.
    """
    cluster, options = op.cluster, op.options
    policy, size = choices.policy, choices.size
    if not before.owned:  # otherwise it was checked when they were created
        preflight.require_supported_server(cluster)
    documents, generated = naming.with_names(
        package.documents, _generated_names(before), _random_suffix
    )
    found, registry = kind_handlers.resolve_kinds(
        cluster, documents, op.request.registry, policy
    )
    preflight.require_names(documents, found)
    create_only = [
        document
        for document in documents
        if GroupKind.of(document.manifest) in found.create_only
    ]
    requests = placement.place_create_only(
        create_only, found.namespaced, before.namespace, policy.namespace_mode
    )
    items = placement.place_manifests(
        [document for document in documents if document not in create_only],
        found.namespaced,
        before.instance,
        before.namespace,
        policy.namespace_mode,
        policy.labels,
    )
    preflight.refuse_record_objects(
        items, before.instance, before.record_namespace
    )
    vdus: Mapping[str, ObjectRef] = {}
    warnings = package.warnings
    if field_validation.is_lenient(options.field_validation):
        items, unknown_field_warnings = unknown_fields.remove_unknown_fields(
            cluster,
            items,
            before.instance,
            unserved=found.not_sendable,
            missing_namespaces=preflight.find_missing_namespaces(
                cluster, items, before.namespace
            ),
        )
        warnings += unknown_field_warnings
    vnfd = package.vnfd
    if vnfd:
        vdus = replicas.map_vdus(
            package,
            items,
            registry,
            found.subresources,
            choices.vdu_mapping,
        )
        warnings += tuple(scale_levels.unmatched_vdu_warnings(vnfd, vdus))
        targets_by_vdu = replicas.scale_targets(
            vdus, registry, found.subresources
        )
        vnfd = scale_levels.with_initial_counts(
            vnfd, size, targets_by_vdu, items, registry
        )
        wanted = {
            ref: size.counts[vdu]
            for vdu, ref in targets_by_vdu.items()
            if vdu in size.counts
        }
        items = replicas.with_level_replicas(items, registry, wanted)
    rotated = template_rotation.RotationResult(tuple(items), {})
    if contract.uses_cluster_api(item.ref for item in items):
        rotated = template_rotation.rotate(items, before)
    ready = Prepared(
        rotated.items,
        tuple(item.manifest for item in items),
        ExistingObjects({}, frozenset()),
        frozenset(),
        registry,
        vdus,
        size.levels,
        rotated.live_names,
        order=waves.order_of(items, registry, rotated.live_names),
        expected=found.expected,
        vnfd=vnfd,
        warnings=warnings,
        generated=generated,
        requests=requests,
    )
    fixed = frozenset(vdus.values()) if choices.sets_replicas else frozenset()
    with _with_source_locations(ready.items):
        return check_prepared.check_prepared(
            LiveCheck(
                cluster,
                before,
                registry,
                found,
                options,
                fixed,
                keep_predicted=keep_predicted,
            ),
            ready,
            check_prepared.sets_with_deleted_claims(
                ready.items, policy, options
            ),
        )


@contextlib.contextmanager
def _with_source_locations(items: Iterable[PlacedManifest]) -> Iterator[None]:
    """Add the source locations of objects to an error."""
    try:
        yield
    except errors.Error as error:
        error.places = {item.ref: item.where for item in items}
        raise


def _generated_names(before: Inventory) -> dict[str, str]:
    """Return the generated names, including those before the last change."""
    former = (
        before.previous_package.generated if before.previous_package else {}
    )
    return {**former, **before.generated}


def _random_suffix() -> str:
    """Return a suffix, as random as those of Kubernetes."""
    letters = (secrets.choice(naming.LETTERS) for _ in range(naming.RANDOM))
    return "".join(letters)
