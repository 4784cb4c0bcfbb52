"""The JSON of every command is valid by its schema, and nothing is extra."""

from __future__ import annotations

from collections.abc import Iterator
import configparser
import json
import pathlib
import subprocess
import sys
from typing import Any

import jsonschema
import pytest

from tacker_k8s_cr.cli import exit_codes
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tests import output_schemas
from tests.fakes.cluster import FakeCluster
from tests.unit.cli.run_program import run
from tests.unit.package import csar_builder
from tools import schemas as made

ROOT = pathlib.Path(__file__).resolve().parents[3]


def commands() -> list[str]:
    setup = configparser.ConfigParser(delimiters=["="])
    setup.read(ROOT / "setup.cfg")
    lines = setup["entry_points"]["tacker_k8s_cr.cli"].split("\n")
    return sorted(line.partition("=")[0].strip() for line in lines if line)


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of a schema that describes an object."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_every_command_has_a_schema():
    """One file for each, and for no other."""
    assert commands() == sorted(output_schemas.COMMANDS)


@pytest.mark.parametrize("name", output_schemas.COMMANDS)
def test_a_schema_agrees_with_the_code(name):
    """Written by ``make schemas``, from the words that the code has."""
    expected = made.written(made.schemas()[name])

    assert expected == (made.FOLDER / f"{name}.json").read_text("utf-8")


@pytest.mark.parametrize("name", output_schemas.COMMANDS)
def test_a_schema_names_every_property(name):
    """A property that is not documented is an error."""
    found = list(objects(output_schemas.load_validator(name).schema))

    assert found
    for schema in found:
        assert schema["additionalProperties"] is False
        assert list(schema["properties"]) == schema["required"]


@pytest.fixture
def operation_args():
    """Runs commands on one instance, and holds their JSON against schemas."""
    cluster = FakeCluster()

    def _run(*argv, code=0, stdin=""):
        found, out, err = run(
            *argv,
            *("-f", "json"),
            connect=lambda *args, **how: cluster,
            stdin=stdin.encode(),
        )
        assert code == found, err
        output_schemas.check_output([*argv, "json"], out)
        return json.loads(out)

    return _run


@pytest.mark.requirement("M3")
def test_the_reports_of_a_life(operation_args):
    """Each command's report has exactly the properties of its schema."""
    one, two = csar_builder.manifest("one"), csar_builder.manifest("two")
    both = f"{one}---\n{two}"

    assert (
        "instantiate"
        == operation_args("instantiate", "a", "-", stdin=one)["operation"]
    )
    shown = operation_args("status", "a")
    assert all("seconds" not in row for row in shown["objects"])
    assert operation_args("forecast", "a", "-", stdin=both)["objects"]
    assert ["unchanged", "created"] == [
        row["action"]
        for row in operation_args("change", "a", "-", stdin=both)["objects"]
    ]
    assert [] == operation_args("drift", "a")["objects"]
    assert "heal" == operation_args("heal", "a", "--all")["operation"]
    assert "rollback" == operation_args("rollback", "a")["operation"]
    assert "terminate" == operation_args("terminate", "a")["operation"]


@pytest.mark.parametrize(
    "argv",
    [
        ("instantiate", "a", "/nowhere"),
        ("change", "a", "/nowhere"),
        ("forecast", "a", "/nowhere"),
        ("scale", "a", "Deployment/web", "--replicas", "2"),
        ("heal", "a", "--all"),
        ("rollback", "a"),
        ("status", "a"),
        ("drift", "a"),
        ("terminate", "a"),
    ],
)
def test_the_error_of_every_command(operation_args, argv):
    """It takes the place of the report."""
    assert 2 == operation_args(*argv, code=2)["exit"]


def test_the_faults_of_a_package_are_in_its_error(operation_args):
    """With their places and objects; the message names a few."""
    text = "---\n".join("kind: A\n" for _ in range(9))

    found = operation_args("instantiate", "a", "-", code=2, stdin=text)

    assert 9 == len(found["details"])
    assert {
        "where": "standard input, document 9",
        "object": None,
        "what": "missing apiVersion, metadata.name",
    } == found["details"][8]
    reason, written, step = found["message"].splitlines()
    assert reason.endswith("document 3; and 6 more)")
    assert "No object was written or deleted." == written
    assert step.startswith("Correct the package")


def test_the_error_of_a_refusal_names_its_object():
    """As a value, beside the document."""
    ref = ObjectRef("", "ConfigMap", "ns", "a")
    error = errors.Rejected(ref, 422, "Invalid", "no")
    error.places = {ref: "a.yaml"}
    value = json.loads(json.dumps(exit_codes.of_error(error).as_dict()))

    output_schemas.load_validator("instantiate").validate(value)
    (detail,) = value["details"]
    assert ("a.yaml", "ConfigMap") == (
        detail["where"],
        detail["object"]["kind"],
    )


def test_an_unknown_property_is_detected():
    """A new property has to be documented."""
    value = dict(exit_codes.of_error(errors.RequestInvalid("no")).as_dict())
    output_schemas.load_validator("status").validate(value)

    with pytest.raises(jsonschema.ValidationError):
        output_schemas.load_validator("status").validate({**value, "more": 1})


def test_the_output_of_check():
    """A list of findings.

    In a process of its own: Tacker's modules replace the sockets of theirs.
    """
    program = [sys.executable, "-m", "tacker_k8s_cr.cli.shell"]
    ended = subprocess.run(
        [*program, "check", "--no-database", "-f", "json"],
        capture_output=True,
        text=True,
        check=False,
    )

    output_schemas.check_output(["check", "json"], ended.stdout)
    assert json.loads(ended.stdout)
