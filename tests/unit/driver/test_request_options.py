"""The options and the policy of a request."""

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import request_options
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.options import Options


def test_the_request_wins_over_the_configuration(options):
    """What a request leaves open is the option's."""
    settings = configuration.settings()
    adopted = frozenset({ObjectRef("", "ConfigMap", "edge", "a")})
    asked = additional_params.RequestParams(
        dry_run=False,
        field_conflicts="force",
        stall_timeout=5,
        adopt=adopted,
        delete_foreign_objects=True,
        on_failure="wait_all",
        machine_heal_strategy="remediate",
        resend=True,
    )

    assert Options(True, "fail", 300) == request_options.build_options(
        additional_params.RequestParams(), settings
    )
    assert Options(
        False,
        "force",
        5,
        adopted,
        7,
        True,
        on_failure="wait_all",
        machine_heal_strategy="remediate",
        resend=True,
    ) == request_options.build_options(asked, settings, 7)


def test_a_request_sets_how_an_instance_terminates(options):
    """What it leaves open is the option's or the manifest's."""
    said = {
        "on_terminate": {"keep": ["Secret"], "delete": ["Secret/edge/a"]},
        "cleanup": [],
        "remove_finalizers": ["ConfigMap/edge/a"],
    }
    asked = additional_params.read({"tacker_k8s_cr": said}, "terminate")

    found = request_options.build_options(asked, configuration.settings())

    one = ObjectRef("", "Secret", "edge", "a")
    assert {one.group_kind: True, one: False} == found.on_terminate
    assert frozenset() == found.cleanup
    assert {ObjectRef("", "ConfigMap", "edge", "a")} == found.remove_finalizers
    assert (
        None
        is request_options.build_options(
            additional_params.RequestParams(), configuration.settings()
        ).cleanup
    )
    options(cleanup=["services"], on_terminate_keep=["Secret"])
    settings = configuration.settings()
    assert {"services"} == request_options.build_options(
        additional_params.RequestParams(), settings
    ).cleanup
    assert {one.group_kind: True} == settings.policy().on_terminate
    asked = additional_params.RequestParams(on_terminate={one: False})
    found = request_options.build_options(asked, settings)
    assert {one: False} == found.on_terminate
    assert {one.group_kind: True} == found.on_terminate_default


def test_a_request_sets_the_handling_of_claims(options):
    """It is kept with an instance that it makes."""
    said = {"tacker_k8s_cr": {"statefulset_claims": "retain"}}
    asked = additional_params.read(said, "terminate")

    found = request_options.build_options(asked, configuration.settings())

    assert "retain" == found.statefulset_claims
    assert "delete" == found.statefulset_claims_else
    made = request_options.build_policy(
        additional_params.read(said), configuration.settings().policy()
    )
    assert "retain" == made.statefulset_claims
    assert made == request_options.build_policy(
        additional_params.RequestParams(), made
    )
    options(statefulset_claims="retain")
    found = request_options.build_options(
        additional_params.RequestParams(), configuration.settings()
    )
    assert "" == found.statefulset_claims
    assert "retain" == found.statefulset_claims_else


def test_machines_are_replaced_unless_configured_otherwise(options):
    """The option applies to all requests; a request overrides it."""
    assert (
        "allow"
        == request_options.build_options(
            additional_params.RequestParams(), configuration.settings()
        ).rollout
    )
    options(rollout="refuse")
    asked = additional_params.read(
        {
            "tacker_k8s_cr": {
                "rollout": "allow",
                "recreate": ["Job.batch/edge/migrate"],
            }
        },
        "change",
    )

    found = request_options.build_options(asked, configuration.settings())

    assert "allow" == found.rollout
    assert {ObjectRef("batch", "Job", "edge", "migrate")} == found.recreate
    closed = request_options.build_options(
        additional_params.RequestParams(), configuration.settings()
    )
    assert "refuse" == closed.rollout
    assert frozenset() == closed.recreate
