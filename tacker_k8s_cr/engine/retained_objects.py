"""Objects that outlive an instance: the requested ones and dependencies."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping

from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.selectors import Subject
from tacker_k8s_cr.model.selectors import lookup
from tacker_k8s_cr.plan import dependencies
from tacker_k8s_cr.plan import placement

ANNOTATION = "on-terminate"
KEEP = "keep"
DELETE = "delete"


def retention_choices(
    owned: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
    policy: Policy,
    requested: Mapping[Subject, bool],
    defaults: Mapping[Subject, bool] | None = None,
    *,
    repeated: bool = False,
) -> dict[ObjectRef, tuple[bool, str]]:
    """Return whether each object is retained, and what specifies that.

    The terminate request takes precedence over an object's annotation, and
    that over the policy.

    :param requested: by the request, by object or kind.
    :param defaults: the same, where nothing else specifies it.
    :param repeated: a repeated termination: the policy holds the former
        decision, over which only the request takes precedence.
    """
    choices = {}
    for ref in owned:
        if (wanted := lookup(requested, ref)) is not None:
            choices[ref] = wanted, "specified by the request"
            continue
        if repeated and ref in policy.on_terminate:
            choices[ref] = (
                policy.on_terminate[ref],
                "specified by an earlier request",
            )
            continue
        annotation = objects.annotation(manifests.get(ref, {}), ANNOTATION)
        if annotation is not None:
            choices[ref] = annotation == KEEP, "specified by its annotation"
        elif (by_policy := policy.may_keep(ref)) is not None:
            choices[ref] = by_policy, "specified by the policy"
        elif (default := lookup(defaults or {}, ref)) is not None:
            choices[ref] = default, "specified by the configuration"
    return choices


def find_retained(
    owned: Collection[ObjectRef],
    manifests: Mapping[ObjectRef, Manifest],
    choices: Mapping[ObjectRef, tuple[bool, str]],
) -> dict[ObjectRef, str]:
    """Return the objects to retain, each with the reason.

    The dependencies of a retained object are retained too, unless a choice
    deletes them. A namespace or a CustomResourceDefinition is retained in any
    case: its deletion would include the retained object.
    """
    reasons = {
        ref: why for ref, (is_retained, why) in choices.items() if is_retained
    }
    if not reasons:
        return {}
    needed = dependencies.dependencies_of(
        {ref: m for ref, m in manifests.items() if ref in owned}
    )
    pending = sorted(reasons)
    while pending:
        dependent = pending.pop()
        for ref in sorted(needed.get(dependent, ())):
            may_delete = ref in choices and not choices[ref][0]
            if ref in reasons or (may_delete and not _is_container(ref)):
                continue
            reasons[ref] = f"required by {dependent}, which is retained"
            pending.append(ref)
    return reasons


def _is_container(ref: ObjectRef) -> bool:
    return ref.group_kind in (placement.DEFINITION, placement.NAMESPACE)
