"""What a request sets for a package as a whole, and how it is read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kinds.policy import Readiness
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.selectors import parse_subject as named

WHOLE = {
    "namespace_mode": "force",
    "readiness": [
        {"of": "Thing.example.org", "readiness": "exists"},
        {
            "of": "Thing.example.org/edge/one",
            "ready_when": ["status.phase=Running"],
            "failed_when": [{"condition": "Broken", "status": "True"}],
        },
    ],
    "prune": {
        "allow": ["CustomResourceDefinition.apiextensions.k8s.io"],
        "protect": ["ConfigMap/edge/settings"],
    },
    "delivery": {"url": "https://example.org", "api_check": "try"},
    "expected_kinds": ["Router.example.org", "Zone.example.org:Cluster"],
    "statefulset_claims": "retain",
}

THING = GroupKind("example.org", "Thing")
ONE = ObjectRef("example.org", "Thing", "edge", "one")


def test_what_is_written_is_what_is_read():
    """The form in which it is stored is that of requests."""
    assert WHOLE == policy.from_dict(WHOLE).as_dict()
    assert policy.DEFAULT == policy.from_dict({})
    assert policy.DEFAULT == policy.from_dict(policy.DEFAULT.as_dict())


names = st.from_regex(r"[a-z]([a-z0-9-]{0,5}[a-z0-9])?", fullmatch=True)
subjects = st.builds(
    GroupKind, names.map(lambda n: f"{n}.example.org") | st.just(""), names
) | st.builds(ObjectRef, st.just("apps") | st.just(""), names, names, names)


@given(subjects)
def test_a_subject_is_read_as_it_is_shown(subject):
    """Kinds and objects have one form, in errors and in requests."""
    assert subject == named(str(subject))


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        (
            {"namespace_mode": "mine"},
            "namespace_mode: 'mine' is not one of default",
        ),
        ({"readyness": []}, "policy: unknown: readyness"),
        ({"readiness": ["x"]}, r"readiness\[0\]: expected a mapping, got 'x'"),
        ({"readiness": [{}]}, r"readiness\[0\]: required key 'of'"),
        (
            {"readiness": [{"of": "a/b/c/d", "readiness": "exists"}]},
            r"readiness\[0\].of: 'a/b/c/d': expected a kind",
        ),
        (
            {"readiness": [{"of": "Thing", "readiness": "soon"}]},
            r"readiness\[0\]: .*'soon' is not one of status, exists, none",
        ),
        (
            {"readiness": [{"of": "Thing", "ready_when": "a=="}]},
            r"readiness\[0\]: readiness of Thing: rule 'a=='",
        ),
        (
            {
                "readiness": [
                    {
                        "of": "Thing",
                        "readiness": "exists",
                        "failed_when": "a=b",
                    }
                ]
            },
            "exists leaves no use for rules",
        ),
        ({"readiness": [{"of": "Thing"}]}, "it needs readiness, ready_when"),
        (
            {"readiness": [{"of": "Thing", "stall_timeout": "5m"}]},
            r"readiness\[0\]: stall_timeout: expected seconds, got '5m'",
        ),
        (
            {"readiness": [{"of": "Thing", "stall_timeout": 0}]},
            r"readiness\[0\]: stall_timeout: expected more than 0 seconds",
        ),
        (
            {"readiness": [{"of": "T", "readiness": "exists"}] * 2},
            "T is named twice",
        ),
        ({"prune": {"all": []}}, "prune: unknown: all"),
        (
            {"prune": {"allow": ["T"], "protect": ["T"]}},
            "T is in allow and in protect",
        ),
        ({"prune": {"allow": [1]}}, "prune.allow: 1: expected a kind"),
        (
            {"expected_kinds": ["Thing/a"]},
            r"expected_kinds\[0\]: 'Thing/a': expected a kind",
        ),
        (
            {"expected_kinds": ["T:Zone"]},
            r"expected_kinds\[0\]: 'T:Zone': expected a kind",
        ),
        (
            {"expected_kinds": [None]},
            r"expected_kinds\[0\]: None: expected a kind",
        ),
    ],
)
@pytest.mark.requirement("P15")
def test_what_cannot_be_followed_is_refused_by_its_place(given_, said):
    """Before anything is written, and not by a time that ran out."""
    with pytest.raises(errors.RequestInvalid, match=said):
        policy.from_dict(given_)


def test_a_rule_for_an_object_wins_over_one_for_its_kind():
    """Of readiness as of pruning; one of any namespace is between them."""
    anywhere = ObjectRef("example.org", "Thing", "", "one")
    asked = Policy(prune={THING: True, anywhere: False, ONE: True})

    assert asked.may_prune(ONE)
    assert not asked.may_prune(ObjectRef("example.org", "Thing", "x", "one"))
    assert asked.may_prune(ObjectRef("example.org", "Thing", "x", "two"))
    assert asked.may_prune(ObjectRef("", "Thing", "x", "two")) is None


def test_a_policy_assesses_instead_of_the_kind():
    """Only where it has a rule, and only the assessment."""
    obj = {
        "apiVersion": "example.org/v1",
        "kind": "Thing",
        "metadata": {"name": "one", "namespace": "edge", "generation": 1},
        "status": {"phase": "Running"},
    }
    registry = Policy(
        readiness=(Readiness(ONE, ready_when=("status.phase=Running",)),)
    ).apply_to(kinds.BUILT_IN)

    asked = registry.override_for(ONE)

    assert State.CURRENT is asked.assess(obj).state
    assert State.IN_PROGRESS is registry[THING].assess(obj).state
    assert (
        registry.override_for(ObjectRef("example.org", "Thing", "x", "y"))
        is None
    )
    assert base.ApplyOrder.CUSTOM is asked.rank
