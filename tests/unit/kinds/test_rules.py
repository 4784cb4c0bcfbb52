"""Rules by which a package defines when an object is ready."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds import rules
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import State

OBJ = {
    "apiVersion": "example.org/v1",
    "kind": "Gizmo",
    "metadata": {
        "name": "a",
        "namespace": "ns",
        "generation": 2,
        "annotations": {"example.org/done": "yes"},
    },
    "spec": {"replicas": 3},
    "status": {
        "phase": "Running",
        "ready": True,
        "replicas": 3,
        "ratio": 0.5,
        "text": "a, b = c",
        "empty": "",
        "targets": [{"health": "green"}, {"health": "red"}],
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Old", "status": "True", "observedGeneration": 1},
            {"type": "Degraded", "status": "False", "reason": "AllWell"},
        ],
    },
}


@pytest.mark.parametrize(
    "rule",
    [
        "condition=Ready",
        "condition=Ready=True",
        "condition=Ready=true|unknown",
        "condition=Degraded=False",
        "condition=Degraded!=True",
        "status.phase=Running",
        ".status.phase == Running",
        "status.phase=Completed|Running",
        "status.phase!=Failed",
        "status.ready",
        "status.ready=true",
        "status.replicas=3",
        "status.replicas=.spec.replicas",
        "status.ratio=0.5",
        "status.targets.0.health=green",
        'status.text="a, b = c"',
        'status.empty=""',
        "metadata.annotations.example\\.org/done=yes",
        "condition=Ready, status.phase=Running",
        "condition=Ready\nstatus.phase=Running",
    ],
)
@pytest.mark.requirement("CR-18")
def test_a_rule_that_is_met(rule):
    """Conditions, fields at any depth and other fields can be asked for."""
    assert all(found.is_met(OBJ) for found in rules.parse(rule))


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("condition=Ready=False", "Ready is True"),
        ("condition=Absent", "condition Absent is not reported"),
        ("condition=Old", "Old is True (for an older generation)"),
        ("condition=Degraded", "Degraded is False: AllWell"),
        ("status.phase=Completed", "status.phase is Running"),
        ("status.phase!=Running", "status.phase is Running"),
        ("status.absent", "status.absent is not reported"),
        ("status.absent=x", "status.absent is not reported"),
        ("status.absent!=x", "status.absent is not reported"),
        ("status.empty", "status.empty is empty"),
        ("status.targets.1.health=green", "status.targets.1.health is red"),
        ("status.targets.7.health=green", "status.targets.7.health is not "),
        ("status.replicas=.spec.absent", "status.replicas is 3"),
        ("status.targets=x", "status.targets is not reported"),
    ],
)
def test_a_rule_that_is_not_met(rule, found):
    """What is not reported meets no rule; what is found is said."""
    (parsed,) = rules.parse(rule)

    assert not parsed.is_met(OBJ)
    assert parsed.describe_value(OBJ).startswith(found)


def test_a_long_value_that_only_has_to_be_set_is_not_shown():
    """Such as the CA of a webhook, or a list; a short one is."""
    obj = {"status": {"ca": "LS0tLS1CRUdJTi" * 20, "all": [1], "url": "x:1"}}

    assert ["status.ca is set", "status.all is set", "status.url is x:1"] == [
        rule.describe_value(obj)
        for rule in rules.parse("status.ca, status.all, status.url")
    ]


@pytest.mark.parametrize(
    "rule",
    [
        "",
        " , ",
        "=",
        "status.phase=",
        "=Running",
        "status..phase=Running",
        "status.phase.=Running",
        "status.items[0]=a",
        "{.status.phase}=Running",
        "status phase=Running",
        "condition=",
        "condition=Ready=Yes",
        "condition!=Ready",
        "condition=a b",
        "status.phase=Running=Up",
        'status.phase="Running',
        "status.phase=Running|",
    ],
)
@pytest.mark.requirement("P15")
def test_an_invalid_text_of_a_rule(rule):
    """A bad rule is refused when it is read, not found out by a wait."""
    with pytest.raises(errors.RequestInvalid):
        rules.parse(rule)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"condition": "Ready"}, "condition=Ready=True"),
        (
            {"condition": "Ready", "status": ["True", "Unknown"]},
            "condition=Ready=True|Unknown",
        ),
        ({"path": "status.phase"}, "status.phase"),
        ({"path": "status.replicas", "value": 3}, "status.replicas=3"),
        ({"path": "status.ok", "value": True}, "status.ok=true"),
        ({"path": "status.a", "value": ["b", "c"]}, "status.a=b|c"),
    ],
)
def test_a_rule_as_a_mapping(given_, expected):
    """A file may write a rule as a mapping of the same words."""
    (rule,) = rules.from_values([given_])

    assert expected == str(rule)


@pytest.mark.parametrize(
    "given_",
    [
        {},
        {"value": "x"},
        {"path": "status.a", "status": "True"},
        {"condition": "Ready", "path": "status.a"},
        {"condition": ["Ready"]},
        {"condition": "Ready", "status": "Maybe"},
        {"path": 7},
        {"path": "status.a", "value": {}},
        {"path": "status.a", "value": None},
        {"path": "status.a", "value": []},
        7,
        None,
    ],
)
def test_an_invalid_mapping_of_a_rule(given_):
    """Unknown words and values that no field can have are refused."""
    with pytest.raises(errors.RequestInvalid):
        rules.from_values([given_])


@given(st.text(max_size=30))
def test_any_text_is_a_rule_or_is_refused(text):
    """Reading rules ends in rules or in our own error, and rules are total."""
    try:
        found = rules.parse(text)
    except errors.RequestInvalid:
        return
    for rule in found:
        rule.is_met(OBJ)
        assert rule.describe_value(OBJ)


def test_rules_decide_in_order():
    """Failed comes first; then each rule for current must be met."""
    handler = generic.from_rules(
        ["condition=Ready", "status.phase=Running"], ["status.phase=Broken"]
    )
    broken = {**OBJ, "status": {**OBJ["status"], "phase": "Broken"}}
    making = {**OBJ, "status": {**OBJ["status"], "phase": "Making"}}

    assert State.CURRENT is handler.assess(OBJ).state
    assert (
        "in progress: status.phase is Making, expected status.phase=Running"
    ) == str(handler.assess(making))
    assert (
        "failed: status.phase is Broken (rule status.phase=Broken)"
    ) == str(handler.assess(broken))


def test_rules_ignore_an_older_generation():
    """A matching rule has no effect while the generation is behind."""
    handler = generic.from_rules(["status.phase=Running"])
    obj = {**OBJ, "status": {**OBJ["status"], "observedGeneration": 1}}

    assert "generation 2 asked, 1 seen" == handler.assess(obj).reason


def test_rules_for_failure_alone_leave_the_rest_to_the_kind():
    """Without a rule for ready, the handler of the kind decides."""
    kind = Handler(
        generic.generic_verdict, ApplyOrder.WORKLOAD, ("spec", "replicas")
    )
    handler = generic.from_rules(failed=["condition=Degraded"], kind=kind)

    assert "Ready is True" == handler.assess(OBJ).reason
    assert ApplyOrder.WORKLOAD is handler.rank
    assert ("spec", "replicas") == handler.replicas


def test_no_rule_at_all_is_refused():
    """A handler by rules needs one."""
    with pytest.raises(errors.RequestInvalid, match="no rule is given"):
        generic.from_rules()
