"""Which claims a termination deletes, and when."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import claim_plan
from tacker_k8s_cr.plan.claim_plan import ClaimDecisions
from tests.functional import volumes

DB = ObjectRef("apps", "StatefulSet", "edge", "db")
TIMES = [f"2026-01-01T00:00:0{second}Z" for second in range(4)]
RULE = ClaimRule(DB, ("data",), (("app", "db"),), TIMES[1], "delete")
OWN = (None, ("StatefulSet", "db"), ("Pod", "db-3"))
FOREIGN = (("StatefulSet", "web"), ("Pod", "web-0"), ("Database", "db"))

names = st.sampled_from(["a", "b", "c", "d"])
sets = st.builds(
    ObjectRef, st.just("apps"), st.just("StatefulSet"), st.just("edge"), names
)
pvs = st.builds(
    ObjectRef, st.just(""), st.just("PersistentVolume"), st.just(""), names
)
rules = st.builds(ClaimRule, sets, st.just(("data",)))


def claim(
    name="data-db-0", created=TIMES[1], owner=None, ends=False, **labels
):
    metadata = {
        "name": name,
        "namespace": "edge",
        "uid": f"uid of {name}",
        "creationTimestamp": created,
        "labels": labels or {"app": "db"},
    }
    if owner:
        kind, of = owner
        metadata["ownerReferences"] = [
            {"apiVersion": "a/v1", "kind": kind, "name": of, "uid": "u"}
        ]
    if ends:
        metadata["deletionTimestamp"] = TIMES[3]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
    }


def ref(name="data-db-0"):
    return ObjectRef("", "PersistentVolumeClaim", "edge", name)


@given(
    named=st.booleans(),
    labelled=st.booleans(),
    created=st.sampled_from(TIMES),
    owner=st.sampled_from([*OWN, *FOREIGN]),
    retention=st.sampled_from(claims.RETENTIONS),
    by_name=st.sampled_from(["", *claims.RETENTIONS]),
    used=st.booleans(),
    other=st.booleans(),
    marked=st.booleans(),
    ends=st.booleans(),
)
def test_only_a_claim_that_the_set_created_is_deleted(
    named,
    labelled,
    created,
    owner,
    retention,
    by_name,
    used,
    other,
    marked,
    ends,
):
    """A claim of that name that stays is reported, unless it is ending."""
    obj = claim(
        "data-db-0" if named else "data-db-0-1",
        created,
        owner,
        ends,
        **({"app": "db"} if labelled else {"app": "web"}),
        **({objects.INSTANCE: "two"} if marked else {}),
    )
    of = ObjectRef.of(obj)

    found = claim_plan.decide(
        [obj],
        [dataclasses.replace(RULE, retention=retention)],
        {DB: "it is used"} if used else {},
        [of] if other else [],
        lambda claim: by_name,
    )

    candidate = named and not other and not marked
    own = labelled and created >= TIMES[1] and owner in OWN
    kept = used or (by_name or retention) == "retain"
    deleted = candidate and own and not kept
    retained = candidate and not ends and not (own and not kept)
    assert ({of: "uid of data-db-0"} if deleted else {}) == found.deleted
    assert retained == (of in found.retained)
    assert (retained and own) == (of in found.requested)


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        (claim(created=TIMES[0]), "it is older than StatefulSet.apps/edge/db"),
        (
            claim(app="web"),
            "it does not have the label app of StatefulSet.apps/edge/db",
        ),
        (claim(owner=("Database", "a")), "it is owned by Database a"),
    ],
)
def test_a_retained_claim_has_a_reason(obj, why):
    """An operator can verify it with kubectl."""
    found = claim_plan.decide([obj], [RULE], {}, ())

    assert {ref(): why} == found.retained


def test_without_a_creation_time_no_claim_is_deleted():
    """The StatefulSet was deleted before its creation was recorded."""
    rule = dataclasses.replace(RULE, created="")

    found = claim_plan.decide([claim()], [rule], {}, ())

    assert {} == found.deleted
    assert "creation time of StatefulSet" in found.retained[ref()]


def test_two_sets_may_use_claims_of_one_name():
    """The claim is retained if either of them retains it."""
    one = ClaimRule(DB, ("a-b",), (), TIMES[1], "delete")
    two = ClaimRule(DB._replace(name="b-db"), ("a",), (), TIMES[3], "retain")
    obj = claim("a-b-db-0", TIMES[2])
    older = dataclasses.replace(two, created=TIMES[2])

    assert 1 == len(claim_plan.decide([obj], [one, two], {}, ()).deleted)
    found = claim_plan.decide([obj], [one, older], {}, ())
    assert {ref("a-b-db-0")} == found.requested


def test_a_claim_that_cannot_be_read_is_retained_by_its_name():
    """Its volume names it."""
    found = claim_plan.retain_unlisted(ClaimDecisions(), ref(), [RULE])

    assert {ref()} == found.requested
    assert ClaimDecisions() == claim_plan.retain_unlisted(
        ClaimDecisions(), ref("other-0"), [RULE]
    )


def test_volumes_of_retained_claims_are_found():
    """By the claim that they are bound to."""
    volume = volumes.volume("one", "manual")
    volume["spec"]["claimRef"] = {
        "namespace": "edge",
        "name": "data-db-0",
        "uid": "u",
    }

    assert {ObjectRef.of(volume): ref()} == claim_plan.bound_volumes(
        [volume], [ref()]
    )
    assert {} == claim_plan.bound_volumes([volume], [ref("data-db-1")])


def disjoint(stages):
    return len(set().union(*stages)) == sum(map(len, stages))


@given(
    st.lists(
        st.lists(sets | pvs, max_size=3).map(frozenset), max_size=5
    ).filter(disjoint),
    st.lists(rules, max_size=4),
)
def test_claims_are_deleted_after_their_set_and_before_volumes(stages, some):
    """Each rule is scheduled once."""
    found = claim_plan.schedule_rules(stages, some)

    assert len(stages) + 1 == len(found)
    assert sorted(some, key=repr) == sorted(sum(found, ()), key=repr)
    for index, due in enumerate(found):
        for one in due:
            if one.stateful_set in set().union(*stages):
                assert one.stateful_set in stages[index - 1]
            else:
                before = set().union(*stages[:index])
                assert not any(r.kind == "PersistentVolume" for r in before)
