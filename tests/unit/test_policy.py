"""What a request says on a package as a whole, and how it is read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import policy
from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.policy import Readiness
from tacker_k8s_cr.subjects import subject as named

WHOLE = {
    "namespaces": "override",
    "readiness": [
        {"of": "Thing.example.org", "readiness": "created"},
        {
            "of": "Thing.example.org/edge/one",
            "current_when": ["status.phase=Running"],
            "failed_when": [{"condition": "Broken", "status": "True"}],
        },
    ],
    "prune": {
        "may": ["CustomResourceDefinition.apiextensions.k8s.io"],
        "keep": ["ConfigMap/edge/settings"],
    },
    "delivery": {"url": "https://example.org", "probe": "try"},
    "expects": ["Router.example.org", "Zone.example.org:Cluster"],
    "statefulset_claims": "retain",
}

THING = GroupKind("example.org", "Thing")
ONE = ObjectRef("example.org", "Thing", "edge", "one")


def test_what_is_written_is_what_is_read():
    """The form in which it is stored is that of requests."""
    assert WHOLE == policy.of(WHOLE).as_dict()
    assert policy.DEFAULT == policy.of({})
    assert policy.DEFAULT == policy.of(policy.DEFAULT.as_dict())


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
        ({"namespaces": "mine"}, "namespaces: 'mine' is not one of fill"),
        ({"readyness": []}, "policy: unknown: readyness"),
        ({"readiness": ["x"]}, r"readiness\[0\]: 'x' is no mapping"),
        ({"readiness": [{}]}, r"readiness\[0\]: lacks of"),
        (
            {"readiness": [{"of": "a/b/c/d", "readiness": "created"}]},
            r"readiness\[0\].of: 'a/b/c/d' is no kind",
        ),
        (
            {"readiness": [{"of": "Thing", "readiness": "soon"}]},
            r"readiness\[0\]: .*'soon' is neither strict nor created",
        ),
        (
            {"readiness": [{"of": "Thing", "current_when": "a=="}]},
            r"readiness\[0\]: readiness of Thing: rule 'a=='",
        ),
        (
            {
                "readiness": [
                    {
                        "of": "Thing",
                        "readiness": "created",
                        "failed_when": "a=b",
                    }
                ]
            },
            "created leaves no use for rules",
        ),
        ({"readiness": [{"of": "Thing"}]}, "it needs readiness, current_when"),
        (
            {"readiness": [{"of": "T", "readiness": "created"}] * 2},
            "T is named twice",
        ),
        ({"prune": {"all": []}}, "prune: unknown: all"),
        ({"prune": {"may": ["T"], "keep": ["T"]}}, "T is in may and in keep"),
        ({"prune": {"may": [1]}}, "prune.may: 1 is no kind"),
        ({"expects": ["Thing/a"]}, r"expects\[0\]: 'Thing/a' is no kind"),
        ({"expects": ["T:Zone"]}, r"expects\[0\]: 'T:Zone' is no kind"),
        ({"expects": [None]}, r"expects\[0\]: None is no kind"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_its_place(given_, said):
    """Before anything is written, and not by a time that ran out (P15)."""
    with pytest.raises(errors.RequestInvalid, match=said):
        policy.of(given_)


def test_an_object_goes_before_its_kind():
    """Of readiness as of pruning; one of any namespace is between them."""
    anywhere = ObjectRef("example.org", "Thing", "", "one")
    asked = Policy(prune={THING: True, anywhere: False, ONE: True})

    assert asked.may_prune(ONE)
    assert not asked.may_prune(ObjectRef("example.org", "Thing", "x", "one"))
    assert asked.may_prune(ObjectRef("example.org", "Thing", "x", "two"))
    assert asked.may_prune(ObjectRef("", "Thing", "x", "two")) is None


def test_a_policy_judges_in_the_place_of_the_kind():
    """Only where it says something, and only the judgement."""
    obj = {
        "apiVersion": "example.org/v1",
        "kind": "Thing",
        "metadata": {"name": "one", "namespace": "edge", "generation": 1},
        "status": {"phase": "Running"},
    }
    registry = Policy(
        readiness=(Readiness(ONE, current_when=("status.phase=Running",)),)
    ).judging(kinds.BUILT_IN)

    asked = registry.asked(ONE)

    assert State.CURRENT is asked.assess(obj).state
    assert State.IN_PROGRESS is registry[THING].assess(obj).state
    assert registry.asked(ObjectRef("example.org", "Thing", "x", "y")) is None
    assert base.Rank.CUSTOM is asked.rank
