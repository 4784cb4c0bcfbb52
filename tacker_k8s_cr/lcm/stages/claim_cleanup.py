"""Delete the volume claims of StatefulSets when their instance ends.

Only a termination, and the rollback of an instantiation, delete them.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import logging

from tacker_k8s_cr.engine import claim_retention as retentions
from tacker_k8s_cr.engine import delete
from tacker_k8s_cr.engine.claim_retention import Retention
from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.kube.protocol import results_or_raise
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.lcm.stages.found_claims import FoundClaims
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import claim_plan
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.plan.steps import Stage

LOG = logging.getLogger(__name__)

STAGE = "volume claims"


@dataclasses.dataclass(frozen=True)
class ClaimCleanup:
    """The claims of an instance that ends, and how to delete them.

    :param owned: objects that the instance created, with UIDs.
    :param retained: objects of the instance that are not deleted.
    :param excluded: claims that are objects of the instance themselves.
    """

    op: Session
    rules: tuple[ClaimRule, ...]
    owned: Mapping[ObjectRef, str]
    retained: frozenset[ObjectRef] = frozenset()
    excluded: frozenset[ObjectRef] = frozenset()
    retention: Retention = retentions.DEFAULT

    def check_permissions(self) -> None:
        """Raise PermissionsMissing if claims to delete cannot be deleted."""
        sets = {
            one.stateful_set
            for one in self.rules
            if one.retention != claims.RETAIN
            and one.stateful_set not in self.retained
        }
        permissions_check.require_delete_claims(
            self.op.cluster, sets, wanted=self.op.options.check_permissions
        )

    def interleave(
        self, stages: Sequence[Stage]
    ) -> Iterator[tuple[Stage | None, tuple[ClaimRule, ...]]]:
        """Yield each stage with the rules whose claims to delete before it.

        Rules that remain after the last stage are yielded without a stage.
        """
        refs = [stage.refs for stage in stages]
        scheduled = claim_plan.schedule_rules(refs, self.rules)
        yield from zip((*stages, None), scheduled, strict=True)

    def find(self, only: Iterable[ClaimRule] | None = None) -> FoundClaims:
        """Look up the claims and decide about each.

        :param only: rules whose claims to look up; None for all.
        """
        rules = self.rules if only is None else tuple(only)
        if not rules:
            return FoundClaims()
        retained_sets = self._retained_sets(rules)
        namespaces: dict[str, bool] = {}
        for one in rules:
            namespace = one.stateful_set.namespace
            deletes = one.retention != claims.RETAIN
            in_use = one.stateful_set in retained_sets
            namespaces[namespace] = namespaces.get(namespace, False) or (
                deletes and not in_use
            )
        listed: list[Manifest] = []
        unreadable = set()
        for namespace, needed in sorted(namespaces.items()):
            try:
                listed += self.op.cluster.list_metadata(
                    claims.CLAIM, namespace
                )
            except errors.Forbidden as error:
                if needed:
                    self.check_permissions()
                    raise
                LOG.warning("cannot list retained volume claims: %s", error)
                unreadable.add(namespace)
        decisions = claim_plan.decide(
            listed,
            rules,
            retained_sets,
            self.excluded,
            self.retention.for_claim,
        )
        if not (decisions.retained or unreadable):
            return FoundClaims(decisions)
        volumes = self._volumes()
        for claim in filter(None, map(claims.bound_claim, volumes)):
            if claim.namespace in unreadable:
                decisions = claim_plan.retain_unlisted(decisions, claim, rules)
        bound = claim_plan.bound_volumes(volumes, decisions.retained)
        return FoundClaims(decisions, bound)

    def request_deletion(self, found: FoundClaims) -> None:
        """Request the deletion of claims that their Pods still use."""
        delete.request_deletion(
            self.op.ledger.fenced_cluster,
            _steps(found),
            guard=self.op.ledger.guard,
        )

    def delete(self, rules: Iterable[ClaimRule]) -> FoundClaims:
        """Delete the claims of these rules and wait until they are deleted."""
        found = self.find(rules)
        if steps := _steps(found):
            op = self.op
            if op.ledger.entry:
                op.ledger.write(op.inventory.with_journal(op.name, STAGE, ()))
            LOG.info(
                "%s: %s: %s, %d object(s)",
                op.instance,
                op.name,
                STAGE,
                len(steps),
            )
            stage_runner.delete_stage(op, steps, STAGE, labelled=False)
        return found

    def _retained_sets(
        self, rules: Iterable[ClaimRule]
    ) -> dict[ObjectRef, str]:
        """Return the StatefulSets that keep using claims, with the reason."""
        sets = sorted({one.stateful_set for one in rules})
        found = {
            ref: f"{ref}, which is retained, uses it"
            for ref in sets
            if ref in self.retained
        }
        cluster = self.op.cluster
        unknown_sets = [ref for ref in sets if ref not in found]
        for ref, obj in results_or_raise(
            cluster.map_parallel(cluster.get_metadata, unknown_sets)
        ):
            if obj and objects.uid(obj) != self.owned.get(ref):
                found[ref] = (
                    f"{ref}, which the instance did not create, uses it"
                )
        return found

    def _volumes(self) -> list[Manifest]:
        """Return the live volumes of the instance."""
        cluster = self.op.cluster
        refs = [r for r in self.owned if r.group_kind == claims.VOLUME]
        return [
            obj
            for ref, obj in results_or_raise(
                cluster.map_parallel(cluster.get, sorted(refs))
            )
            if obj and objects.uid(obj) == self.owned[ref]
        ]


def create_cleanup(
    op: Session,
    inventory: Inventory,
    retention: Retention,
    retained: Iterable[ObjectRef],
) -> ClaimCleanup:
    """Return the cleanup of an instance.

    :param inventory: of the instance, with resolved claim rules.
    :param retained: objects of the instance that are not deleted.
    """
    return ClaimCleanup(
        op,
        inventory.claim_rules,
        inventory.owned,
        frozenset(retained),
        frozenset((*inventory.owned, *inventory.shared)),
        retention,
    )


def _steps(found: FoundClaims) -> list[Delete]:
    deleted = found.decisions.deleted
    return [Delete(ref, uid) for ref, uid in sorted(deleted.items())]
