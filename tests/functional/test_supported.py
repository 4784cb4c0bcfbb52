"""Operations that the author of a package has excluded."""

from __future__ import annotations

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr.objects import ObjectRef
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
    strange = {"k8s-cr.tacker.openstack.org/readiness": "created"}
    return [
        home,
        manifests.definition(group, "Thing"),
        controller,
        manifests.custom(group, "Thing", "first", strange),
    ]


def test_only_what_a_package_supports_is_done(
    cluster, namespace, packed, unique, deadline, traces
):
    """Scale, heal and change are refused before anything is done (TK-8).

    The error names them, what is supported, and the object that says so.
    What there is to see can be seen, and the end is as any other.
    """
    life = {"namespace": namespace, "deadline": deadline}
    package = packed(*operator(unique))
    k8s_cr.instantiate(cluster, unique, package, **life)
    controller = ObjectRef("apps", "Deployment", unique, "controller")
    versions = [
        cluster.get(ref)["metadata"]["resourceVersion"]
        for ref in (controller, ObjectRef("", "Namespace", "", unique))
    ]

    for name, asked in {
        "scale": lambda: k8s_cr.scale(
            cluster, unique, {controller: 2}, **life
        ),
        "heal": lambda: k8s_cr.heal(cluster, unique, **life),
        "change": lambda: k8s_cr.change(
            cluster,
            unique,
            packed(*operator(unique, "change"), name="b"),
            **life,
        ),
    }.items():
        with pytest.raises(errors.NotSupported) as caught:
            asked()
        assert not caught.value.begun
        assert (
            f"{name}: not supported by the package of {unique}, which "
            "supports instantiate, terminate only (annotation operations "
            f"of Namespace/{unique})"
        ) == str(caught.value)

    assert versions == [
        cluster.get(ref)["metadata"]["resourceVersion"]
        for ref in (controller, ObjectRef("", "Namespace", "", unique))
    ]
    assert "instantiated" == k8s_cr.status(cluster, unique, **life).phase
    assert () == k8s_cr.drift(cluster, unique, **life).rows
    assert not k8s_cr.roll_back(cluster, unique, **life).rows
    k8s_cr.terminate(cluster, unique, **life)
    assert [] == traces(unique, namespace)


def test_the_program_says_that_it_is_not_supported(
    cluster, run, files, unique, namespace
):
    """As a refusal; and what is no operation is an error of the package."""
    wrong = run("instantiate", unique, files(*operator(unique, "upgrade")))
    run("instantiate", unique, files(*operator(unique), name="b"))
    refused = run("heal", unique, "--all", "-f", "json")
    ended = run("terminate", unique)

    assert 2 == wrong.code
    assert "annotation k8s-cr.tacker.openstack.org/operations" in wrong.err
    assert (2, "NotSupported") == (refused.code, refused.value["type"])
    assert "heal: not supported" in refused.err
    assert 0 == ended.code, ended.err
