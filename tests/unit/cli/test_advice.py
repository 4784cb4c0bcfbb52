"""Errors name the option of the command that changes the outcome."""

from __future__ import annotations

import argparse

import pytest

from tacker_k8s_cr.cli import advice
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.package import vdu_mapping
from tacker_k8s_cr.package import yaml_text
from tacker_k8s_cr.plan import unknown_fields
from tests.fakes.cluster import FakeCluster
from tests.unit.cli.run_program import run
from tests.unit.package import csar_builder

WEB = ObjectRef("apps", "Deployment", "default", "web")
ALL = argparse.Namespace(
    namespace_mode="",
    adopt=(),
    field_conflicts="fail",
    delete_foreign_objects=False,
    rollout="refuse",
    autoscaler_limits="keep",
    field_validation="strict",
    expected_kinds=(),
    check_permissions=True,
    insecure=False,
    timeout=60.0,
    cleanup=(),
)


@pytest.mark.parametrize(
    ("error", "option"),
    [
        (errors.NamespaceNotFound({"a": ["x"]}), "--namespace-mode force"),
        (
            errors.OwnedByOther({WEB: "kubectl"}),
            "--adopt Deployment.apps/default/web;",
        ),
        (
            errors.FieldConflict(WEB, {".spec": ["kubectl"]}),
            "--field-conflicts force",
        ),
        (
            errors.ForeignObjects({WEB: "Namespace/a"}),
            "--delete-foreign-objects",
        ),
        (errors.RolloutRefused({WEB: "why"}), "--rollout allow"),
        (
            errors.AutoscalerConflict(
                WEB, "an autoscaler keeps it", is_adjustable=True
            ),
            "--autoscaler-limits adjust",
        ),
        (
            errors.Rejected(
                WEB, 500, "x", "y", fields=[(".a", unknown_fields.UNDECLARED)]
            ),
            "--field-validation warn",
        ),
        (
            errors.PackageInvalid(
                [
                    errors.Problem(
                        "a.yaml", yaml_text.duplicate_key_message("app")
                    )
                ]
            ),
            "--field-validation warn",
        ),
        (
            errors.PackageInvalid(
                [errors.Problem("a.yaml", f"{vdu_mapping.SELECT} a")]
            ),
            "--vdu-mapping VDU=KIND/NAME",
        ),
        (
            errors.KindNotServed(GroupKind("example.org", "Foo"), "v1"),
            "--expected-kinds Foo.example.org",
        ),
        (
            errors.PermissionsMissing("https://a:1", ["get pods"]),
            "--no-check-permissions",
        ),
        (
            errors.Unreachable(
                "https://a:1", "its certificate is not trusted: expired"
            ),
            "--insecure",
        ),
        (errors.ReadinessTimeout([], 9.0), "--timeout TIME"),
        (errors.DeletionTimeout([], 9.0), "--timeout TIME"),
        (errors.CleanupFailed(WEB, "why"), "--cleanup nothing"),
        (errors.RequestInvalid("why"), "--help"),
    ],
)
def test_an_error_names_the_option_that_changes_it(error, option):
    """Only where the command has it."""
    assert option in advice.advice(error, ALL)
    assert "" == advice.advice(error, argparse.Namespace())


@pytest.mark.parametrize(
    "error",
    [
        errors.NotScalable(WEB, "its kind has none"),
        errors.AutoscalerConflict(
            WEB, "its replicas are managed by Cluster/a"
        ),
        errors.PackageInvalid([errors.Problem("a.yaml", "missing kind")]),
        errors.Rejected(WEB, 422, "Invalid", "no"),
        errors.Unreachable("https://a:1", "Connection refused"),
        errors.KindNotServed(GroupKind("apps", "Foo"), "v1", ["v2"]),
    ],
)
def test_no_option_is_named_where_none_helps(error):
    """The error stands alone."""
    assert "" == advice.advice(error, ALL)


def test_an_absent_namespace_of_the_instance_is_not_moved_to():
    """The option would create all objects in that very namespace."""
    error = errors.NamespaceNotFound({"a": ["x"]}, place="a")

    assert "" == advice.advice(error, ALL)


def test_the_option_follows_the_error(tmp_path):
    """Each on a line of its own."""
    path = tmp_path / "a.yaml"
    path.write_text(csar_builder.manifest("a") + "kind: ConfigMap\n")

    code, _, err = run(
        "instantiate", "a", str(path), connect=lambda *a, **k: FakeCluster()
    )

    assert 2 == code
    assert err.endswith("--field-validation warn\n")
