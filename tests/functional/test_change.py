"""A change of package, and what it is foretold to do, on a real server."""

from __future__ import annotations

import base64
import copy
import json

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr import policy
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning.forecast import Fate
from tacker_k8s_cr.report import Action
from tests.functional import manifests

pytestmark = pytest.mark.plane

STORED = {objects.PREFIX + "readiness": "created"}
CRD = "apiextensions.k8s.io"


@pytest.fixture
def life(namespace, deadline):
    return {"namespace": namespace, "deadline": deadline}


def ref(kind, namespace, name, group=""):
    return ObjectRef(group, kind, namespace, name)


def fates(forecast):
    return {row.ref.name: row.fate for row in forecast.rows}


def actions(report):
    return {row.ref.name: row.action for row in report.rows}


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


def test_a_forecast_tells_what_becomes_of_each_object(
    cluster, namespace, packed, life, unique
):
    """And so it comes; a forecast itself writes nothing (P9, E1, E2, E3).

    A field is named with both values, but of a secret only that it differs
    (P23). What is kept is kept for a reason that is told.
    """
    group = f"{unique}.example.org"
    definition = manifests.definition(group, "Thing")
    thing = manifests.custom(
        group, "Thing", "one", STORED, size="s", replicas=2
    )
    same = manifests.config_map("same")
    former = packed(
        definition,
        thing,
        same,
        manifests.config_map("settings", key="old"),
        secret("login", "hunter2-hunter2"),
        manifests.config_map("dropped"),
        claim("data"),
        manifests.deployment("web", 1),
    )
    k8s_cr.instantiate(cluster, unique, former, **life)
    owned = [row.ref for row in k8s_cr.status(cluster, unique, **life).rows]
    less = copy.deepcopy(definition)
    schema = less["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["size"]
    changed = packed(
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

    forecast = lcm.forecast(cluster, unique, changed, **life)

    claims = ref("PersistentVolumeClaim", namespace, "data")
    after = versions(cluster, owned)
    # Their controller is still at work on claims.
    assert before | {claims: after[claims]} == after
    assert {
        f"things.{group}": Fate.UPDATE,
        "one": Fate.UPDATE,
        "same": Fate.UNCHANGED,
        "settings": Fate.UPDATE,
        "login": Fate.UPDATE,
        "added": Fate.CREATE,
        "web": Fate.UPDATE,
        "dropped": Fate.PRUNE,
        "data": Fate.KEEP,
    } == fates(forecast)
    rows = {row.ref.name: row for row in forecast.rows}
    assert ["data.key: old -> new", "data.more: new: yes"] == [
        *map(str, rows["settings"].differences)
    ]
    assert ["data.password: *** -> ***"] == [
        *map(str, rows["login"].differences)
    ]
    assert "only pruned where that is asked for" in rows["data"].why
    assert ("in v1 objects lose what they have in spec.size",) == (
        rows[f"things.{group}"].final
    )
    assert {} == forecast.rollouts
    text = json.dumps(forecast.as_dict())
    for plain in ("hunter2-hunter2", "correct-horse"):
        assert plain not in text
        assert base64.b64encode(plain.encode()).decode() not in text

    done = actions(k8s_cr.change(cluster, unique, changed, **life))

    assert {
        Fate.UPDATE: Action.CONFIGURED,
        Fate.UNCHANGED: Action.UNCHANGED,
        Fate.CREATE: Action.CREATED,
        Fate.PRUNE: Action.DELETED,
        Fate.KEEP: Action.KEPT,
    } == {rows[name].fate: action for name, action in done.items()}
    again = lcm.forecast(cluster, unique, changed, **life)
    assert {Fate.UNCHANGED, Fate.KEEP} == set(fates(again).values())


def test_a_change_to_the_same_package_changes_nothing(
    cluster, namespace, packed, life, unique
):
    """No resourceVersion of any object moves (T6, P7)."""
    group = f"{unique}.example.org"
    package = packed(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one", STORED, size="s"),
        manifests.config_map("settings"),
        secret("login", "hunter2-hunter2"),
        manifests.deployment("web", 2),
    )
    k8s_cr.instantiate(cluster, unique, package, **life)
    web = ref("Deployment", namespace, "web", "apps")
    k8s_cr.scale(cluster, unique, {web: 3}, **life)
    owned = [row.ref for row in k8s_cr.status(cluster, unique, **life).rows]
    before = versions(cluster, owned)

    report = k8s_cr.change(cluster, unique, package, **life)

    assert before == versions(cluster, owned)
    assert {Action.UNCHANGED} == {row.action for row in report.rows}


def test_admission_does_not_run_for_what_is_not_sent(
    cluster, namespace, packed, life, unique
):
    """A policy that came since refuses a change that sends all (P7).

    An instance that is as its package says can be changed all the same.
    """
    before = packed(manifests.config_map("a"), manifests.config_map("b"))
    k8s_cr.instantiate(cluster, unique, before, **life)
    changed = packed(
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
        "metadata": {"name": unique},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.metadata.name == 'b'"}],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": unique},
        "spec": {
            "policyName": unique,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": names},
        },
    }
    made = [cluster.create(obj, "tests") for obj in (policy, binding)]
    try:
        # The server takes a moment to heed a new policy.
        trial = manifests.config_map("trial", namespace)
        while not life["deadline"].passed:
            try:
                cluster.apply(trial, "tests", dry_run=True)
            except errors.Rejected:
                break
        all_of_it = k8s_cr.Options(resend=True)
        with pytest.raises(errors.Rejected, match="/a: "):
            k8s_cr.change(cluster, unique, changed, options=all_of_it, **life)

        report = k8s_cr.change(cluster, unique, changed, **life)

        assert {"a": Action.UNCHANGED, "b": Action.CONFIGURED} == actions(
            report
        )
    finally:
        for obj in made:
            cluster.delete(ObjectRef.of(obj), objects.uid(obj))


def test_what_cannot_be_changed_is_made_again_only_where_it_is_named(
    cluster, namespace, packed, life, unique
):
    """By an annotation or by the request (P10, E4); a rollback undoes it.

    What would not be possible as a new object either is left alone.
    """
    once = ref("Job", namespace, "once", "batch")
    k8s_cr.instantiate(
        cluster, unique, packed(job("once", "example.org/a:1")), **life
    )
    first = objects.uid(cluster.get(once))
    changed = packed(job("once", "example.org/a:2"), name="b")
    with pytest.raises(errors.Rejected, match="immutable"):
        k8s_cr.change(cluster, unique, changed, **life)
    wrong = packed(job("once", "", recreate="true"), name="c")
    with pytest.raises(errors.Rejected, match="image"):
        k8s_cr.change(cluster, unique, wrong, **life)
    assert first == objects.uid(cluster.get(once))

    named = k8s_cr.Options(recreate=frozenset({once}))
    forecast = lcm.forecast(cluster, unique, changed, options=named, **life)

    (row,) = forecast.rows
    assert Fate.RECREATE is row.fate
    assert "immutable" in row.why
    assert row.final
    report = k8s_cr.change(cluster, unique, changed, options=named, **life)
    assert {"once": Action.RECREATED} == actions(report)
    second = objects.uid(cluster.get(once))
    assert first != second

    k8s_cr.roll_back(cluster, unique, **life)

    live = cluster.get(once)
    pod = live["spec"]["template"]["spec"]
    assert "example.org/a:1" == pod["containers"][0]["image"]
    assert objects.uid(live) not in (first, second)

    said = packed(job("once", "example.org/a:2", recreate="true"), name="d")
    report = k8s_cr.change(cluster, unique, said, **life)
    assert {"once": Action.RECREATED} == actions(report)


def test_a_policy_may_be_made_of_the_one_before(
    cluster, namespace, packed, life, unique
):
    """Whoever knows only what changes of it reads no record (P19, E3)."""
    keep = policy.of({"prune": {"keep": ["ConfigMap"]}})
    k8s_cr.instantiate(
        cluster,
        unique,
        packed(manifests.config_map("a"), manifests.config_map("b")),
        policy=keep,
        **life,
    )
    seen = []

    def chosen(before):
        seen.append(before)
        return before

    report = k8s_cr.change(
        cluster,
        unique,
        packed(manifests.config_map("a"), name="b"),
        policy=chosen,
        **life,
    )

    assert [keep] == seen
    assert {"a": Action.UNCHANGED, "b": Action.KEPT} == actions(report)
    (kept,) = [r for r in report.rows if r.action is Action.KEPT]
    assert "not to be pruned" in kept.verdict.reason


def test_what_is_kept_in_a_definition_that_goes_is_foretold(
    cluster, namespace, packed, life, unique
):
    """A definition goes with its objects where that is asked for (E9)."""
    group = f"{unique}.example.org"
    definition = manifests.definition(group, "Thing")
    definition["metadata"]["annotations"] = {objects.PREFIX + "prune": "true"}
    k8s_cr.instantiate(
        cluster,
        unique,
        packed(
            definition,
            manifests.custom(group, "Thing", "one", STORED, size="s"),
        ),
        **life,
    )
    rest = packed(manifests.config_map("a"), name="b")

    forecast = lcm.forecast(cluster, unique, rest, **life)

    found = ref("CustomResourceDefinition", "", f"things.{group}", CRD)
    assert {found: ("all objects of its kind go with it",)} == forecast.final
    told = []
    k8s_cr.change(cluster, unique, rest, foresee=told.append, **life)
    assert [forecast.final] == [item.final for item in told]
    assert cluster.get(found) is None
