"""What an inventory names, as plain values for JSON, and back."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from tacker_k8s_cr.inventory import Gift
from tacker_k8s_cr.inventory import Goer
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package import model


def of_ref(ref: ObjectRef) -> list[str]:
    return [ref.group, ref.kind, ref.namespace, ref.name]


def of_goer(goer: Goer) -> list[str]:
    return [*of_ref(goer.ref), goer.uid, *of_ref(goer.owner)]


def goer(item: Sequence[str]) -> Goer:
    return Goer(ObjectRef(*item[:4]), item[4], ObjectRef(*item[5:]))


def of_gift(item: tuple[ObjectRef, Gift]) -> list[Any]:
    ref, gift = item
    return [
        *of_ref(ref),
        gift.uid,
        gift.giver,
        gift.home,
        gift.met,
        gift.manifest,
    ]


def gift(item: Sequence[Any]) -> tuple[ObjectRef, Gift]:
    return ObjectRef(*item[:4]), Gift(*item[4:])


def of_rule(rule: ClaimRule) -> list[Any]:
    return [
        *of_ref(rule.stateful_set),
        list(rule.templates),
        list(map(list, rule.labels)),
        rule.created,
        rule.retention,
        rule.source,
    ]


def rule(item: Sequence[Any]) -> ClaimRule:
    templates, labels, created, retention, source = item[4:]
    return ClaimRule(
        ObjectRef(*item[:4]),
        tuple(templates),
        tuple((key, value) for key, value in labels),
        created,
        retention,
        source,
    )


def pairs(values: Mapping[ObjectRef, Any]) -> list[Any]:
    """By object a value; ``by_ref`` is the way back."""
    return [[*of_ref(ref), value] for ref, value in values.items()]


def by_ref(items: Iterable[Any]) -> dict[ObjectRef, Any]:
    return {ObjectRef(*item[:4]): item[4] for item in items}


def vnfd(value: Mapping[str, Any]) -> model.Vnfd:
    return model.Vnfd(
        **{
            **value,
            "vdus": {k: model.Vdu(**v) for k, v in value["vdus"].items()},
            "aspects": {
                k: model.Aspect(
                    v["id"],
                    v["max_level"],
                    {vdu: tuple(s) for vdu, s in v["steps"].items()},
                )
                for k, v in value["aspects"].items()
            },
        }
    )
