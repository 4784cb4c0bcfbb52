"""Which claims a StatefulSet created."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import volumes

DB = ObjectRef("apps", "StatefulSet", "edge", "db")
CREATED = "2026-01-01T00:00:01Z"
RULE = ClaimRule(DB, ("data",), (("app", "db"),), CREATED)

names = st.from_regex(r"[a-z0-9]([-.a-z0-9]{0,6}[a-z0-9])?", fullmatch=True)
times = st.sampled_from(["", *(f"2026-01-01T00:00:0{s}Z" for s in range(4))])
words = st.sampled_from(["", *claims.RETENTIONS])
rules = st.builds(
    ClaimRule,
    st.builds(
        ObjectRef, st.just("apps"), st.just("StatefulSet"), names, names
    ),
    st.lists(names, min_size=1, max_size=2, unique=True).map(tuple),
    st.sampled_from([(), (("app", "db"),)]),
    times,
    words,
)


@given(names, names, st.integers(0, 10**6))
def test_a_claim_is_named_after_template_set_and_ordinal(
    template, name, number
):
    """As getPersistentVolumeClaimName of the controller composes it."""
    made = f"{template}-{name}-{number}"

    assert claims.is_claim_name(name, [template], made)
    assert claims.is_claim_name(name, None, made)
    for other in (
        f"{template}-{number}",
        f"{template}-{name}-0{number}",
        f"{template}-{name}",
        f"x{made}",
        f"{made}x",
    ):
        assert not claims.is_claim_name(name, [template], other)


def test_a_claim_of_another_namespace_does_not_match():
    """Claims are in the namespace of their StatefulSet."""
    claim = ObjectRef("", "PersistentVolumeClaim", "edge", "data-db-0")

    assert claims.has_claim_name(RULE, claim)
    assert not claims.has_claim_name(RULE, claim._replace(namespace="core"))


@pytest.mark.parametrize(
    ("retention", "when_deleted"),
    [("retain", "Retain"), ("delete", "Delete"), ("", "")],
)
def test_a_rule_is_derived_from_a_stateful_set(retention, when_deleted):
    """The retention comes from its manifest."""
    manifest = volumes.stateful_set("db", "manual", when_deleted=when_deleted)
    manifest["metadata"]["namespace"] = "edge"
    metadata = {**manifest["metadata"], "creationTimestamp": CREATED}

    found = claims.claim_rule(
        {**manifest, "metadata": metadata}, claims.manifest_retention(manifest)
    )

    assert dataclasses.replace(RULE, retention=retention) == found


def test_a_set_without_templates_has_no_rule():
    """Nor has an object of another kind."""
    manifest = volumes.stateful_set("db", "manual")
    assert None is claims.claim_rule({**manifest, "kind": "Deployment"})
    del manifest["spec"]["volumeClaimTemplates"]

    assert None is claims.claim_rule(manifest)


@given(st.lists(rules, max_size=4), st.lists(rules, max_size=4))
def test_merged_rules_have_the_first_creation_and_the_last_retention(
    before, more
):
    """There is one rule per StatefulSet, templates and labels."""
    found = claims.merge_rules(claims.merge_rules([], before), more)

    assert found == claims.merge_rules(found, [])
    for one in (*before, *more):
        (same,) = [other for other in found if other.is_same(one)]
        alike = [r for r in (*before, *more) if r.is_same(one)]
        created = sorted(filter(None, (r.created for r in alike)))
        assert (created or [""])[0] == same.created
        assert alike[-1].retention == same.retention


@given(words, words, words, words)
def test_the_most_specific_retention_counts(
    request_, manifest, policy, configured
):
    """Request, manifest, policy, configuration; then they are deleted."""
    rule = dataclasses.replace(RULE, retention=manifest)

    (found,) = claims.resolve_rules([rule], request_, policy, configured)

    order = (request_, manifest, policy, configured, "delete")
    assert next(filter(None, order)) == found.retention
    sources = ("request", "manifest", "policy", "configuration")
    first = next(
        (n for n, w in zip(sources, order, strict=False) if w), sources[-1]
    )
    assert first == found.source
    assert (found,) == claims.resolve_rules([found], "", policy, configured)


def volume(phase="Bound", **claim_ref):
    found = volumes.volume("one", "manual")
    found["spec"]["claimRef"] = claim_ref
    return {**found, "status": {"phase": phase}}


def test_a_volume_is_bound_to_the_claim_of_its_claim_ref():
    """One without a UID is a reservation; a Released volume is unbound."""
    named = {"namespace": "edge", "name": "data-db-0"}
    claim = ObjectRef("", "PersistentVolumeClaim", "edge", "data-db-0")

    assert claim == claims.bound_claim(volume(uid="u", **named))
    assert None is claims.bound_claim(volume(**named))
    assert None is claims.bound_claim(
        volume(phase="Released", uid="u", **named)
    )


def test_a_pod_mounts_claims_and_ephemeral_volumes():
    """The claim of an ephemeral volume is named after Pod and volume."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "edge"},
        "spec": {
            "volumes": [
                {"name": "a", "persistentVolumeClaim": {"claimName": "mine"}},
                {"name": "b", "ephemeral": {}},
                {"name": "c", "emptyDir": {}},
            ]
        },
    }

    assert ["mine", "web-b"] == [c.name for c in claims.mounted_claims(pod)]
