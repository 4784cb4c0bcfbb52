"""Heal, roll back and say a policy, by the program."""

from __future__ import annotations

import json

import pytest

from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
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
    """UIDs of the pods without a deletionTimestamp, by name."""

    def found():
        return {
            obj["metadata"]["name"]: objects.uid(obj)
            for obj in cluster.list_metadata(GroupKind("", "Pod"), namespace)
            if not objects.field(obj, ("metadata", "deletionTimestamp"))
        }

    return found


@pytest.mark.requirement("G3")
def test_members_are_healed_by_name(run, files, unique_name, pods):
    """One, then all; to name one that is healed is to see it healed."""
    run("instantiate", unique_name, files(manifests.deployment("web", 2)))
    before = pods()
    name = sorted(before)[0]

    one = run("heal", unique_name, f"Pod/{name}", "-f", "json")
    after = pods()
    again = run("heal", unique_name, f"pods/{name}", "-f", "json")

    assert (0, 0) == (one.code, again.code)
    assert "healed" in {row["action"] for row in one.value["objects"]}
    assert 2 == len(after)
    assert name not in after
    assert after == pods()

    whole = run("heal", unique_name, "--all")

    assert 0 == whole.code, whole.err
    assert set() == set(after.values()) & set(pods().values())


def test_invalid_arguments_of_heal_are_refused(run, files, unique_name, pods):
    """Nothing is done for an incomplete or a contradictory request."""
    run("instantiate", unique_name, files(manifests.deployment("web")))
    before = pods()
    name = next(iter(before))

    for argv in ([], [f"Pod/{name}", "--all"]):
        refused = run("heal", unique_name, *argv)
        assert 2 == refused.code
        assert "either members or --all" in refused.err
    stranger = run("heal", unique_name, "Pod/stranger")
    assert 2 == stranger.code
    assert name in stranger.err
    assert before == pods()


def test_a_change_that_failed_is_rolled_back(run, files, unique_name):
    """An instance without an unfinished operation is not changed."""
    first = files(manifests.config_map("a", key="old"))
    second = files(
        manifests.config_map("a", key="new"),
        judged("b", "Broken"),
        name="second",
    )
    run("instantiate", unique_name, first)
    assert 3 == run("change", unique_name, second).code

    back = run("rollback", unique_name, "-f", "json")
    again = run("rollback", unique_name, "-f", "json")

    assert (0, 0) == (back.code, again.code)
    assert {"a": "configured", "b": "deleted"} == {
        row["name"]: row["action"] for row in back.value["objects"]
    }
    assert [] == again.value["objects"]
    assert "instantiated" == again.value["phase"]


def test_a_blocked_heal_ends_after_the_stall_timeout(
    started, files, unique_name, cluster, namespace
):
    """In place of five minutes."""
    group = f"{unique_name}.example.org"
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

    process = started(
        "instantiate", unique_name, package, "--stall-timeout", "1s"
    )
    with cluster.watch([Watch(kind, namespace, "")]) as watching:
        there = False
        while not there:
            assert process.poll() is None
            there = any(
                isinstance(item, WatchEvent) or item.objs
                for item in watching.next_events(60)
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
    run, files, unique_name, namespace, tmp_path
):
    """And is kept for all that comes; a bad one is refused by its place."""
    group = f"{unique_name}.example.org"
    package = files(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one"),
        manifests.config_map("c", "elsewhere"),
    )
    told = tmp_path / "policy.yaml"
    told.write_text(f"readiness:\n- of: Thing.{group}\n  readiness: exists\n")
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"readiness": [{"of": "Thing", "when": 1}]}))

    refused = run("instantiate", unique_name, package, "--policy", bad)
    done = run(
        "instantiate",
        unique_name,
        package,
        "--policy",
        told,
        "--namespace-mode",
        "force",
        "-f",
        "json",
    )

    assert 2 == refused.code
    assert f"{bad}: readiness[0]: unknown: when" in refused.err
    assert 0 == done.code, done.err
    assert {namespace, ""} == {
        row["namespace"] for row in done.value["objects"]
    }
    shown = run("status", unique_name, "-f", "json")
    assert {"current"} == {row["state"] for row in shown.value["objects"]}


def test_an_object_is_adopted_by_name(
    run, files, unique_name, cluster, namespace
):
    """A foreign one is not changed without a request."""
    theirs = manifests.config_map("theirs", namespace)
    cluster.create(theirs, "other-manager")
    package = files(manifests.config_map("theirs", key="ours"))

    assert 2 == run("instantiate", unique_name, package).code
    done = run(
        "instantiate",
        unique_name,
        package,
        "--adopt",
        "ConfigMap/theirs",
        "--field-conflicts",
        "force",
    )

    assert 0 == done.code, done.err
