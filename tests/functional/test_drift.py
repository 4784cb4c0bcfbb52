"""Foreign changes to an instance are reported, and not reverted."""

from __future__ import annotations

import base64
import json

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tests.functional import manifests
from tests.functional import test_cli

pytestmark = pytest.mark.plane

environ = test_cli.environ
files = test_cli.files
run = test_cli.run


def secret(name, **texts):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": texts,
    }


def autoscaler(name):
    """At a version that is not the preferred one."""
    created = {"k8s-cr.tacker.openstack.org/readiness": "exists"}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "annotations": created},
        "spec": {
            "maxReplicas": 4,
            "targetCPUUtilizationPercentage": 50,
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": "absent",
            },
        },
    }


@pytest.fixture
def config(namespace):
    def ref(name, kind="ConfigMap"):
        return ObjectRef("", kind, namespace, name)

    return ref


@pytest.fixture
def read_versions(cluster, namespace):
    """UIDs and versions of all in the namespace that may differ."""

    def found():
        kinds = [
            r.group_kind
            for r in cluster.resources()
            if "list" in r.verbs and r.namespaced and r.kind != "Event"
        ]
        seen = {}
        for _, objs in cluster.map_parallel(
            lambda kind: list(cluster.list_metadata(kind, namespace)), kinds
        ):
            if not isinstance(objs, errors.Error):
                for obj in objs:
                    metadata = obj["metadata"]
                    seen[ObjectRef.of(obj)] = (
                        metadata["uid"],
                        metadata["resourceVersion"],
                    )
        return seen

    return found


@pytest.mark.requirement("G1", "G4", "K5")
def test_drift_is_reported_by_field_and_nothing_is_written(
    cluster, namespace, make_package, make_request, config, read_versions
):
    """Missing, edited, taken and unlabelled objects.

    What others have added, what they scale, what they write in statuses and
    what the author leaves to them is not drift. A Secret's field is named, its
    value is not shown. Not one object has another version than before, and a
    heal reverts all of it.
    """
    web = manifests.deployment("web", 2)
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "1000m"}
    }
    left = manifests.config_map("left")
    left["metadata"]["annotations"] = {
        "k8s-cr.tacker.openstack.org/field-conflicts": "ignore"
    }
    package = make_package(
        web,
        autoscaler("auto"),
        secret("pass", word="letmein-first"),
        left,
        *map(manifests.config_map, ("lost", "edited", "added", "new", "bare")),
    )
    k8s_cr.instantiate(make_request(), package)
    before = read_versions()

    assert () == k8s_cr.drift(make_request()).objects
    assert before == read_versions()

    deployment = ObjectRef("apps", "Deployment", namespace, "web")
    uids = {ref: uid for ref, (uid, _) in before.items()}
    cluster.delete(config("lost"), uids[config("lost")])
    cluster.patch(
        config("edited"), {"data": {"key": "theirs"}}, "other-manager"
    )
    more = {"data": {"more": "theirs"}, "metadata": {"labels": {"x": "y"}}}
    cluster.patch(config("added"), more, "other-manager")
    theirs = {"data": {"key": "theirs"}}
    cluster.patch(config("left"), theirs, "other-manager")
    cluster.patch(deployment, {"spec": {"replicas": 3}}, "other-manager")
    word = base64.b64encode(b"letmein-second").decode()
    password = config("pass", "Secret")
    cluster.patch(password, {"data": {"word": word}}, "other-manager")
    cluster.delete(config("new"), uids[config("new")])
    cluster.create(manifests.config_map("new", namespace), "other-manager")
    bare = {"metadata": {"labels": {objects.INSTANCE: None}}}
    cluster.patch(config("bare"), bare, "other-manager")
    versions = read_versions()

    found = k8s_cr.drift(make_request())

    assert {ref: v for ref, v in versions.items() if ref.kind != "Pod"} == {
        ref: v for ref, v in read_versions().items() if ref.kind != "Pod"
    }
    rows = {row.ref: row for row in found.objects}
    assert {
        config("lost"): ["missing"],
        config("edited"): ["changed"],
        password: ["changed"],
        config("new"): ["uid-changed"],
        config("bare"): ["label-missing", "changed"],
    } == {ref: [way.value for way in row.drifts] for ref, row in rows.items()}
    assert ["data.key: theirs -> value"] == [
        str(field) for field in rows[config("edited")].differences
    ]
    assert rows[config("new")].reason.endswith(
        "the field manager other-manager"
    )
    (field,) = rows[password].differences
    assert "data.word" == field.path
    text = json.dumps(found.as_dict()) + repr(found)
    for shown in ("letmein", word, base64.b64encode(b"letmein").decode()[:9]):
        assert shown not in text
    assert 9 == found.compared

    cluster.delete(config("new"), rows[config("new")].uid)
    theirs = cluster.get(config("new"))
    cluster.delete(config("new"), objects.uid(theirs))
    k8s_cr.heal(make_request())
    assert () == k8s_cr.drift(make_request()).objects
    assert 3 == cluster.get(deployment)["spec"]["replicas"]


@pytest.mark.requirement("G1")
def test_drift_by_the_program(run, files, unique_name, cluster, config):
    """A table for people, JSON for programs, an exit code for both."""
    package = files(
        manifests.config_map("a", key="ours"), secret("p", word="letmein")
    )
    run("instantiate", unique_name, package)

    same = run("drift", unique_name, "-f", "json")

    assert 0 == same.code, same.err
    assert [] == same.value["objects"]
    assert 2 == same.value["looked"]
    cluster.patch(config("a"), {"data": {"key": "theirs"}}, "other-manager")
    table = run("drift", unique_name)
    value = run("drift", unique_name, "-f", "json")
    columns = run(
        "drift", unique_name, "-c", "Name", "-c", "Drift", "-f", "value"
    )

    assert (5, 5, 5) == (table.code, value.code, columns.code)
    assert "data.key: theirs -> ours" in table.out
    assert "1 of 2 object(s) drifted" in table.err
    (row,) = value.value["objects"]
    assert ("a", ["changed"]) == (row["name"], row["drift"])
    assert [{"path": "data.key", "before": "theirs", "after": "ours"}] == row[
        "differences"
    ]
    assert "a changed" == columns.out.strip()
    assert 2 == run("drift", f"{unique_name}x").code


def test_what_a_change_kept_and_what_is_shared_drifts_too(
    cluster, namespace, make_package, make_request, config
):
    """It is in the inventory, though no manifest is."""
    kept = manifests.config_map("kept")
    kept["metadata"]["annotations"] = {
        "k8s-cr.tacker.openstack.org/prune": "false"
    }
    cluster.create(manifests.config_map("theirs", namespace), "other-manager")
    shared = manifests.config_map("theirs")
    k8s_cr.instantiate(make_request(), make_package(kept, shared))
    report = k8s_cr.change(make_request(), make_package(shared, name="b"))
    assert {Action.SHARED} == {
        row.action for row in report.objects if row.ref == config("theirs")
    }
    assert () == k8s_cr.drift(make_request()).objects
    for name in ("kept", "theirs"):
        uid = objects.uid(cluster.get(config(name)))
        cluster.delete(config(name), uid)

    rows = k8s_cr.drift(make_request()).objects

    assert {config("kept"): "", config("theirs"): "it is shared"} == {
        row.ref: row.reason[:12] for row in rows
    }
    assert {("missing",)} == {
        tuple(way.value for way in row.drifts) for row in rows
    }


def test_drift_takes_no_right_to_create_or_delete(
    cluster, make_request, make_package, config, restricted_cluster
):
    """Reading, and the right to patch, which a server wants for a dry run.

    Without that it reports all but fields, and lists the objects that it could
    not compare.
    """
    package = make_package(*map(manifests.config_map, ("edited", "lost")))
    k8s_cr.instantiate(make_request(), package)
    cluster.patch(
        config("edited"), {"data": {"key": "theirs"}}, "other-manager"
    )
    cluster.delete(config("lost"), objects.uid(cluster.get(config("lost"))))

    def rows_by_name(*verbs):
        rules = [
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs},
        ]
        rows = k8s_cr.drift(make_request(restricted_cluster(rules))).objects
        return {row.ref.name: row for row in rows}

    seen = rows_by_name("get", "patch")
    assert ["changed"] == [way.value for way in seen["edited"].drifts]
    assert ["missing"] == [way.value for way in seen["lost"].drifts]
    seen = rows_by_name("get")
    assert ["unknown"] == [way.value for way in seen["edited"].drifts]
    assert seen["edited"].reason.startswith("not compared: ")
    assert ["missing"] == [way.value for way in seen["lost"].drifts]
