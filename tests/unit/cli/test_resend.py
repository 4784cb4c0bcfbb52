"""Commands that send only what differs, and how they send all."""

from __future__ import annotations

import json

import pytest

from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.cli import run_program


@pytest.fixture
def cluster(clock):
    return FakeCluster(idle=clock.idle)


@pytest.fixture
def run(cluster, tmp_path):
    """Names of what a command has applied, and its report."""
    paths = {}
    for name, data in (("old", "1"), ("new", "2")):
        paths[name] = tmp_path / f"{name}.yaml"
        objs = (
            manifests.config_map("changes", key=data),
            manifests.config_map("stays"),
        )
        paths[name].write_text("\n---\n".join(map(json.dumps, objs)))

    def ran(command, *arguments):
        cluster.sent.clear()
        code, out, err = run_program.run(
            command,
            "one",
            *(str(paths.get(argument, argument)) for argument in arguments),
            "-f",
            "json",
            connect=lambda *_, **__: cluster,
        )
        assert not code, err
        sent = [about.name for verb, about in cluster.sent if verb == "patch"]
        return sorted(set(sent)), json.loads(out)

    ran("instantiate", "old")
    return ran


def test_what_does_not_differ_is_not_sent(run):
    """By a change, its forecast, a heal of all and a rollback."""
    assert ["changes"] == run("forecast", "new")[0]
    sent, report = run("change", "new")
    assert ["changes"] == sent
    assert {"changes": "configured", "stays": "unchanged"} == {
        row["name"]: row["action"] for row in report["objects"]
    }
    assert [] == run("heal", "--all")[0]
    assert ["changes"] == run("rollback")[0]


def test_all_is_sent_where_that_is_asked_for(run):
    """By each of them."""
    both = ["changes", "stays"]

    assert both == run("forecast", "new", "--resend")[0]
    assert both == run("change", "new", "--resend")[0]
    assert both == run("heal", "--all", "--resend")[0]
    assert both == run("rollback", "--resend")[0]
