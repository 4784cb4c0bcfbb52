"""What is drift, from nothing but values."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import diff
from tacker_k8s_cr.plan import drift
from tacker_k8s_cr.plan.drift import Drift

REF = ObjectRef("", "ConfigMap", "default", "a")
INSTANCE = "k8s-cr.tacker.openstack.org/instance"


def obj(uid="u", label="one", manager="", **metadata):
    """A ConfigMap as a server shows it."""
    entry = {"manager": manager, "operation": "Apply", "fieldsV1": {}}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "uid": uid,
            "labels": {INSTANCE: label} if label else {},
            "managedFields": [entry] if manager else [],
            **metadata,
        },
    }


@pytest.mark.parametrize(
    ("found", "ways", "why"),
    [
        (obj(), (), ""),
        (None, (Drift.MISSING,), ""),
        (obj(uid="v"), (Drift.UID_CHANGED,), "the UID v and belongs to"),
        (
            obj(uid="v", label="", manager="kubectl"),
            (Drift.UID_CHANGED,),
            "the field manager kubectl",
        ),
        (
            obj(deletionTimestamp="2026-01-01T00:00:00Z"),
            (Drift.TERMINATING,),
            "deletion was requested",
        ),
        (
            obj(label=""),
            (Drift.LABEL_MISSING,),
            "its instance label is missing",
        ),
        (obj(label="two"), (Drift.LABEL_MISSING,), "its label names two"),
        (
            obj(label="two", manager="tacker-k8s-cr:two"),
            (Drift.OWNED_BY_OTHER,),
            "belongs to the instance two",
        ),
    ],
)
def test_drift_of_the_object_alone(found, ways, why):
    """A label alone makes no instance an owner."""
    row = drift.metadata_drift(REF, "u", "one", found)

    assert ways == row.drifts
    assert why in row.reason


def ours(manifest, before, after):
    found = diff.diff(before, after)
    return [str(field) for field in drift.authored_only(manifest, found)]


def test_only_fields_of_the_manifest_are_drift():
    """Not what a webhook would fill in, nor what others have added."""
    manifest = {"kind": "Thing", "spec": {"size": 1, "list": [{"a": 1}]}}
    before = {
        "kind": "Thing",
        "spec": {"size": 2, "list": [{"a": 2, "b": 1}], "theirs": 1},
    }
    after = {
        "kind": "Thing",
        "spec": {"size": 1, "list": [{"a": 1}], "filled": 5},
    }

    assert ["spec.list[0].a: 2 -> 1", "spec.size: 2 -> 1"] == ours(
        manifest, before, after
    )


def test_items_are_found_by_name():
    """A container is no other one for standing at another place."""
    manifest = {"spec": {"of": [{"name": "b", "image": "1"}]}}
    before = {
        "spec": {
            "of": [{"name": "x", "image": "9"}, {"name": "b", "image": "2"}]
        }
    }
    after = {
        "spec": {
            "of": [{"name": "x", "image": "8"}, {"name": "b", "image": "1"}]
        }
    }

    (said,) = ours(manifest, before, after)

    assert 'spec.of[name="b"].image: 2 -> 1' == said


def test_texts_of_a_secret_are_found_in_its_data():
    """The server keeps them there; no value is shown."""
    manifest = {"kind": "Secret", "stringData": {"word": "letmein"}}
    before = {"kind": "Secret", "data": {"word": "YQ==", "more": "Yg=="}}
    after = {"kind": "Secret", "data": {"word": "bGV0bWVpbg=="}}

    (said,) = ours(manifest, before, after)

    assert said.startswith("data.word: ")
    assert "bGV0" not in said
    assert "YQ==" not in said


def test_a_removed_field_is_drift():
    """With all that is below it."""
    manifest = {"data": {"a": "1", "b": {"c": 2}}}

    assert ["data.a: new: 1", "data.b.c: new: 2"] == ours(
        manifest, {}, manifest
    )
