"""What both of Tacker's APIs ask of the core."""

from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options


def test_the_request_wins_over_the_configuration(options):
    """What a request leaves open is the option's."""
    settings = conf.settings()
    adopted = frozenset({ObjectRef("", "ConfigMap", "edge", "a")})
    asked = request.Asked(
        dry_run=False,
        conflict="take",
        blocked_after=5,
        adopt=adopted,
        lose_others=True,
        on_failed="settle",
        heal_machines="remediate",
        resend=True,
    )

    assert Options(True, "fail", 300) == operations.options(
        request.Asked(), settings
    )
    assert Options(
        False,
        "take",
        5,
        adopted,
        7,
        True,
        on_failed="settle",
        heal_machines="remediate",
        resend=True,
    ) == operations.options(asked, settings, 7)


def test_where_the_record_of_a_new_instance_lies(options):
    """As the request, else the configuration says, else with the objects."""
    asked = request.read({"namespace": "edge"})
    said = request.read({"tacker_k8s_cr": {"record_namespace": "here"}})
    assert "edge" == instances.home(asked)

    options(record_namespace="records")

    assert "records" == instances.home(asked)
    assert "here" == instances.home(said)


def test_a_request_says_how_an_instance_ends(options):
    """What it leaves open is the option's or the manifest's (F4, P18)."""
    said = {
        "on_terminate": {"keep": ["Secret"], "delete": ["Secret/edge/a"]},
        "clear": [],
        "remove_finalizers": ["ConfigMap/edge/a"],
    }
    asked = request.read({"tacker_k8s_cr": said}, "terminate")

    found = operations.options(asked, conf.settings())

    one = ObjectRef("", "Secret", "edge", "a")
    assert {one.group_kind: True, one: False} == found.on_terminate
    assert frozenset() == found.clear
    assert {ObjectRef("", "ConfigMap", "edge", "a")} == found.remove_finalizers
    assert None is operations.options(request.Asked(), conf.settings()).clear
    options(clear_load_balancers=True, on_terminate_keep=["Secret"])
    settings = conf.settings()
    assert {"load-balancers"} == operations.options(
        request.Asked(), settings
    ).clear
    assert {one.group_kind: True} == settings.policy().on_terminate
    asked = request.Asked(on_terminate={one: False})
    found = operations.options(asked, settings)
    assert {one: False} == found.on_terminate
    assert {one.group_kind: True} == found.on_terminate_else


def test_a_request_says_what_becomes_of_claims(options):
    """It is kept with an instance that it makes (F4)."""
    said = {"tacker_k8s_cr": {"statefulset_claims": "retain"}}
    asked = request.read(said, "terminate")

    found = operations.options(asked, conf.settings())

    assert "retain" == found.statefulset_claims
    assert "delete" == found.statefulset_claims_else
    made = request.policy(request.read(said), conf.settings().policy())
    assert "retain" == made.statefulset_claims
    assert made == request.policy(request.Asked(), made)
    options(statefulset_claims="retain")
    found = operations.options(request.Asked(), conf.settings())
    assert "" == found.statefulset_claims
    assert "retain" == found.statefulset_claims_else


def test_an_instance_does_not_show_the_access_to_its_cluster():
    """It is printed in a traceback, or by who looks for a mistake."""
    target = instances.Target("i", "edge", {"bearer_token": "planted-0815"})

    assert "planted" not in repr(target)


def test_machines_are_replaced_unless_somebody_says_else(options):
    """The option says it for all requests, and one of them else (P9)."""
    assert (
        "allow" == operations.options(request.Asked(), conf.settings()).rollout
    )
    options(rollout="refuse")
    asked = request.read(
        {
            "tacker_k8s_cr": {
                "rollout": "allow",
                "recreate": ["Job.batch/edge/migrate"],
            }
        },
        "change",
    )

    found = operations.options(asked, conf.settings())

    assert "allow" == found.rollout
    assert {ObjectRef("batch", "Job", "edge", "migrate")} == found.recreate
    closed = operations.options(request.Asked(), conf.settings())
    assert "refuse" == closed.rollout
    assert frozenset() == closed.recreate
