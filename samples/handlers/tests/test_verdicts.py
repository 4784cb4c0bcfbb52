"""Each object that was saved, and how far it is."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from media_handlers import HANDLERS
from media_handlers import store
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State

OBJECTS = pathlib.Path(__file__).parent / "objects"

VERDICTS = {
    "store-current": (State.CURRENT, "3 member(s) in step at version 2.1"),
    "store-joining": (State.IN_PROGRESS, "2 of 3 member(s) in step, 3 asked"),
    "store-lost": (State.FAILED, "most of its members and its data are lost"),
    "store-updating": (State.IN_PROGRESS, "version 2.0, 2.1, 2.1 asked"),
    "transcoder-changed": (State.IN_PROGRESS, "generation 2 asked, 1 seen"),
    "transcoder-current": (State.CURRENT, "Running"),
    "transcoder-rejected": (State.FAILED, "Rejected"),
}


def load(name):
    return yaml.safe_load((OBJECTS / f"{name}.yaml").read_text())


def test_every_object_has_its_line():
    """No file is forgotten."""
    assert sorted(VERDICTS) == sorted(p.stem for p in OBJECTS.glob("*.yaml"))


@pytest.mark.parametrize("name", VERDICTS)
def test_a_saved_object_is_judged(name):
    """By the handler of its kind: the state, and why."""
    obj = load(name)

    found = HANDLERS[GroupKind.of(obj)].assess(obj)

    assert VERDICTS[name] == (found.state, found.reason)


@pytest.mark.parametrize("group_kind", HANDLERS, ids=str)
def test_an_object_that_nobody_worked_on_is_in_progress(group_kind):
    """Nothing is current before its controller has spoken."""
    metadata = {"name": "a", "namespace": "ns", "generation": 1}

    found = HANDLERS[group_kind].assess({"metadata": metadata, "spec": {}})

    assert State.IN_PROGRESS is found.state


def test_a_member_that_cannot_join_is_an_error():
    """It blocks the Store when it goes on for long."""
    found = store.store(load("store-joining"))

    assert "Joining/NoRoute" == found.error


def test_a_store_names_its_settings_and_its_pods():
    """They are looked at to explain why it does not settle."""
    obj = load("store-current")

    assert (ObjectRef("", "ConfigMap", "ns", "tuning"),) == store.uses(obj)
    assert (
        (GroupKind("", "Pod"), "media.example.org/store=calls"),
    ) == store.made(obj)


@pytest.mark.parametrize(
    ("count", "good"), [(0, True), (1, True), (2, False), (3, True)]
)
def test_a_store_has_an_odd_number_of_members(count, good):
    """What its controller would refuse is refused before it is sent."""
    assert good is (store.refused(load("store-current"), count) is None)
