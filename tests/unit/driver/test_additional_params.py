"""What a request's additionalParams may say."""

import json

import hypothesis
from hypothesis import strategies
import jsonschema
import pytest

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import request_options
from tacker_k8s_cr.driver import schema
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kinds.policy import Readiness
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.selectors import ExpectedKind

PLANTED = "planted-secret-0815"
OPERATIONS = ("instantiate", "change", "scale", "heal", "terminate")
OURS = "additionalParams.tacker_k8s_cr"

EVERYTHING = {
    "lcm-kubernetes-def-files": ["Files/a.yaml", "Files/b.yaml"],
    "namespace": "edge",
    "vdu_mapping": {"VDU1": {"kind": "Deployment", "name": "web"}},
    "tacker_k8s_cr": {
        "namespace_mode": "force",
        "readiness": [
            {"of": "Router.example.org", "ready_when": "status.phase=Up"},
            {"of": "Pod/edge/probe", "readiness": "exists"},
        ],
        "prune": {
            "allow": ["PersistentVolumeClaim"],
            "protect": ["Deployment.apps/edge/web"],
        },
        "expected_kinds": ["Router.example.org", "Zone.example.org:Cluster"],
        "timeout": 60,
        "stall_timeout": 30.5,
        "on_failure": "wait_all",
        "dry_run": False,
        "resend": True,
        "field_conflicts": "force",
        "field_validation": "warn",
        "adopt": ["ConfigMap/edge/settings", "Namespace/edge"],
        "transfer_from": {"core": ["ConfigMap/edge/mine"]},
        "record_namespace": "records",
        "webhook": {
            "url": "https://hooks.example/in?box=1",
            "api_check": "try",
            "credential": "scoped",
            "role": "system:admin",
            "expires_after": 3600,
        },
    },
}


def refused(params, operation="instantiate", **more):
    with pytest.raises(errors.RequestInvalid) as caught:
        additional_params.read(params, operation, **more)
    assert PLANTED not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "params",
    [None, {}, {"tacker_k8s_cr": {}}, {"tacker_k8s_cr": {"timeout": None}}],
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_request_may_be_empty(params, operation):
    """What is left open is decided by the package and the options."""
    assert additional_params.RequestParams() == additional_params.read(
        params, operation
    )
    assert "default" == additional_params.read(params, operation).namespace


@pytest.mark.requirement("TK-18")
def test_everything_can_be_asked_for():
    """Each parameter has its place (beneath Tacker's own keys)."""
    web = ObjectRef("apps", "Deployment", "edge", "web")
    asked = additional_params.read(EVERYTHING)

    assert (
        additional_params.RequestParams(
            files=("Files/a.yaml", "Files/b.yaml"),
            namespace="edge",
            has_namespace=True,
            namespace_mode="force",
            readiness=(
                Readiness(
                    GroupKind("example.org", "Router"),
                    ready_when=("status.phase=Up",),
                ),
                Readiness(ObjectRef("", "Pod", "edge", "probe"), "exists"),
            ),
            prune={GroupKind("", "PersistentVolumeClaim"): True, web: False},
            expected_kinds=(
                ExpectedKind(GroupKind("example.org", "Router")),
                ExpectedKind(GroupKind("example.org", "Zone"), False),
            ),
            vdu_mapping={"VDU1": "Deployment/web"},
            timeout=60.0,
            stall_timeout=30.5,
            on_failure="wait_all",
            dry_run=False,
            resend=True,
            field_conflicts="force",
            field_validation="warn",
            adopt=frozenset(
                {
                    ObjectRef("", "ConfigMap", "edge", "settings"),
                    ObjectRef("", "Namespace", "", "edge"),
                }
            ),
            transfer_from={ObjectRef("", "ConfigMap", "edge", "mine"): "core"},
            record_namespace="records",
            webhook=EVERYTHING["tacker_k8s_cr"]["webhook"],
        )
        == asked
    )


def test_the_schema_is_one():
    """Any validator can use what the documentation shows."""
    jsonschema.Draft202012Validator.check_schema(schema.load())
    jsonschema.Draft202012Validator(schema.load()).validate(EVERYTHING)


def test_every_parameter_has_a_description():
    """Its operations are known ones, and its description is there."""
    properties = schema.load()["properties"]
    ours = properties["tacker_k8s_cr"]["properties"]
    tackers = {
        key: value
        for key, value in properties.items()
        if key != "tacker_k8s_cr"
    }

    hook = ours["webhook"]["properties"]
    for value in [*tackers.values(), *ours.values(), *hook.values()]:
        assert value["description"]
        assert set(value["x-operations"]) <= set(OPERATIONS)
    assert set(OPERATIONS) == {
        operation
        for value in ours.values()
        for operation in value["x-operations"]
    }


def test_foreign_keys_are_left_alone():
    """A package may have parameters of its own beside ours."""
    asked = additional_params.read(
        {"color": "blue", "upgrade_type": "RollingUpdate"}
    )

    assert additional_params.RequestParams() == asked


def test_unknown_keys_of_the_driver_are_refused_by_name():
    """A key that is misspelt would do nothing, in silence."""
    said = refused(
        {"tacker_k8s_cr": {"time_out": 5, "webhook": {"xyzzy": PLANTED}}}
    )

    assert (
        f"{OURS}.webhook.xyzzy: no such parameter; there are url, "
        "api_check, credential, role, expires_after, renew",
        f"{OURS}.time_out: no such parameter; is timeout meant? there are "
        "namespace_mode, readiness, prune, expected_kinds, timeout, "
        "stall_timeout, on_failure, recreate, rollout, kubernetes_upgrade, "
        "autoscaler_limits, machines_to_delete, "
        "machine_heal_strategy, dry_run, resend, field_conflicts, "
        "field_validation, record_namespace, adopt, transfer_from, "
        "on_terminate, statefulset_claims, cleanup, "
        "remove_finalizers, delete_foreign_objects, webhook",
    ) == tuple(said.splitlines())


@pytest.mark.parametrize(
    ("operation", "ours"),
    [
        ("scale", {"webhook": {"url": f"https://{PLANTED}"}}),
        ("instantiate", {"webhook": {"renew": True}}),
        ("scale", {"dry_run": True}),
        ("terminate", {"field_conflicts": "force"}),
        ("heal", {"adopt": []}),
        ("change", {"record_namespace": "records"}),
        ("instantiate", {"delete_foreign_objects": True}),
    ],
)
def test_a_parameter_of_another_operation_is_refused(operation, ours):
    """It has no effect; the error lists the operations that use it."""
    said = refused({"tacker_k8s_cr": ours}, operation)

    assert f": of no use to {operation}; it is for" in said


@pytest.mark.parametrize("operation", ["scale", "heal", "terminate"])
def test_tackers_own_keys_do_no_harm_elsewhere(operation):
    """Tacker passes them over where they have no use; so do we."""
    params = {
        key: value
        for key, value in EVERYTHING.items()
        if key != "tacker_k8s_cr"
    }

    assert additional_params.RequestParams() == additional_params.read(
        params, operation
    )


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (
            {"namespace": "No Namespace"},
            "additionalParams.namespace: wanted a name of a namespace, found "
            "another text",
        ),
        (
            {"namespace": "edge\n"},
            "additionalParams.namespace: wanted a name of a namespace, found "
            "another text",
        ),
        (
            {"lcm-kubernetes-def-files": "a.yaml"},
            "additionalParams.lcm-kubernetes-def-files: wanted a list of "
            "names of files in the package, found another text",
        ),
        (
            {"lcm-kubernetes-def-files": []},
            "additionalParams.lcm-kubernetes-def-files: wanted a list of "
            "names of files in the package, found a list",
        ),
        (
            {"lcm-kubernetes-def-files": [f"file:///etc/{PLANTED}"]},
            "additionalParams.lcm-kubernetes-def-files[0]: wanted a name of "
            "a file in the package, found a URL that is neither https nor "
            "http",
        ),
        (
            {"vdu_mapping": {"VDU1": {"kind": "Deployment"}}},
            "additionalParams.vdu_mapping.VDU1.name: wanted a name of an "
            "object, found nothing",
        ),
        (
            {"vdu_mapping": {"VDU1": PLANTED}},
            "additionalParams.vdu_mapping.VDU1: wanted a mapping with kind "
            "and name, found another text",
        ),
        (
            {"tacker_k8s_cr": [PLANTED]},
            f"{OURS}: wanted a mapping, found a list",
        ),
        (
            {"tacker_k8s_cr": {"timeout": True}},
            f"{OURS}.timeout: wanted a number of seconds, found a boolean",
        ),
        (
            {"tacker_k8s_cr": {"timeout": -1}},
            f"{OURS}.timeout: wanted a number of seconds, found another "
            "number",
        ),
        (
            {"tacker_k8s_cr": {"timeout": float("nan")}},
            f"{OURS}.timeout: wanted a finite number",
        ),
        (
            {"tacker_k8s_cr": {"dry_run": "yes"}},
            f"{OURS}.dry_run: wanted true or false, found another text",
        ),
        (
            {"tacker_k8s_cr": {"field_conflicts": PLANTED}},
            f"{OURS}.field_conflicts: wanted one of fail, force, ignore, "
            "found another text",
        ),
        (
            {"tacker_k8s_cr": {"webhook": {"api_check": ["try"]}}},
            f"{OURS}.webhook.api_check: wanted one of require, try, skip, "
            "found a list",
        ),
        (
            {"tacker_k8s_cr": {"webhook": {"url": f"https://u:{PLANTED}@h"}}},
            f"{OURS}.webhook.url: wanted a URL of https or http without a "
            "user, found another text",
        ),
        (
            {"tacker_k8s_cr": {"transfer_from": {"Core": []}}},
            f"{OURS}.transfer_from: wanted names of instances, found another "
            "text",
        ),
        (
            {"tacker_k8s_cr": {"transfer_from": {"core": "ConfigMap/a"}}},
            f"{OURS}.transfer_from.core: wanted a list of objects, found "
            "another text",
        ),
        (
            {"tacker_k8s_cr": {"transfer_from": {"core": ["ConfigMap"]}}},
            f"{OURS}.transfer_from.core[0]: wanted an object such as "
            "ConfigMap/edge/settings, found another text",
        ),
        (
            {
                "tacker_k8s_cr": {
                    "adopt": ["ConfigMap/a"],
                    "transfer_from": {"core": ["ConfigMap/a"]},
                }
            },
            f"{OURS}.transfer_from: ConfigMap/a is named twice",
        ),
        (
            {"tacker_k8s_cr": {"adopt": ["ConfigMap"]}},
            f"{OURS}.adopt[0]: wanted an object such as "
            "ConfigMap/edge/settings, found another text",
        ),
        (
            {"tacker_k8s_cr": {"prune": {"allow": ["pods"]}}},
            f"{OURS}.prune.allow[0]: wanted a kind such as Deployment.apps, "
            "or an object such as Deployment.apps/edge/web, found another "
            "text",
        ),
        (
            {
                "tacker_k8s_cr": {
                    "prune": {"allow": ["Pod"], "protect": ["Pod"]}
                }
            },
            f"{OURS}.prune: Pod is named twice",
        ),
        (
            {"tacker_k8s_cr": {"readiness": [{"of": "Pod"}]}},
            f"{OURS}.readiness[0]: wanted one of readiness, ready_when, "
            "failed_when, stall_timeout, found none",
        ),
        (
            {
                "tacker_k8s_cr": {
                    "readiness": [{"of": "Pod", "ready_when": f"({PLANTED}"}]
                }
            },
            f"{OURS}.readiness[0].ready_when: wanted rules such as "
            "status.phase=Running or condition=Ready, found another text",
        ),
        (
            {
                "tacker_k8s_cr": {
                    "readiness": [
                        {
                            "of": "Pod",
                            "readiness": "exists",
                            "failed_when": "status.phase=Failed",
                        }
                    ]
                }
            },
            f"{OURS}.readiness[0].readiness: exists leaves no use for "
            "failed_when",
        ),
        (
            {
                "tacker_k8s_cr": {
                    "readiness": [{"of": "Pod", "stall_timeout": 0}]
                }
            },
            f"{OURS}.readiness[0].stall_timeout: wanted a number of seconds, "
            "found another number",
        ),
        (
            {"use_helm": "true", "tacker_k8s_cr": {"timeout": 1}},
            f"{OURS}: use_helm passes the request to Tacker's own "
            "driver, which does not support it",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(params, said):
    """The error has the path, the expected type, and the actual one."""
    assert said == refused(params)


def test_all_faults_are_reported_at_once():
    """One line for each."""
    said = refused({"namespace": 5, "tacker_k8s_cr": {"x": 1, "timeout": 0}})

    assert 3 == len(said.splitlines())


def test_an_instance_stays_where_it_is():
    """A change that names another namespace is refused; the same is fine."""
    assert (
        "edge"
        == additional_params.read(
            {}, "change", instance_namespace="edge"
        ).namespace
    )
    assert (
        additional_params.read(
            {"namespace": "edge"}, "change", instance_namespace="edge"
        ).namespace
        == "edge"
    )
    assert (
        "additionalParams.namespace: the instance is in edge and stays "
        "there; wanted edge or nothing"
    ) == refused({"namespace": "core"}, "change", instance_namespace="edge")


@pytest.mark.parametrize(
    ("use_helm", "said"),
    [(True, True), ("True", True), ("true", True), (1, True), ("no", False)],
)
def test_charts_are_tackers_own_drivers(use_helm, said):
    """It is read as Tacker reads it, and nothing else of such a request."""
    params = {
        "use_helm": use_helm,
        "vdu_mapping": {"VDU1": {"kind": "Pod", "name": "a"}},
    }

    assert said == additional_params.read(params).use_helm
    assert said == additional_params.is_for_helm(params)
    assert (
        additional_params.RequestParams(use_helm=True)
        == additional_params.read(params)
    ) is said


def test_parameters_of_charts_are_not_validated():
    """Tacker's own driver has more keys than this one."""
    asked = additional_params.read(
        {"use_helm": True, "vdu_mapping": {"VDU1": {"helmreleasename": "a"}}}
    )

    assert asked.use_helm


def test_a_request_settles_the_policy():
    """What it leaves open stays as it was, and is not the default again."""
    before = Policy(
        namespace_mode="force",
        prune={GroupKind("", "Pod"): True},
        delivery={"url": "https://a.example", "api_check": "skip"},
    )
    said = {
        "webhook": {"api_check": "try", "renew": True},
        "prune": {"allow": []},
    }

    assert before == request_options.build_policy(
        additional_params.RequestParams(), before
    )
    assert Policy(
        namespace_mode="force",
        prune={GroupKind("", "Pod"): True},
        delivery={"url": "https://a.example", "api_check": "try"},
    ) == request_options.build_policy(
        additional_params.read({"tacker_k8s_cr": said}, "change"), before
    )


def test_rules_may_be_a_list():
    """Each of its texts may hold several, as in an annotation."""
    of = {"of": "Pod", "ready_when": ["status.a=1", "status.b=2, status.c"]}
    [found] = additional_params.read(
        {"tacker_k8s_cr": {"readiness": [of]}}
    ).readiness

    assert ("status.a=1", "status.b=2, status.c") == found.ready_when
    assert "readiness[0].ready_when: wanted rules" in refused(
        {"tacker_k8s_cr": {"readiness": [{**of, "ready_when": ["("]}]}}
    )


def test_the_webhook_is_not_shown():
    """What is in its URL may be meant for the receiver alone."""
    url = f"https://h/{PLANTED}"
    asked = additional_params.read(
        {"tacker_k8s_cr": {"webhook": {"url": url}}}
    )

    assert PLANTED not in repr(asked)


values = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(),
    lambda inner: (
        strategies.lists(inner)
        | strategies.dictionaries(
            strategies.sampled_from(
                [
                    *schema.load()["properties"]["tacker_k8s_cr"][
                        "properties"
                    ],
                    *("url", "of", "allow", "ready_when", "kind", "name"),
                ]
            )
            | strategies.text(),
            inner,
        )
    ),
)


@hypothesis.given(
    strategies.dictionaries(
        strategies.sampled_from([*schema.load()["properties"]]), values
    ),
    strategies.sampled_from(OPERATIONS),
)
def test_any_value_is_read_or_refused(params, operation):
    """Nothing that JSON can hold is more than an invalid request."""
    try:
        asked = additional_params.read(params, operation)
    except errors.RequestInvalid:
        return
    assert isinstance(asked, additional_params.RequestParams)


@hypothesis.given(
    strategies.dictionaries(
        strategies.sampled_from(["namespace", "tacker_k8s_cr"]), values
    )
)
def test_what_the_schema_refuses_is_refused(params):
    """An author who checks with the published schema finds no less."""
    text = json.dumps(params)
    hypothesis.assume("null" not in text)
    validator = jsonschema.Draft202012Validator(schema.load())

    if not validator.is_valid(params):
        refused(params)


@hypothesis.given(
    strategies.from_regex("[A-Z][a-z]{0,5}", fullmatch=True),
    strategies.from_regex(r"[a-z][a-z0-9]{0,5}(\.[a-z]{1,4})?", fullmatch=True)
    | strategies.just(""),
    strategies.from_regex("[a-z0-9]{1,6}", fullmatch=True)
    | strategies.just(""),
    strategies.from_regex("[a-z0-9.:]{1,6}", fullmatch=True),
)
def test_an_object_is_named_as_errors_name_it(kind, group, namespace, name):
    """What an error shows can be copied into the next request."""
    for subject in (
        GroupKind(group, kind),
        ObjectRef(group, kind, namespace, name),
    ):
        asked = additional_params.read(
            {"tacker_k8s_cr": {"prune": {"allow": [str(subject)]}}}
        )
        assert {subject: True} == asked.prune


def test_a_scale_selects_machines_and_autoscaler_limits():
    """Both are of use to a scale only."""
    ours = {
        "autoscaler_limits": "adjust",
        "machines_to_delete": ["workers-1", "workers-2"],
    }

    asked = additional_params.read({"tacker_k8s_cr": ours}, "scale")

    assert ("workers-1", "workers-2") == asked.machines_to_delete
    assert "adjust" == asked.autoscaler_limits
    assert "machines_to_delete" in refused({"tacker_k8s_cr": ours}, "heal")
