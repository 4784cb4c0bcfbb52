"""Whether an apply would leave an object as it is, from its metadata."""

from __future__ import annotations

import copy
import json

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.plan import unchanged
from tests.fakes import field_ownership

MANAGER = "tacker-k8s-cr:one"

PORTS = [
    {"name": "http", "port": 80, "targetPort": 8080},
    {"name": "dns", "port": 53, "protocol": "UDP"},
]

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "web",
        "namespace": "edge",
        "labels": {objects.INSTANCE: "one"},
    },
    "spec": {"selector": {"app": "web"}, "ports": PORTS},
}

# What Kubernetes 1.36.3 made of it, after another client had set a label.
LIVE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "web",
        "namespace": "edge",
        "uid": "40fc34e7-4242-49b9-a8ea-b9bffa5fa365",
        "resourceVersion": "100702",
        "creationTimestamp": "2026-11-22T10:04:53Z",
        "labels": {objects.INSTANCE: "one", "theirs": "yes"},
        "managedFields": [
            {
                "manager": MANAGER,
                "operation": "Apply",
                "apiVersion": "v1",
                "time": "2026-11-22T10:04:53Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": {"f:labels": {f"f:{objects.INSTANCE}": {}}},
                    "f:spec": {
                        "f:ports": {
                            'k:{"port":53,"protocol":"UDP"}': {
                                ".": {},
                                "f:name": {},
                                "f:port": {},
                                "f:protocol": {},
                            },
                            'k:{"port":80,"protocol":"TCP"}': {
                                ".": {},
                                "f:name": {},
                                "f:port": {},
                                "f:targetPort": {},
                            },
                        },
                        "f:selector": {},
                    },
                },
            },
            {
                "manager": "another",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2026-11-22T10:04:53Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:labels": {"f:theirs": {}}}},
            },
        ],
    },
    "spec": {
        "ports": [
            {
                "name": "http",
                "protocol": "TCP",
                "port": 80,
                "targetPort": 8080,
            },
            {"name": "dns", "protocol": "UDP", "port": 53, "targetPort": 53},
        ],
        "selector": {"app": "web"},
        "clusterIP": "10.96.239.151",
        "clusterIPs": ["10.96.239.151"],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    },
    "status": {"loadBalancer": {}},
}


def at(obj, *path):
    for key in path:
        obj = obj[key]
    return obj


def changed(obj, path, value):
    """A copy with another value at the path; with None without the field."""
    obj = copy.deepcopy(obj)
    *parents, last = path
    if value is None:
        del at(obj, *parents)[last]
    else:
        at(obj, *parents)[last] = value
    return obj


def difference(manifest=SERVICE, live=LIVE):
    return unchanged.difference(manifest, live, MANAGER)


def test_defaults_of_the_server_are_not_a_difference():
    """Nor is what other managers own, or the order in managedFields."""
    assert "" == difference()
    assert unchanged.is_unchanged(SERVICE, LIVE, MANAGER)


OURS = ("metadata", "managedFields", 0)
FIELDS = (*OURS, "fieldsV1")
WEB = 'k:{"port":80,"protocol":"TCP"}'


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("spec", "selector", "app"), "other", "spec.selector differs"),
        (("spec", "type"), "ClusterIP", "spec.type differs"),
        (("spec", "selector"), None, "spec.selector differs"),
        (("spec", "selector"), {}, "spec.selector differs"),
        (
            ("spec", "ports", 0, "targetPort"),
            "8080",
            "spec.ports[].targetPort differs",
        ),
        (
            ("spec", "ports", 0, "targetPort"),
            True,
            "spec.ports[].targetPort differs",
        ),
        (
            ("spec", "ports", 0, "protocol"),
            "TCP",
            "spec.ports[].protocol differs",
        ),
        (("spec", "ports", 1, "port"), 54, "spec.ports differs"),
        (("spec", "ports"), PORTS[::-1], "spec.ports differs"),
        (("spec", "ports"), [*PORTS, PORTS[0]], "spec.ports differs"),
        (("spec", "ports"), PORTS[:1], "spec.ports differs"),
        (("spec", "ports"), [80, 53], "spec.ports differs"),
        (("spec", "ports"), "80", "spec.ports differs"),
        (("metadata", "labels", "new"), "", "metadata.labels.new differs"),
        (
            ("metadata", "annotations"),
            {objects.PREFIX + "wave": "1"},
            "metadata.annotations differs",
        ),
        (("metadata", "name"), "other", "it was read in another API version"),
        (("apiVersion",), "v2", "it was read in another API version"),
    ],
)
def test_a_manifest_that_differs_is_sent(path, value, told):
    """The reason names the field, and no value."""
    found = difference(manifest=changed(SERVICE, path, value))

    assert found.startswith(told)
    assert found.isascii()
    assert "web" not in found


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("spec", "selector", "app"), "other", "spec.selector differs"),
        (("spec", "selector", "more"), "yes", "spec.selector differs"),
        (("spec", "selector"), None, "spec.selector differs"),
        (
            ("spec", "ports", 0, "targetPort"),
            8081,
            "spec.ports[].targetPort differs",
        ),
        (("spec", "ports", 0), None, "spec.ports differs"),
        (("spec", "ports"), {}, "spec.ports differs"),
        (("spec",), None, "spec differs"),
        (("metadata", "labels", objects.INSTANCE), None, "metadata.labels"),
        (
            ("metadata", "deletionTimestamp"),
            "2026-11-22T10:04:53Z",
            "its deletion was requested",
        ),
        (("metadata", "managedFields"), None, f"{MANAGER} has not applied"),
        (OURS, None, f"{MANAGER} has not applied"),
        ((*OURS, "operation"), "Update", f"{MANAGER} has not applied"),
        ((*OURS, "subresource"), "scale", f"{MANAGER} has not applied"),
        ((*OURS, "apiVersion"), "v1beta1", f"{MANAGER} has not applied"),
        (FIELDS, None, f"{MANAGER} has not applied"),
        (FIELDS, {}, f"{MANAGER} has not applied"),
        ((*FIELDS, "f:spec", "f:selector"), None, "spec.selector differs"),
        ((*FIELDS, "f:spec", "f:type"), {}, "spec.type differs"),
        (
            (*FIELDS, "f:spec", "f:ports", WEB, "f:name"),
            None,
            "spec.ports[].name differs",
        ),
        ((*FIELDS, "f:spec", "f:ports", WEB, "."), None, "spec.ports differs"),
        ((*FIELDS, "f:spec", "f:ports", WEB), None, "spec.ports differs"),
        ((*FIELDS, "f:spec", "f:ports"), {}, "spec.ports differs"),
        (
            (*FIELDS, "f:spec", "f:ports"),
            {"i:0": {}, "i:1": {}},
            "spec.ports differs",
        ),
        (
            (*FIELDS, "f:spec", "f:ports"),
            {'k:{"port":80}': {}, 'k:{"name":"dns"}': {}},
            "spec.ports differs",
        ),
    ],
)
def test_an_object_that_another_client_has_changed_is_sent(path, value, told):
    """Its values, its owners, its label: whatever is in doubt."""
    assert difference(live=changed(LIVE, path, value)).startswith(told)


def test_foreign_items_may_be_between_those_of_the_manifest():
    """They stay where they are; the manifest's keep their order."""
    ports = LIVE["spec"]["ports"]
    theirs = {"name": "x", "protocol": "TCP", "port": 9, "targetPort": 9}
    between = [ports[0], theirs, ports[1]]

    assert "" == difference(live=changed(LIVE, ("spec", "ports"), between))
    for other in (ports[::-1], [*ports, ports[0]]):
        live = changed(LIVE, ("spec", "ports"), other)
        assert "spec.ports differs" == difference(live=live)


def test_a_key_that_may_be_of_two_items_is_in_doubt():
    """A protocol that the manifest leaves out may be either."""
    ports = [{"port": 80, "protocol": "UDP"}, {"port": 80}]
    owned = {".": {}, "f:port": {}}
    live = changed(LIVE, ("spec", "ports"), [])
    live["spec"]["ports"] = [{**port, "protocol": "UDP"} for port in ports]
    live["spec"]["ports"][1]["protocol"] = "TCP"
    at(live, *FIELDS, "f:spec")["f:ports"] = {
        WEB: owned,
        WEB.replace("TCP", "UDP"): {**owned, "f:protocol": {}},
    }
    manifest = changed(SERVICE, ("spec", "ports"), ports)

    assert "" == difference(manifest, live)
    manifest["spec"]["ports"] = [{"port": 80}, {"port": 80}]
    assert "spec.ports differs" == difference(manifest, live)


def test_a_set_is_compared_by_its_values():
    """A value of another manager may be in it, and the order counts."""

    def judged(ours, theirs):
        manifest = changed(SERVICE, ("metadata", "finalizers"), ours)
        live = changed(LIVE, ("metadata", "finalizers"), theirs)
        sets = {'v:"a/b"': {}, 'v:"c/d"': {}}
        at(live, *FIELDS, "f:metadata")["f:finalizers"] = sets
        return difference(manifest, live)

    assert "" == judged(["a/b", "c/d"], ["a/b", "e/f", "c/d"])
    for ours, theirs in (
        (["a/b", "c/d"], ["c/d", "a/b"]),
        (["a/b", "c/d"], ["a/b"]),
        (["a/b"], ["a/b", "c/d"]),
        (["a/b", "a/b"], ["a/b", "c/d"]),
        (["a/b", {"c": "d"}], ["a/b", "c/d"]),
    ):
        assert "metadata.finalizers differs" == judged(ours, theirs)


values = st.recursive(
    st.booleans() | st.integers(0, 2) | st.sampled_from(("", "a", "1")),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(("a", "b")), inner, max_size=2)
        | st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(("a", "b"))}, optional={"x": inner}
            ),
            max_size=2,
            unique_by=lambda item: item["name"],
        )
    ),
    max_leaves=8,
)


def as_stored(manifest):
    """The object as a server has it that changes nothing in it."""
    obj = field_ownership.with_copied_fields(manifest)
    entry = {
        "manager": MANAGER,
        "operation": "Apply",
        "apiVersion": manifest["apiVersion"],
        "fieldsV1": field_ownership.fields_v1(
            field_ownership.leaf_paths(manifest)
        ),
    }
    obj["metadata"] |= {"uid": "1", "managedFields": [entry]}
    return obj


@given(values, values)
def test_only_what_is_stored_as_it_is_written_is_unchanged(one, other):
    """Any other value is a difference, whatever its form."""
    manifest = changed(SERVICE, ("spec",), {"field": one})
    live = as_stored(manifest)

    assert "" == difference(manifest, live)
    second = changed(manifest, ("spec", "field"), other)
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert same is not bool(difference(second, live))
