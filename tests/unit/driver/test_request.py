"""What a request's additionalParams may say."""

import hypothesis
from hypothesis import strategies
import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import request

PLANTED = "planted-secret-0815"


def refused(params):
    with pytest.raises(errors.RequestInvalid) as caught:
        request.read(params)
    assert PLANTED not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("params", [None, {}, {"tacker_k8s_cr": {}}])
def test_a_request_may_say_nothing(params):
    """What is left open is decided by the package and the options."""
    assert request.Asked() == request.read(params)
    assert "default" == request.read(params).namespace


def test_everything_can_be_asked_for():
    """Each parameter has its place."""
    asked = request.read(
        {
            "lcm-kubernetes-def-files": ["Files/a.yaml", "Files/b.yaml"],
            "namespace": "edge",
            "tacker_k8s_cr": {
                "timeout": 60,
                "dry_run": False,
                "conflict": "take",
                "webhook": {"url": "https://hooks.example", "probe": "try"},
            },
        }
    )

    assert (
        request.Asked(
            files=("Files/a.yaml", "Files/b.yaml"),
            namespace="edge",
            timeout=60.0,
            dry_run=False,
            conflict="take",
            webhook_url="https://hooks.example",
            webhook_probe="try",
        )
        == asked
    )


def test_keys_of_others_are_left_alone():
    """A package may have parameters of its own beside ours."""
    assert request.Asked() == request.read({"color": "blue"})


def test_unknown_keys_of_ours_are_refused_by_name():
    """A key that is misspelt would do nothing, in silence."""
    said = refused(
        {"tacker_k8s_cr": {"time_out": 5, "webhook": {"uri": PLANTED}}}
    )

    assert (
        "additionalParams.tacker_k8s_cr.time_out: no such parameter; there "
        "are timeout, dry_run, conflict, webhook\n"
        "additionalParams.tacker_k8s_cr.webhook.uri: no such parameter; "
        "there are url, probe"
    ) == said


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (
            {"namespace": "No Namespace"},
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
            {"tacker_k8s_cr": [PLANTED]},
            "additionalParams.tacker_k8s_cr: wanted a mapping, found a list",
        ),
        (
            {"tacker_k8s_cr": {"timeout": True}},
            "additionalParams.tacker_k8s_cr.timeout: wanted a number of "
            "seconds, found a boolean",
        ),
        (
            {"tacker_k8s_cr": {"timeout": -1}},
            "additionalParams.tacker_k8s_cr.timeout: wanted a number of "
            "seconds, found a number",
        ),
        (
            {"tacker_k8s_cr": {"dry_run": "yes"}},
            "additionalParams.tacker_k8s_cr.dry_run: wanted true or false, "
            "found another text",
        ),
        (
            {"tacker_k8s_cr": {"conflict": PLANTED}},
            "additionalParams.tacker_k8s_cr.conflict: wanted one of fail, "
            "take, found another text",
        ),
        (
            {"tacker_k8s_cr": {"webhook": {"probe": ["try"]}}},
            "additionalParams.tacker_k8s_cr.webhook.probe: wanted one of "
            "require, try, skip, found a list",
        ),
        (
            {"use_helm": "true"},
            "additionalParams.use_helm: charts are not supported by this "
            "driver",
        ),
        (
            {"vdu_mapping": {"VDU1": {"kind": "Deployment", "name": "a"}}},
            "additionalParams.vdu_mapping: put the annotation "
            "k8s-cr.tacker.openstack.org/vdu on the manifest of the VDU's "
            "object instead",
        ),
    ],
)
def test_what_does_not_fit_is_refused(params, said):
    """The error says where, what was wanted, and what kind was found."""
    assert said == refused(params)


def test_all_faults_are_told_at_once():
    """One line for each."""
    said = refused({"namespace": 5, "tacker_k8s_cr": {"x": 1, "timeout": 0}})

    assert 3 == len(said.splitlines())


def test_the_webhook_url_is_not_shown():
    """It may hold a password."""
    asked = request.read(
        {"tacker_k8s_cr": {"webhook": {"url": f"https://u:{PLANTED}@h"}}}
    )

    assert PLANTED not in repr(asked)


values = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.text(),
    lambda inner: (
        strategies.lists(inner)
        | strategies.dictionaries(
            strategies.sampled_from(["url", "probe", "webhook", "timeout"])
            | strategies.text(),
            inner,
        )
    ),
)


@hypothesis.given(
    strategies.dictionaries(
        strategies.sampled_from(
            ["namespace", "tacker_k8s_cr", "lcm-kubernetes-def-files"]
        ),
        values,
    )
)
def test_any_value_is_read_or_refused(params):
    """Nothing that JSON can hold is more than an invalid request."""
    try:
        asked = request.read(params)
    except errors.RequestInvalid:
        return
    assert isinstance(asked, request.Asked)
