"""Operations that the author of a package has excluded."""

from __future__ import annotations

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import manifests
from tests.functional import test_cli

pytestmark = pytest.mark.plane

environ = test_cli.environ
files = test_cli.files
run = test_cli.run

OPERATIONS = "k8s-cr.tacker.openstack.org/operations"


def operator(unique, operations="instantiate, terminate"):
    """In small what a management cluster's package is.

    A namespace, a definition, a controller, and an object of its kind.
    """
    home = manifests.namespace(unique)
    home["metadata"]["annotations"] = {OPERATIONS: operations}
    group = f"{unique}.example.org"
    controller = manifests.deployment("controller", 1)
    controller["metadata"]["namespace"] = unique
    strange = {"k8s-cr.tacker.openstack.org/readiness": "exists"}
    return [
        home,
        manifests.definition(group, "Thing"),
        controller,
        manifests.custom(group, "Thing", "first", strange),
    ]


@pytest.mark.requirement("TK-8")
def test_only_what_a_package_supports_is_done(
    cluster,
    namespace,
    make_package,
    unique_name,
    make_request,
    leftover_objects,
):
    """Scale, heal and change are refused before anything is done.

    The error names them, what is supported, and the object that defines it.
    Reading operations work, and terminate works as usual.
    """
    package = make_package(*operator(unique_name))
    k8s_cr.instantiate(make_request(), package)
    controller = ObjectRef("apps", "Deployment", unique_name, "controller")
    versions = [
        cluster.get(ref)["metadata"]["resourceVersion"]
        for ref in (controller, ObjectRef("", "Namespace", "", unique_name))
    ]

    for name, asked in {
        "scale": lambda: k8s_cr.scale(make_request(), {controller: 2}),
        "heal": lambda: k8s_cr.heal(make_request()),
        "change": lambda: k8s_cr.change(
            make_request(),
            make_package(*operator(unique_name, "change"), name="b"),
        ),
    }.items():
        with pytest.raises(errors.NotSupported) as caught:
            asked()
        assert not caught.value.has_written
        assert (
            f"{name}: not supported by the package of {unique_name}, which "
            "supports instantiate, terminate only (annotation operations "
            f"of Namespace/{unique_name})"
        ) == caught.value.outcome()

    assert versions == [
        cluster.get(ref)["metadata"]["resourceVersion"]
        for ref in (controller, ObjectRef("", "Namespace", "", unique_name))
    ]
    assert "instantiated" == k8s_cr.status(make_request()).phase
    assert () == k8s_cr.drift(make_request()).objects
    assert not k8s_cr.roll_back(make_request()).objects
    k8s_cr.terminate(make_request())
    assert [] == leftover_objects(unique_name, namespace)


def test_an_unsupported_operation_is_refused(
    cluster, run, files, unique_name, namespace
):
    """As a refusal; an unknown operation is an error of the package."""
    wrong = run(
        "instantiate", unique_name, files(*operator(unique_name, "upgrade"))
    )
    run("instantiate", unique_name, files(*operator(unique_name), name="b"))
    refused = run("heal", unique_name, "--all", "-f", "json")
    ended = run("terminate", unique_name)

    assert 2 == wrong.code
    assert "annotation k8s-cr.tacker.openstack.org/operations" in wrong.err
    assert (2, "NotSupported") == (refused.code, refused.value["type"])
    assert "heal: not supported" in refused.err
    assert 0 == ended.code, ended.err
