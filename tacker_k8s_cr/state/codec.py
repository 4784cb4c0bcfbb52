"""Encode parts of an inventory as plain values for JSON, and decode them."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.model import package
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Transfer


def encode_member(member: MemberRef) -> list[str]:
    return [*member.ref, member.uid, *member.owner]


def decode_member(item: Sequence[str]) -> MemberRef:
    return MemberRef(ObjectRef(*item[:4]), item[4], ObjectRef(*item[5:]))


def encode_transfer(item: tuple[ObjectRef, Transfer]) -> list[Any]:
    ref, transfer = item
    return [
        *ref,
        transfer.uid,
        transfer.source,
        transfer.record_namespace,
        transfer.preexisting,
        transfer.manifest,
    ]


def decode_transfer(item: Sequence[Any]) -> tuple[ObjectRef, Transfer]:
    return ObjectRef(*item[:4]), Transfer(*item[4:])


def encode_claim_rule(rule: ClaimRule) -> list[Any]:
    return [
        *rule.stateful_set,
        list(rule.templates),
        list(map(list, rule.labels)),
        rule.created,
        rule.retention,
        rule.source,
    ]


def decode_claim_rule(item: Sequence[Any]) -> ClaimRule:
    templates, labels, created, retention, source = item[4:]
    return ClaimRule(
        ObjectRef(*item[:4]),
        tuple(templates),
        tuple((key, value) for key, value in labels),
        created,
        retention,
        source,
    )


def decode_vnfd(value: Mapping[str, Any]) -> package.Vnfd:
    return package.Vnfd(
        **{
            **value,
            "vdus": {k: package.Vdu(**v) for k, v in value["vdus"].items()},
            "aspects": {
                k: package.Aspect(
                    v["id"],
                    v["max_level"],
                    {vdu: tuple(s) for vdu, s in v["steps"].items()},
                )
                for k, v in value["aspects"].items()
            },
        }
    )
