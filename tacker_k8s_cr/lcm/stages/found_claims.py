"""The volume claims of an instance at one moment, and what is retained."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan.claim_plan import ClaimDecisions

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class FoundClaims:
    """The claims of an instance at one moment.

    :param volumes: volumes of the instance that are bound to a retained
        claim, with the claim.
    """

    decisions: ClaimDecisions = dataclasses.field(
        default_factory=ClaimDecisions
    )
    volumes: Mapping[ObjectRef, ObjectRef] = dataclasses.field(
        default_factory=dict
    )

    def required_objects(
        self, owned: Collection[ObjectRef]
    ) -> dict[ObjectRef, str]:
        """Return the objects of the instance to retain, with the reason."""
        required = {
            volume: f"it is bound to {claim}, which is retained"
            for volume, claim in self.volumes.items()
        }
        for claim in sorted(self.decisions.requested):
            namespace = ObjectRef(
                "", placement.NAMESPACE.kind, "", claim.namespace
            )
            if namespace in owned:
                required[namespace] = f"{claim} is retained in it"
        return required

    def merge(self, later: FoundClaims) -> FoundClaims:
        """Add the results of a later check of some of the claims."""
        earlier, newer = self.decisions, later.decisions
        return FoundClaims(
            ClaimDecisions(
                earlier.deleted,
                {**earlier.retained, **newer.retained},
                earlier.requested | newer.requested,
            ),
            {**self.volumes, **later.volumes},
        )

    def remaining(
        self, deleted: Collection[ObjectRef]
    ) -> dict[ObjectRef, str]:
        """Return the retained claims, with the reason, and log them.

        :param deleted: objects; the claims in deleted namespaces are left
            out.
        """
        kind = placement.NAMESPACE
        deleted_namespaces = {
            ref.name for ref in deleted if ref.group_kind == kind
        }
        found = {
            ref: why
            for ref, why in sorted(self.decisions.retained.items())
            if ref.namespace not in deleted_namespaces
        }
        for ref, why in found.items():
            LOG.info("%s: retained: %s", ref, why)
        return found
