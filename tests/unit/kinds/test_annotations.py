"""What the author of a package says about one object."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import custom
from tacker_k8s_cr.objects import PREFIX
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import State


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
    assert custom.of_annotations(manifest()) is None


def test_created():
    """An author may call it enough that an object is stored (P2)."""
    obj = {
        **manifest(readiness="created"),
        "status": {"observedGeneration": 1},
    }
    handler = custom.of_annotations(obj)

    assert State.CURRENT is handler.assess(obj).state


def test_created_still_goes():
    """What is asked to go is terminating, whatever was called enough."""
    obj = manifest(readiness="created")
    obj["metadata"]["deletionTimestamp"] = "2026-11-21T11:30:00Z"

    assert State.TERMINATING is (custom.of_annotations(obj).assess(obj).state)


def test_strict():
    """An author may ask for the kind's own judgement in so many words."""
    assert custom.ANY == custom.of_annotations(manifest(readiness="strict"))


def test_rules():
    """An author may say when the object is current, and when it failed."""
    obj = manifest(
        current_when="status.phase=Running", failed_when="status.phase=Broken"
    )
    handler = custom.of_annotations(obj)

    assert State.IN_PROGRESS is handler.assess(obj).state
    for phase, state in (
        ("Running", State.CURRENT),
        ("Broken", State.FAILED),
        ("Making", State.IN_PROGRESS),
    ):
        said = {**obj, "status": {"phase": phase}}
        assert state is handler.assess(said).state


def test_the_rest_of_a_kind_stays():
    """Rank and place of the number remain those of the kind."""
    deployment = kinds.BUILT_IN[GroupKind("apps", "Deployment")]
    found = custom.of_annotations(manifest(readiness="created"), deployment)

    assert deployment.rank is found.rank
    assert deployment.replicas == found.replicas


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({"readiness": "never"}, "'never' is neither strict nor created"),
        (
            {"readiness": "created", "current_when": "condition=Ready"},
            "created leaves no use for current-when",
        ),
        ({"current_when": "status..phase"}, "is no path"),
        ({"failed_when": ""}, "no rule is given"),
    ],
)
def test_what_cannot_be_followed_is_refused(annotations, words):
    """A bad annotation is named with its object, before any write (P15)."""
    with pytest.raises(errors.PackageInvalid) as raised:
        custom.of_annotations(manifest(**annotations))

    (problem,) = raised.value.problems
    assert "Gizmo.example.org/ns/a" == problem.where
    assert words in problem.what
    assert problem.what.startswith(f"annotation {PREFIX}")


def test_all_faults_at_once():
    """Each annotation that cannot be followed is a problem of its own."""
    bad = manifest(readiness="x", current_when="=", failed_when="=")

    with pytest.raises(errors.PackageInvalid) as raised:
        custom.of_annotations(bad)

    assert 3 == len(raised.value.problems)


def test_the_deadline_error_names_the_rule_to_add(load):
    """An object that only shows a phase says what its author can do."""
    reason = custom.strict(load("gizmo/phase_only")).reason

    assert "k8s-cr.tacker.openstack.org/current-when" in reason
    assert "k8s-cr.tacker.openstack.org/readiness: created" in reason
