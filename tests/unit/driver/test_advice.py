"""What an error of the driver advises on top of its cause."""

import itertools

import pytest

from tacker_k8s_cr.driver import advice
from tacker_k8s_cr.driver import error_text
from tacker_k8s_cr.driver import options
from tacker_k8s_cr.driver import schema
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.package import yaml_text

UNTRUSTED = "its certificate is not trusted: self-signed certificate"
FOO = GroupKind("example.org", "Foo")
WEB = ObjectRef("apps", "Deployment", "edge", "web")


def unsettled(kind, group, reason, state=State.IN_PROGRESS):
    ref = ObjectRef(group, kind, "edge", "a")
    return errors.PendingObject(ref, Verdict(state, reason), 9.0)


SCALER = unsettled(
    "HorizontalPodAutoscaler",
    "autoscaling",
    "AbleToScale is False: FailedGetScale",
    State.BLOCKED,
)
BALANCED = unsettled(
    "Service", "", "no load balancer has given it an address yet"
)
WORKLOAD = unsettled("Deployment", "apps", "0/2")

UNKNOWN = (".spec.foo", "field not declared in schema")

SAID = [
    (errors.Unreachable("https://a:1", UNTRUSTED), "insecure = true"),
    (errors.Unreachable("https://a:1", UNTRUSTED), "ssl_ca_cert"),
    (
        errors.TokenRequestFailed("https://a:1", f"no: {UNTRUSTED}"),
        "oidc_ca_file",
    ),
    (errors.NamespaceNotFound({"a": ["x"]}), "namespace_mode = force"),
    (errors.KindNotServed(FOO, "v1"), "tacker_k8s_cr.expected_kinds"),
    (errors.KindNotServed(FOO, "v1", ["v2"]), "lcm-kubernetes-def-files"),
    (errors.KindNotServed(FOO, "v1"), "lcm-kubernetes-def-files"),
    (errors.OwnedByOther({WEB: "another"}), "tacker_k8s_cr.adopt"),
    (
        errors.FieldConflict(WEB, {"a": "b"}),
        "field_conflicts = force or ignore",
    ),
    (
        errors.PermissionsMissing("https://a:1", ["x"]),
        "check_permissions = false",
    ),
    (errors.RolloutRefused({WEB: "x"}), "rollout = allow"),
    (errors.ForeignObjects({WEB: "x"}), "delete_foreign_objects = true"),
    (
        errors.AutoscalerConflict(
            WEB, "an autoscaler keeps it", is_adjustable=True
        ),
        "autoscaler_limits = adjust",
    ),
    (
        errors.Rejected(
            WEB, 500, "x", "y", schema_mismatch=True, fields=[UNKNOWN]
        ),
        "field_validation = warn",
    ),
    (
        errors.DryRunFailed(
            [
                errors.Unreachable("https://a:1", "no answer"),
                errors.Rejected(WEB, 500, "x", "y", fields=[UNKNOWN]),
            ]
        ),
        "field_validation = warn",
    ),
    (
        errors.PackageInvalid(
            [errors.Problem("a.yaml", yaml_text.duplicate_key_message("app"))]
        ),
        "field_validation = warn",
    ),
    (
        errors.ObjectsFailed([SCALER], 9.0),
        "readiness_exists = HorizontalPodAutoscaler.autoscaling",
    ),
    (
        errors.ReadinessTimeout([WORKLOAD, SCALER], 9.0),
        'readiness = [{"of": "HorizontalPodAutoscaler.autoscaling", '
        '"readiness": "exists"}]',
    ),
    (errors.ReadinessTimeout([BALANCED], 9.0), "readiness_exists = Service"),
    (errors.ReadinessTimeout([WORKLOAD], 9.0), "tacker_k8s_cr.timeout"),
    (errors.DeletionTimeout([SCALER], 9.0), "tacker_k8s_cr.timeout"),
    (errors.CleanupFailed(WEB, "no"), "tacker_k8s_cr.cleanup = []"),
    (errors.RequestInvalid("why"), "the parameter of the request"),
]


@pytest.mark.parametrize(("error", "said"), SAID)
def test_an_error_names_the_option_that_changes_it(error, said):
    """It follows the error itself, whatever the error's length."""
    assert said in advice.advice(error)
    assert f"{error}\n{advice.advice(error)}" == error_text.format_error(error)


@pytest.mark.parametrize(
    "error",
    [
        errors.Unreachable("https://a:1", "no answer"),
        errors.TokenRequestFailed("https://a:1", "it answers 401"),
        errors.NotScalable(WEB, "its kind has none"),
        errors.AutoscalerConflict(
            WEB, "its replicas are managed by Cluster/a"
        ),
        errors.PackageInvalid([errors.Problem("a.yaml", "missing kind")]),
        errors.Rejected(WEB, 422, "Invalid", "no"),
        errors.Rejected(
            WEB, 500, "x", "y", fields=[(".a", "expected string")]
        ),
    ],
)
def test_no_option_is_named_where_none_helps(error):
    """The error itself has the next step."""
    assert "" == advice.advice(error)
    assert str(error) == error_text.format_error(error)


@pytest.mark.parametrize(
    "error",
    [
        errors.ReadinessTimeout([WORKLOAD], 9.0),
        errors.ReadinessTimeout(
            [unsettled("Service", "", "no clusterIP")], 9.0
        ),
    ],
)
def test_a_workload_is_not_counted_as_ready_when_it_exists(error):
    """That would report success too early."""
    assert "readiness" not in advice.advice(error)


def test_an_absent_namespace_of_the_instance_is_not_moved_to():
    """The option would create all objects in that very namespace."""
    error = errors.NamespaceNotFound({"a": ["x"]}, place="a")
    said = advice.advice(error)

    assert "Create the namespace" in error_text.format_error(error)
    assert "" == said


def test_a_long_error_keeps_what_to_do():
    """Only the error is cut; the advice is its last line."""
    error = errors.NamespaceNotFound({"a": ["x" * 9000]})

    told = error_text.format_error(error)

    assert "the rest is in the conductor's log" in told
    assert told.endswith(advice.advice(error))


def test_all_that_is_named_exists():
    """An option or parameter that is renamed is renamed here too."""
    known = {option.name for option in options.OPTIONS}
    known |= schema.load()["properties"]["tacker_k8s_cr"]["properties"].keys()
    words = " ".join(advice.advice(error) for error, _ in SAID).split()
    named = {
        word.removeprefix("additionalParams.tacker_k8s_cr.").strip(".,:")
        for before, word in itertools.pairwise(words)
        if before == "[tacker_k8s_cr]"
        or word.startswith("additionalParams.tacker_k8s_cr.")
    }

    assert {"insecure", "readiness", "expected_kinds"} <= named
    assert set() == named - known
