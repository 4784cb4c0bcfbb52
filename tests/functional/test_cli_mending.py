"""Heal, roll back and say a policy, by the program."""

from __future__ import annotations

import json

import pytest

from tacker_k8s_cr import objects
from tacker_k8s_cr.cluster.protocol import Changed
from tacker_k8s_cr.cluster.protocol import Watch
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tests.functional import manifests
from tests.functional import test_cli
from tests.functional.test_cli import judged

pytestmark = pytest.mark.plane

environ = test_cli.environ
files = test_cli.files
run = test_cli.run
started = test_cli.started


@pytest.fixture
def pods(cluster, namespace):
    """UIDs of the pods that are not asked to go, by name."""

    def found():
        return {
            obj["metadata"]["name"]: objects.uid(obj)
            for obj in cluster.list_metadata(GroupKind("", "Pod"), namespace)
            if not objects.field(obj, ("metadata", "deletionTimestamp"))
        }

    return found


def test_members_are_healed_by_name(run, files, unique, pods):
    """One, then all; to name one that is healed is to see it healed (G3)."""
    run("instantiate", unique, files(manifests.deployment("web", 2)))
    before = pods()
    name = sorted(before)[0]

    one = run("heal", unique, f"Pod/{name}", "-f", "json")
    after = pods()
    again = run("heal", unique, f"pods/{name}", "-f", "json")

    assert (0, 0) == (one.code, again.code)
    assert "healed" in {row["action"] for row in one.value["objects"]}
    assert 2 == len(after)
    assert name not in after
    assert after == pods()

    whole = run("heal", unique, "--all")

    assert 0 == whole.code, whole.err
    assert set() == set(after.values()) & set(pods().values())


def test_heal_says_what_it_takes(run, files, unique, pods):
    """Nothing is done for a request that says too little or too much."""
    run("instantiate", unique, files(manifests.deployment("web")))
    before = pods()
    name = next(iter(before))

    for argv in ([], [f"Pod/{name}", "--all"]):
        refused = run("heal", unique, *argv)
        assert 2 == refused.code
        assert "either members or --all" in refused.err
    stranger = run("heal", unique, "Pod/stranger")
    assert 2 == stranger.code
    assert name in stranger.err
    assert before == pods()


def test_a_change_that_failed_is_rolled_back(run, files, unique):
    """And what is at rest with nothing to take back stays as it is (P22)."""
    first = files(manifests.config_map("a", key="old"))
    second = files(
        manifests.config_map("a", key="new"),
        judged("b", "Broken"),
        name="second",
    )
    run("instantiate", unique, first)
    assert 3 == run("change", unique, second).code

    back = run("rollback", unique, "-f", "json")
    again = run("rollback", unique, "-f", "json")

    assert (0, 0) == (back.code, again.code)
    assert {"a": "configured", "b": "deleted"} == {
        row["name"]: row["action"] for row in back.value["objects"]
    }
    assert [] == again.value["objects"]
    assert "instantiated" == again.value["phase"]


def test_what_is_blocked_ends_when_it_is_said(
    started, files, unique, cluster, namespace
):
    """In place of five minutes (P11)."""
    group = f"{unique}.example.org"
    kind = GroupKind(group, "Thing")
    package = files(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one"),
    )
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "QuotaExceeded",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "message": "no more",
    }

    process = started("instantiate", unique, package, "--blocked-after", "1s")
    with cluster.watching([Watch(kind, namespace, "")]) as watching:
        there = False
        while not there:
            assert process.poll() is None
            there = any(
                isinstance(item, Changed) or item.objs
                for item in watching.take(60)
            )
    cluster.patch(
        ObjectRef(group, "Thing", namespace, "one"),
        {"status": {"conditions": [condition]}},
        "controller",
        subresource="status",
    )

    _, said = process.communicate(timeout=60)
    assert 3 == process.returncode
    assert "QuotaExceeded" in said


def test_a_policy_comes_from_arguments_and_a_file(
    run, files, unique, namespace, tmp_path
):
    """And is kept for all that comes; a bad one is refused by its place."""
    group = f"{unique}.example.org"
    package = files(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one"),
        manifests.config_map("c", "elsewhere"),
    )
    told = tmp_path / "policy.yaml"
    told.write_text(f"readiness:\n- of: Thing.{group}\n  readiness: created\n")
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"readiness": [{"of": "Thing", "when": 1}]}))

    refused = run("instantiate", unique, package, "--policy", bad)
    done = run(
        "instantiate",
        unique,
        package,
        "--policy",
        told,
        "--namespaces",
        "override",
        "-f",
        "json",
    )

    assert 2 == refused.code
    assert f"{bad}: readiness[0]: unknown: when" in refused.err
    assert 0 == done.code, done.err
    assert {namespace, ""} == {
        row["namespace"] for row in done.value["objects"]
    }
    shown = run("status", unique, "-f", "json")
    assert {"current"} == {row["state"] for row in shown.value["objects"]}


def test_an_object_is_adopted_by_name(run, files, unique, cluster, namespace):
    """Where it is somebody else's it is not touched unasked (P20)."""
    theirs = manifests.config_map("theirs", namespace)
    cluster.create(theirs, "somebody")
    package = files(manifests.config_map("theirs", key="ours"))

    assert 2 == run("instantiate", unique, package).code
    done = run(
        "instantiate",
        unique,
        package,
        "--adopt",
        "ConfigMap/theirs",
        "--conflict",
        "take",
    )

    assert 0 == done.code, done.err
