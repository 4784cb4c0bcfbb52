"""A forecast by the program, on a real API server."""

from __future__ import annotations

import pytest

from tests.functional import manifests
from tests.functional import test_cli

pytestmark = pytest.mark.plane

environ = test_cli.environ
run = test_cli.run
files = test_cli.files


@pytest.mark.requirement("P9", "E1")
def test_a_forecast_from_a_shell(run, files, unique_name):
    """As a value and as a table; a forecast marks what is irreversible.

    The change that follows does what was forecast.
    """
    group = f"{unique_name}.example.org"
    definition = manifests.definition(group, "Thing")
    definition["metadata"]["annotations"] = {
        "k8s-cr.tacker.openstack.org/prune": "true"
    }
    first = files(
        definition,
        manifests.config_map("same"),
        manifests.config_map("a", key="old"),
    )
    second = files(
        manifests.config_map("same"),
        manifests.config_map("a", key="new"),
        manifests.config_map("b"),
        name="second",
    )
    assert 0 == run("instantiate", unique_name, first).code

    value = run("forecast", unique_name, second, "-f", "json")
    table = run(
        "forecast",
        unique_name,
        second,
        *("-f", "value", "-c", "Name", "-c", "Forecast", "-c", "Details"),
    )
    changed = run("change", unique_name, second, "-f", "json")

    assert 0 == value.code, value.err
    assert "forecast" == value.value["operation"]
    found = {obj["name"]: obj for obj in value.value["objects"]}
    assert {
        "same": "unchanged",
        "a": "update",
        "b": "create",
        f"things.{group}": "prune",
    } == {name: obj["forecast"] for name, obj in found.items()}
    assert [{"path": "data.key", "before": "old", "after": "new"}] == (
        found["a"]["differences"]
    )
    lost = "all objects of its kind are deleted with it"
    assert [lost] == found[f"things.{group}"]["irreversible"]
    assert "a update data.key: old -> new" in table.out
    assert "unchanged 1, update 1, create 1, prune 1" in table.err
    assert f"things.{group}: cannot be undone: {lost}" in changed.err
    assert {
        "same": "unchanged",
        "a": "configured",
        "b": "created",
        f"things.{group}": "deleted",
    } == {obj["name"]: obj["action"] for obj in changed.value["objects"]}
    assert 0 == run("terminate", unique_name).code


def test_a_forecast_for_an_unknown_instance_is_refused(
    run, files, unique_name
):
    """With the words and the exit code of the change."""
    done = run(
        "forecast", unique_name, files(manifests.config_map("a")), "-f", "json"
    )

    assert (2, "InstanceNotFound") == (done.code, done.value["type"])
