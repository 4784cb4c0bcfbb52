"""What an instance has to be after an operation."""

from __future__ import annotations

import pytest

from tools.soak import model
from tools.soak import packages
from tools.soak.model import Instance
from tools.soak.model import RecordedState
from tools.soak.model import Request

ABSENT = Instance("soak-00", "soak-ns0", "deployments", 3)
PRESENT = model.apply_request(ABSENT, Request("instantiate", "a"))
FRONT, BACK = "Deployment/soak-00-front", "Deployment/soak-00-back"
REAR = "Deployment/soak-00-rear"
SCALED = model.apply_request(PRESENT, Request("scale", target=FRONT, number=4))


def test_an_instance_begins_with_the_numbers_of_its_package():
    """A scale sets one of them."""
    assert {FRONT: {2}, BACK: {1}} == PRESENT.possible()
    assert {FRONT: {4}, BACK: {1}} == SCALED.possible()


def test_a_change_keeps_numbers():
    """What is new has that of the package."""
    found = model.apply_request(SCALED, Request("change", "b"))

    assert "b" == found.version
    assert {FRONT: {4}, REAR: {1}} == found.possible()


def test_a_rollback_brings_the_version_from_before():
    """With the number from now, from before, or of the package."""
    changed = model.apply_request(SCALED, Request("change", "b"))
    seen = model.apply_observed(
        changed, RecordedState("instantiated", "b", "a", {FRONT: 4, REAR: 1})
    )

    found = model.apply_request(seen, Request("roll_back"))

    assert ("a", "") == (found.version, found.before)
    assert {FRONT: {2, 4}, BACK: {1}} == found.possible()


@pytest.mark.parametrize(
    "request_",
    [
        Request("status"),
        Request("forecast", "b"),
        Request("change", "invalid", expects="refused"),
        Request("heal"),
    ],
)
def test_what_leaves_an_instance_as_it_is(request_):
    """Reads, what is refused, and a heal."""
    assert SCALED == model.apply_request(SCALED, request_)


def test_a_terminated_instance_is_as_before_its_first_step():
    """Nothing is remembered but its name, place, form and number."""
    assert ABSENT == model.apply_request(SCALED, Request("terminate"))


def test_what_ended_early_is_unfinished():
    """Its version is that from before."""
    change = Request("change", "b")
    found = model.settle_state(
        SCALED, change, RecordedState("changing", "b", "a")
    )

    assert ("a", "changing", change) == (
        found.version,
        found.phase,
        found.unfinished,
    )
    assert "a" == model.apply_request(found, Request("roll_back")).version
    assert "b" == model.apply_request(found, change).version


def test_a_rollback_that_ended_early_leaves_what_is_unfinished():
    """The first operation can still be repeated."""
    change = Request("change", "b")
    found = model.settle_state(
        SCALED, change, RecordedState("changing", "b", "a")
    )
    again = model.settle_state(
        found, Request("roll_back"), RecordedState("changing")
    )

    assert change == again.unfinished


def test_what_was_killed_at_its_end_is_done():
    """The record is at rest, and has the new version."""
    found = model.settle_state(
        PRESENT,
        Request("change", "b"),
        RecordedState("instantiated", "b", "a", {FRONT: 2, REAR: 1}),
    )

    assert ("b", "a", None) == (found.version, found.before, found.unfinished)
    assert {FRONT: {2}, REAR: {1}} == found.possible()


def test_what_was_killed_before_its_first_write_has_not_happened():
    """There is no record yet."""
    request = Request("instantiate", "a")

    assert ABSENT == model.settle_state(ABSENT, request, RecordedState())


def test_an_undone_instantiation_leaves_nothing():
    """Whatever it had written."""
    began = model.settle_state(
        ABSENT,
        Request("instantiate", "a"),
        RecordedState("instantiating", "a"),
    )

    assert ABSENT == model.apply_request(began, Request("roll_back"))


def test_an_undone_scale_has_one_of_two_replica_counts():
    """The record shows not yet which."""
    request = Request("scale", target=FRONT, number=0)
    found = model.settle_state(PRESENT, request, RecordedState("scaling", "a"))

    assert {0, 2} == found.possible()[FRONT]
    back = model.apply_request(found, Request("roll_back"))
    assert {0, 2} == back.possible()[FRONT]
    assert {0} == model.apply_request(found, request).possible()[FRONT]


def test_packages_are_distinguished_by_their_digests():
    """Every version of every form."""
    for form in packages.possible_forms([packages.WIDGET]):
        for version in packages.VERSIONS:
            digest = packages.package(form, version, "one").digest
            assert version == packages.version_of(form, "one", digest)
    assert "" == packages.version_of("job", "one", "")


def test_a_cluster_without_the_test_kinds_has_other_forms():
    """All but the one with a Widget."""
    assert {"widget"} == (
        set(packages.possible_forms([packages.WIDGET]))
        - set(packages.possible_forms([]))
    )
