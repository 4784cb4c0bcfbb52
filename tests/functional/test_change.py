"""A change of package, and what it would do, on a real server."""

from __future__ import annotations

import base64
import copy
import json

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.forecast import ForecastAction
from tests.functional import manifests

pytestmark = pytest.mark.plane

STORED = {objects.PREFIX + "readiness": "exists"}
CRD = "apiextensions.k8s.io"


def ref(kind, namespace, name, group=""):
    return ObjectRef(group, kind, namespace, name)


def fates(forecast):
    return {row.ref.name: row.action for row in forecast.objects}


def actions(report):
    return {row.ref.name: row.action for row in report.objects}


def secret(name, text):
    value = base64.b64encode(text.encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "data": {"password": value},
    }


def claim(name, size="1Gi"):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "annotations": STORED},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": {"storage": size}},
        },
    }


def job(name, image, **annotations):
    found = manifests.deployment(name)
    pod = found["spec"]["template"]
    pod["spec"]["restartPolicy"] = "Never"
    pod["spec"]["containers"][0]["image"] = image
    del pod["metadata"]
    named = {objects.PREFIX + key: value for key, value in annotations.items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": {**STORED, **named}},
        "spec": {"template": pod},
    }


def versions(cluster, inventory):
    """The resourceVersion of every object."""
    return {
        found: cluster.get(found)["metadata"]["resourceVersion"]
        for found in inventory
    }


@pytest.mark.requirement("P23", "E1", "E3", "E9")
def test_a_forecast_has_the_fate_of_each_object(
    cluster, namespace, make_package, unique_name, make_request
):
    """And so it comes; a forecast itself writes nothing.

    A field is named with both values, but of a secret only that it differs.
    What is retained is reported with the reason.
    """
    group = f"{unique_name}.example.org"
    definition = manifests.definition(group, "Thing")
    thing = manifests.custom(
        group, "Thing", "one", STORED, size="s", replicas=2
    )
    same = manifests.config_map("same")
    former = make_package(
        definition,
        thing,
        same,
        manifests.config_map("settings", key="old"),
        secret("login", "hunter2-hunter2"),
        manifests.config_map("dropped"),
        claim("data"),
        manifests.deployment("web", 1),
    )
    k8s_cr.instantiate(make_request(), former)
    owned = [row.ref for row in k8s_cr.status(make_request()).objects]
    less = copy.deepcopy(definition)
    schema = less["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["size"]
    changed = make_package(
        less,
        {**thing, "spec": {"replicas": 2}},
        same,
        manifests.config_map("settings", key="new", more="yes"),
        secret("login", "correct-horse"),
        manifests.config_map("added"),
        manifests.deployment("web", 1, terminationGracePeriodSeconds=5),
        name="b",
    )
    before = versions(cluster, owned)

    forecast = lcm.forecast(make_request(), changed)

    claims = ref("PersistentVolumeClaim", namespace, "data")
    after = versions(cluster, owned)
    # Their controller is still at work on claims.
    assert before | {claims: after[claims]} == after
    assert {
        f"things.{group}": ForecastAction.UPDATE,
        "one": ForecastAction.UPDATE,
        "same": ForecastAction.UNCHANGED,
        "settings": ForecastAction.UPDATE,
        "login": ForecastAction.UPDATE,
        "added": ForecastAction.CREATE,
        "web": ForecastAction.UPDATE,
        "dropped": ForecastAction.PRUNE,
        "data": ForecastAction.KEEP,
    } == fates(forecast)
    rows = {row.ref.name: row for row in forecast.objects}
    assert ["data.key: old -> new", "data.more: new: yes"] == [
        *map(str, rows["settings"].differences)
    ]
    assert ["data.password: *** -> ***"] == [
        *map(str, rows["login"].differences)
    ]
    assert "is pruned only on request" in rows["data"].why
    assert ("objects of v1 lose the fields spec.size",) == (
        rows[f"things.{group}"].irreversible
    )
    assert {} == forecast.rollouts
    text = json.dumps(forecast.as_dict())
    for plain in ("hunter2-hunter2", "correct-horse"):
        assert plain not in text
        assert base64.b64encode(plain.encode()).decode() not in text

    done = actions(k8s_cr.change(make_request(), changed))

    assert {
        ForecastAction.UPDATE: Action.CONFIGURED,
        ForecastAction.UNCHANGED: Action.UNCHANGED,
        ForecastAction.CREATE: Action.CREATED,
        ForecastAction.PRUNE: Action.DELETED,
        ForecastAction.KEEP: Action.RETAINED,
    } == {rows[name].action: action for name, action in done.items()}
    again = lcm.forecast(make_request(), changed)
    assert {ForecastAction.UNCHANGED, ForecastAction.KEEP} == set(
        fates(again).values()
    )


def test_a_change_to_the_same_package_changes_nothing(
    cluster, namespace, make_package, make_request, unique_name
):
    """No resourceVersion of any object moves."""
    group = f"{unique_name}.example.org"
    package = make_package(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one", STORED, size="s"),
        manifests.config_map("settings"),
        secret("login", "hunter2-hunter2"),
        manifests.deployment("web", 2),
    )
    k8s_cr.instantiate(make_request(), package)
    web = ref("Deployment", namespace, "web", "apps")
    k8s_cr.scale(make_request(), {web: 3})
    owned = [row.ref for row in k8s_cr.status(make_request()).objects]
    before = versions(cluster, owned)

    report = k8s_cr.change(make_request(), package)

    assert before == versions(cluster, owned)
    assert {Action.UNCHANGED} == {row.action for row in report.objects}


def test_admission_does_not_run_for_what_is_not_sent(
    cluster, namespace, make_package, unique_name, make_request, deadline
):
    """A policy that came since refuses a change that sends all.

    An instance that equals its package can still be changed.
    """
    before = make_package(manifests.config_map("a"), manifests.config_map("b"))
    k8s_cr.instantiate(make_request(), before)
    changed = make_package(
        manifests.config_map("a"), manifests.config_map("b", key="x"), name="b"
    )
    names = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }
    group = "admissionregistration.k8s.io/v1"
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": unique_name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.metadata.name == 'b'"}],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": unique_name},
        "spec": {
            "policyName": unique_name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": names},
        },
    }
    made = [cluster.create(obj, "tests") for obj in (policy, binding)]
    try:
        # The server takes a moment to heed a new policy.
        trial = manifests.config_map("trial", namespace)
        while not deadline.expired:
            try:
                cluster.apply(trial, "tests", dry_run=True)
            except errors.Rejected:
                break
        all_of_it = k8s_cr.Options(resend=True)
        with pytest.raises(errors.Rejected, match="/a: "):
            k8s_cr.change(make_request(options=all_of_it), changed)

        report = k8s_cr.change(make_request(), changed)

        assert {"a": Action.UNCHANGED, "b": Action.CONFIGURED} == actions(
            report
        )
    finally:
        for obj in made:
            cluster.delete(ObjectRef.of(obj), objects.uid(obj))


@pytest.mark.requirement("P10", "E4")
def test_what_cannot_be_changed_is_made_again_only_where_it_is_named(
    cluster, namespace, make_package, make_request
):
    """By an annotation or by the request; a rollback undoes it.

    What would not be possible as a new object either is left alone.
    """
    once = ref("Job", namespace, "once", "batch")
    k8s_cr.instantiate(
        make_request(), make_package(job("once", "example.org/a:1"))
    )
    first = objects.uid(cluster.get(once))
    changed = make_package(job("once", "example.org/a:2"), name="b")
    with pytest.raises(errors.Rejected, match="immutable"):
        k8s_cr.change(make_request(), changed)
    wrong = make_package(job("once", "", recreate="true"), name="c")
    with pytest.raises(errors.Rejected, match="image"):
        k8s_cr.change(make_request(), wrong)
    assert first == objects.uid(cluster.get(once))

    named = k8s_cr.Options(recreate=frozenset({once}))
    forecast = lcm.forecast(make_request(options=named), changed)

    (row,) = forecast.objects
    assert ForecastAction.RECREATE is row.action
    assert "immutable" in row.why
    assert row.irreversible
    report = k8s_cr.change(make_request(options=named), changed)
    assert {"once": Action.RECREATED} == actions(report)
    second = objects.uid(cluster.get(once))
    assert first != second

    k8s_cr.roll_back(make_request())

    live = cluster.get(once)
    pod = live["spec"]["template"]["spec"]
    assert "example.org/a:1" == pod["containers"][0]["image"]
    assert objects.uid(live) not in (first, second)

    said = make_package(
        job("once", "example.org/a:2", recreate="true"), name="d"
    )
    report = k8s_cr.change(make_request(), said)
    assert {"once": Action.RECREATED} == actions(report)


def test_a_policy_may_be_made_of_the_one_before(
    make_request, namespace, make_package
):
    """A user who names only the changes does not need the record."""
    keep = policy.from_dict({"prune": {"protect": ["ConfigMap"]}})
    k8s_cr.instantiate(
        make_request(),
        make_package(manifests.config_map("a"), manifests.config_map("b")),
        policy=keep,
    )
    seen = []

    def chosen(before):
        seen.append(before)
        return before

    report = k8s_cr.change(
        make_request(),
        make_package(manifests.config_map("a"), name="b"),
        policy=chosen,
    )

    assert [keep] == seen
    assert {"a": Action.UNCHANGED, "b": Action.RETAINED} == actions(report)
    (kept,) = [r for r in report.objects if r.action is Action.RETAINED]
    assert "protects it from pruning" in kept.verdict.reason


def test_deletion_of_retained_objects_with_their_definition_is_forecast(
    cluster, namespace, make_package, unique_name, make_request
):
    """A definition goes with its objects where that is asked for."""
    group = f"{unique_name}.example.org"
    definition = manifests.definition(group, "Thing")
    definition["metadata"]["annotations"] = {objects.PREFIX + "prune": "true"}
    k8s_cr.instantiate(
        make_request(),
        make_package(
            definition,
            manifests.custom(group, "Thing", "one", STORED, size="s"),
        ),
    )
    rest = make_package(manifests.config_map("a"), name="b")

    forecast = lcm.forecast(make_request(), rest)

    found = ref("CustomResourceDefinition", "", f"things.{group}", CRD)
    assert {
        found: ("all objects of its kind are deleted with it",)
    } == forecast.irreversible
    told = []
    k8s_cr.change(make_request(), rest, on_forecast=told.append)
    assert [forecast.irreversible] == [item.irreversible for item in told]
    assert cluster.get(found) is None
