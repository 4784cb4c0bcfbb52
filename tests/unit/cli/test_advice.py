"""Errors name the option of the command that changes the outcome."""

from __future__ import annotations

import argparse

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr.cli import advice
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package import targets
from tacker_k8s_cr.package import yaml_text
from tacker_k8s_cr.planning import misfits
from tests.fakes.cluster import FakeCluster
from tests.unit.cli.program import run
from tests.unit.package import csars

WEB = ObjectRef("apps", "Deployment", "default", "web")
ALL = argparse.Namespace(
    namespaces="",
    adopt=(),
    conflict="fail",
    lose_others=False,
    rollout="refuse",
    autoscaled="refuse",
    field_validation="strict",
)


@pytest.mark.parametrize(
    ("error", "option"),
    [
        (errors.NamespaceAbsent({"a": ["x"]}), "--namespaces override"),
        (
            errors.Owned({WEB: "kubectl"}),
            "--adopt Deployment.apps/default/web;",
        ),
        (errors.Conflict(WEB, {".spec": ["kubectl"]}), "--conflict take"),
        (errors.WouldBeLost({WEB: "Namespace/a"}), "--lose-others"),
        (errors.WouldReplace({WEB: "why"}), "--rollout allow"),
        (
            errors.NotScalable(WEB, "an autoscaler keeps it", movable=True),
            "--autoscaled move",
        ),
        (
            errors.Rejected(
                WEB, 500, "x", "y", fields=[(".a", misfits.UNDECLARED)]
            ),
            "--field-validation warn",
        ),
        (
            errors.PackageInvalid(
                [errors.Problem("a.yaml", yaml_text.again("app"))]
            ),
            "--field-validation warn",
        ),
        (
            errors.PackageInvalid(
                [errors.Problem("a.yaml", f"{targets.SELECT} a")]
            ),
            "--vdu VDU=KIND/OBJECT",
        ),
    ],
)
def test_an_error_names_the_option_that_changes_it(error, option):
    """Only where the command has it."""
    assert option in advice.advice(error, ALL)
    assert "" == advice.advice(error, argparse.Namespace())


@pytest.mark.parametrize(
    "error",
    [
        errors.RequestInvalid("why"),
        errors.NotScalable(WEB, "its kind has none"),
        errors.NotScalable(WEB, "its number is kept by Cluster/a"),
        errors.PackageInvalid([errors.Problem("a.yaml", "lacks kind")]),
        errors.Rejected(WEB, 422, "Invalid", "no"),
    ],
)
def test_no_option_is_named_where_none_helps(error):
    """The error stands alone."""
    assert "" == advice.advice(error, ALL)


def test_an_absent_namespace_of_the_instance_is_not_moved_to():
    """The option would create all objects in that very namespace."""
    error = errors.NamespaceAbsent({"a": ["x"]}, place="a")

    assert "" == advice.advice(error, ALL)


def test_the_option_follows_the_error(tmp_path):
    """Each on a line of its own."""
    path = tmp_path / "a.yaml"
    path.write_text(csars.manifest("a") + "kind: ConfigMap\n")

    code, _, err = run(
        "instantiate", "a", str(path), connect=lambda *a, **k: FakeCluster()
    )

    assert 2 == code
    assert err.endswith("--field-validation warn\n")
