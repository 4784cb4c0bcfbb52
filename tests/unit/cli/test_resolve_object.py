"""An object is found as people write it, or it is said why not."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.cli import resolve_object
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef

CAPI = "cluster.x-k8s.io"
WORKERS = ObjectRef(CAPI, "MachineDeployment", "site-a", "workers")
WEB_A = ObjectRef("apps", "Deployment", "site-a", "web")
WEB_B = ObjectRef("apps", "Deployment", "site-b", "web")
OTHER_A = ObjectRef("other.example.org", "Deployment", "site-a", "web")
PROXY = ObjectRef("", "NetworkPolicy", "site-a", "proxy")
PLURALS = {
    "MachineDeployment": "machinedeployments",
    "Deployment": "deployments",
    "NetworkPolicy": "networkpolicies",
}


def chosen(text, *owned, namespace="default"):
    def plural(kind: GroupKind) -> str:
        return PLURALS[kind.kind]

    return resolve_object.resolve_object(text, owned, namespace, plural)


@pytest.mark.parametrize(
    "text",
    [
        "MachineDeployment/workers",
        "machinedeployment/workers",
        "machinedeployments/workers",
        "machinedeployment.cluster.x-k8s.io/workers",
        "MachineDeployments.cluster.x-k8s.io/workers",
        "machinedeployments.v1beta2.cluster.x-k8s.io/workers",
        "MachineDeployment/site-a/workers",
        str(WORKERS),
    ],
)
def test_a_kind_is_written_in_many_ways(text):
    """Kind or plural, any case, with group and version or without."""
    assert WORKERS == chosen(text, WORKERS, WEB_A, PROXY)


def test_a_plural_is_read_from_the_server():
    """A plural is not guessed: discovery of the server has it."""
    assert PROXY == chosen("networkpolicies/proxy", WORKERS, PROXY)


def test_a_namespace_decides_between_objects_of_one_name():
    """Where two namespaces have such an object, the one named is meant."""
    assert WEB_B == chosen("deployment/web", WEB_A, WEB_B, namespace="site-b")
    assert WEB_A == chosen("deployment/site-a/web", WEB_A, WEB_B)


@pytest.mark.parametrize("others", [(WEB_A, WEB_B), (WEB_A, OTHER_A)])
def test_what_may_mean_two_objects_is_refused(others):
    """An ambiguous word is an error that names all it may mean."""
    with pytest.raises(RequestInvalid) as caught:
        chosen("deployment/web", *others)

    assert all(str(ref) in str(caught.value) for ref in others)


def test_a_group_that_is_another_is_not_meant():
    """A kind of the same name in another group is another kind."""
    assert OTHER_A == chosen(
        "deployment.other.example.org/web", WEB_A, OTHER_A
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("deployment/nope", str(WEB_A)),
        ("pod/web", str(WEB_A)),
        ("secret/x", "Deployment.apps, MachineDeployment.cluster.x-k8s.io"),
    ],
)
def test_an_unknown_object_is_refused_with_the_known_ones(text, said):
    """The error lists the objects that the instance has."""
    with pytest.raises(RequestInvalid) as caught:
        chosen(text, WEB_A, WORKERS)

    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["web", "/web", "deployment/", "a/b/c/d"])
def test_an_invalid_form_of_an_object_is_refused(text):
    """The form is said when it was not kept."""
    with pytest.raises(RequestInvalid, match="expected KIND/NAME"):
        chosen(text, WEB_A)
