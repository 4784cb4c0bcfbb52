"""What a request, a policy and the configuration specify for volume claims."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.selectors import Subject
from tacker_k8s_cr.model.selectors import lookup
from tacker_k8s_cr.plan.options import Options


@dataclasses.dataclass(frozen=True)
class Retention:
    """Whether a termination deletes or retains the claims of StatefulSets.

    Each is ``delete``, ``retain`` or empty. ``on_terminate``, which is about
    objects, also applies to claims that StatefulSets created.

    :param request: of the termination.
    :param policy: of the instance.
    :param default: the default of the installation.
    :param by_claim: by claim, whether it is retained.
    """

    request: str = ""
    policy: str = ""
    default: str = claims.DELETE
    by_claim: Mapping[Subject, bool] = dataclasses.field(default_factory=dict)

    def resolve(self, rules: Iterable[ClaimRule]) -> tuple[ClaimRule, ...]:
        """Set the retention of every rule."""
        return claims.resolve_rules(
            rules, self.request, self.policy, self.default
        )

    def for_claim(self, claim: ObjectRef) -> str:
        """Return the retention of a claim by its name; empty if none."""
        return _WORDS[lookup(self.by_claim, claim)]


DEFAULT = Retention()

_WORDS = {None: "", True: claims.RETAIN, False: claims.DELETE}


def on_termination(policy: Policy, options: Options) -> Retention:
    """Return the retention that applies when an instance is terminated."""
    kind = claims.CLAIM
    by_claim: dict[Subject, bool] = {
        subject: retained
        for choices in (policy.on_terminate, options.on_terminate)
        for subject, retained in choices.items()
        if isinstance(subject, ObjectRef) and subject.group_kind == kind
    }
    return Retention(
        options.statefulset_claims or _WORDS[options.on_terminate.get(kind)],
        policy.statefulset_claims or _WORDS[policy.on_terminate.get(kind)],
        _WORDS[options.on_terminate_default.get(kind)]
        or options.statefulset_claims_else,
        by_claim,
    )


def on_rollback(policy: Policy, options: Options) -> Retention:
    """Return the retention that applies when an instantiation is undone.

    ``on_terminate`` does not apply: a rollback removes all other objects.
    """
    return Retention(
        "",
        options.statefulset_claims or policy.statefulset_claims,
        options.statefulset_claims_else,
    )
