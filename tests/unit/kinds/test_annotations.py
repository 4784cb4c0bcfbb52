"""What the author of a package sets on one object."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import PREFIX
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import State


def manifest(**annotations):
    return {
        "apiVersion": "example.org/v1",
        "kind": "Gizmo",
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "generation": 2,
            "annotations": {
                PREFIX + name.replace("_", "-"): value
                for name, value in annotations.items()
            },
        },
    }


def test_nothing_is_asked_for():
    """Without our annotations the kind's handler stays."""
    assert generic.from_annotations(manifest()) is None


@pytest.mark.requirement("C8")
def test_created():
    """An author may call it enough that an object is stored."""
    obj = {
        **manifest(readiness="exists"),
        "status": {"observedGeneration": 1},
    }
    handler = generic.from_annotations(obj)

    assert State.CURRENT is handler.assess(obj).state


def test_readiness_exists_does_not_hide_a_deletion():
    """An object with a deletionTimestamp is terminating, whatever the rule."""
    obj = manifest(readiness="exists")
    obj["metadata"]["deletionTimestamp"] = "2026-11-21T11:30:00Z"

    assert State.TERMINATING is (
        generic.from_annotations(obj).assess(obj).state
    )


def test_strict():
    """An author may ask for the kind's own judgement in so many words."""
    assert generic.ANY == generic.from_annotations(
        manifest(readiness="status")
    )


def test_rules():
    """An author may say when the object is current, and when it failed."""
    obj = manifest(
        ready_when="status.phase=Running", failed_when="status.phase=Broken"
    )
    handler = generic.from_annotations(obj)

    assert State.IN_PROGRESS is handler.assess(obj).state
    for phase, state in (
        ("Running", State.CURRENT),
        ("Broken", State.FAILED),
        ("Making", State.IN_PROGRESS),
    ):
        said = {**obj, "status": {"phase": phase}}
        assert state is handler.assess(said).state


def test_the_remaining_handler_of_a_kind_stays():
    """Rank and place of the number remain those of the kind."""
    deployment = kinds.BUILT_IN[GroupKind("apps", "Deployment")]
    found = generic.from_annotations(manifest(readiness="exists"), deployment)

    assert deployment.rank is found.rank
    assert deployment.replicas == found.replicas


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({"readiness": "never"}, "'never' is not one of status, exists, none"),
        (
            {"readiness": "exists", "ready_when": "condition=Ready"},
            "exists leaves no use for ready-when",
        ),
        ({"ready_when": "status..phase"}, "is not a path"),
        ({"failed_when": ""}, "no rule is given"),
    ],
)
@pytest.mark.requirement("P15")
def test_what_cannot_be_followed_is_refused(annotations, words):
    """A bad annotation is named with its object, before any write."""
    with pytest.raises(errors.PackageInvalid) as raised:
        generic.from_annotations(manifest(**annotations))

    (problem,) = raised.value.problems
    assert "Gizmo.example.org/ns/a" == problem.where
    assert words in problem.what
    assert problem.what.startswith(f"annotation {PREFIX}")


def test_all_faults_at_once():
    """Each annotation that cannot be followed is a problem of its own."""
    bad = manifest(readiness="x", ready_when="=", failed_when="=")

    with pytest.raises(errors.PackageInvalid) as raised:
        generic.from_annotations(bad)

    assert 3 == len(raised.value.problems)


def test_the_deadline_error_names_the_rule_to_add(load):
    """For an object with only a phase, the error shows the author a rule."""
    reason = generic.generic_verdict(load("gizmo/phase_only")).reason

    assert "k8s-cr.tacker.openstack.org/ready-when" in reason
    assert "k8s-cr.tacker.openstack.org/readiness: exists" in reason
