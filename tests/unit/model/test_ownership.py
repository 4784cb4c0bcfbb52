"""Whose an object is."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import ownership

MADE = "2026-01-01T00:00:00Z"


def obj(labels=None, annotations=None, owners=(), managers=()):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "labels": labels or {},
            "annotations": annotations or {},
            "ownerReferences": list(owners),
            "creationTimestamp": MADE,
            "managedFields": [
                {
                    "manager": manager,
                    "operation": operation,
                    "time": MADE,
                    "fieldsV1": {"f:spec": {"f:replicas": {}}},
                }
                for manager, operation in managers
            ],
        },
    }


OURS = {objects.INSTANCE: "one"}
MANAGER = objects.MANAGER + "one"


def test_label_and_apply_entry_together_make_an_object_managed():
    """Which matters only where a crash came before the journal."""
    assert ownership.has_instance_label(
        obj(OURS, managers=[(MANAGER, "Apply")]), "one"
    )


@pytest.mark.parametrize(
    "stranger",
    [
        obj(OURS),
        obj(OURS, managers=[("operator", "Apply")]),
        obj(OURS, managers=[(MANAGER, "Update")]),
        obj(OURS, managers=[(MANAGER, "Apply"), ("them", "Update")]),
        obj(managers=[(MANAGER, "Apply")]),
        obj({objects.INSTANCE: "two"}, managers=[(MANAGER, "Apply")]),
    ],
)
def test_neither_of_them_alone_is_enough(stranger):
    """Operators copy labels to what they make."""
    assert not ownership.has_instance_label(stranger, "one")


def soon(fields, operation="Update"):
    """A managed object that another manager wrote to within the second."""
    ours = obj(OURS, managers=[(MANAGER, "Apply"), ("capi-dev", operation)])
    mine, other = ours["metadata"]["managedFields"]
    mine["fieldsV1"] = {"f:spec": {"f:backend": {"f:inMemory": {}}}}
    other["fieldsV1"] = fields
    return ours


ENDPOINT = {".": {}, "f:host": {}, "f:port": {}}


def test_a_field_that_a_controller_fills_in_at_once_changes_no_owner():
    """As that of a DevCluster does with the endpoint.

    A run that died before its record was written would else share the object
    that it had made itself.
    """
    filled = soon(
        {
            "f:metadata": {"f:finalizers": {".": {}}},
            "f:spec": {"f:controlPlaneEndpoint": ENDPOINT},
        }
    )

    assert ownership.has_instance_label(filled, "one")


@pytest.mark.parametrize(
    "stranger",
    [
        soon({"f:spec": {".": {}, "f:controlPlaneEndpoint": ENDPOINT}}),
        soon({"f:spec": {"f:backend": {"f:inMemory": {}}}}),
        soon({"f:spec": {"f:backend": {}}}),
        soon({"f:type": {}}),
        soon({"f:spec": {"f:controlPlaneEndpoint": ENDPOINT}}, "Apply"),
    ],
)
def test_a_writer_within_the_second_of_creation_is_its_owner(stranger):
    """It has a section as such, or what our manifest has."""
    assert not ownership.has_instance_label(stranger, "one")


@pytest.mark.parametrize(
    ("found", "owner"),
    [
        (obj({objects.INSTANCE: "two"}), "the instance two"),
        (
            obj(annotations={"meta.helm.sh/release-name": "web"}),
            "the Helm release web",
        ),
        (
            obj(
                owners=[
                    {"kind": "ReplicaSet", "name": "web-1", "controller": True}
                ]
            ),
            "ReplicaSet web-1",
        ),
        (
            obj({"app.kubernetes.io/managed-by": "flux"}),
            "flux (label app.kubernetes.io/managed-by)",
        ),
        (
            obj(managers=[("kubectl", "Apply"), ("kcm", "Update")]),
            "the field manager kcm, kubectl",
        ),
        (obj(), "another client"),
    ],
)
@pytest.mark.requirement("T8")
def test_the_owner_is_named_as_well_as_can_be(found, owner):
    """An operator must know whom to ask."""
    assert owner == ownership.foreign_owner(found)


def test_an_apply_entry_has_the_fields_of_its_manager():
    """So that replicas of another manager are left alone."""
    path = ("spec", "replicas")

    assert ownership.is_field_manager(
        obj(managers=[(MANAGER, "Apply")]), MANAGER, path
    )
    assert not ownership.is_field_manager(
        obj(managers=[(MANAGER, "Update")]), MANAGER, path
    )
    assert not ownership.is_field_manager(
        obj(managers=[(MANAGER, "Apply")]), MANAGER, ("spec", "paused")
    )


def test_two_views_that_differ_in_our_label_are_the_same():
    """Then the object is shared, not foreign."""
    one = obj()
    other = obj(OURS, managers=[(MANAGER, "Apply")])

    assert ownership.equal_ignoring_ownership(one, other)
    assert not ownership.equal_ignoring_ownership(one, obj({"app": "x"}))


LATER = "2026-01-01T00:00:01Z"
JUST_BEFORE = "2025-12-31T23:59:57Z"
LONG_BEFORE = "2025-12-31T23:00:00Z"


@pytest.mark.parametrize(
    ("entry", "created", "expected"),
    [
        ({}, MADE, True),
        ({"time": JUST_BEFORE}, MADE, True),
        ({"time": LONG_BEFORE}, MADE, False),
        ({"time": "yesterday"}, MADE, False),
        ({"time": LATER}, MADE, False),
        ({"time": None}, MADE, False),
        ({}, None, False),
        ({"time": None}, None, False),
        ({"operation": "Update"}, MADE, False),
        ({"manager": "operator"}, MADE, False),
        ({"subresource": "status"}, MADE, False),
    ],
)
def test_the_creator_of_an_object(entry, created, expected):
    """An Apply entry as old as the object made it; a later one joined it.

    Times as kube-apiserver 1.36.3 writes them: that of the entry before it
    asks the mutating webhooks, that of the object after. A restored object
    may have entries of its former self.
    """
    found = obj(OURS, managers=[(MANAGER, "Apply")])
    found["metadata"]["managedFields"][0].update(entry)
    found["metadata"]["creationTimestamp"] = created

    assert expected == ownership.created_by_manager(found, MANAGER)


def entry(manager, operation="Update", subresource="", **fields):
    found = {"manager": manager, "operation": operation, "fieldsV1": fields}
    return {**found, "subresource": subresource} if subresource else found


def test_applied_fields_belong_to_their_manager_alone():
    """Others keep what they own beside them."""
    image = {'k:{"name":"main"}': {".": {}, "f:image": {}}}
    script = {
        "f:data": {".": {}, "f:key": {}, "f:more": {}},
        "f:spec": {"f:containers": image, "f:paused": {}},
    }
    ours = entry(
        MANAGER,
        "Apply",
        **{
            "f:data": {"f:key": {}},
            "f:spec": {"f:containers": {'k:{"name":"main"}': {"f:image": {}}}},
        },
    )
    status = entry("kubelet", "Update", "status", **{"f:status": {}})

    assert [
        ours,
        entry(
            "script",
            **{
                "f:data": {".": {}, "f:more": {}},
                "f:spec": {"f:paused": {}},
            },
        ),
        status,
    ] == ownership.without_shared_fields(
        [ours, entry("script", **script), status], MANAGER
    )


def test_an_entry_without_any_field_left_is_removed():
    """And one of another manager's apply stays."""
    ours = entry(MANAGER, "Apply", **{"f:data": {"f:key": {}}})
    other = entry("argo", "Apply", **{"f:data": {"f:key": {}}})
    script = entry("script", **{"f:data": {".": {}, "f:key": {}}})

    assert [other, ours] == ownership.without_shared_fields(
        [other, script, ours], MANAGER
    )
    assert [script] == ownership.without_shared_fields([script], MANAGER)
