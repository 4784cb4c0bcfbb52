"""The inventory of an instance, as status lists it."""

from __future__ import annotations

import json

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import manifests
from tests.functional import test_cli

pytestmark = pytest.mark.plane

environ = test_cli.environ
files = test_cli.files
run = test_cli.run

SHOWN = ("group", "kind", "namespace", "name", "uid")


def listed(rows):
    return {tuple(row[key] for key in SHOWN) for row in rows}


@pytest.fixture
def live(cluster):
    """Objects as the cluster has them: what identifies each, and its UID."""

    def found(*refs):
        return {
            (
                ref.group,
                ref.kind,
                ref.namespace,
                ref.name,
                objects.uid(cluster.get(ref)),
            )
            for ref in refs
        }

    return found


@pytest.mark.requirement("H1")
def test_the_inventory_lists_what_was_applied_and_nothing_else(
    cluster,
    namespace,
    run,
    files,
    unique_name,
    make_request,
    live,
    make_package,
):
    """Each object with its UID: in other namespaces, in none, of any kind.

    It follows a change. What controllers made of the objects, and what lies
    beside them, is not part of it.
    """
    group = f"{unique_name}.example.org"
    strange = {objects.PREFIX + "readiness": "exists"}
    package = [
        manifests.namespace(unique_name),
        manifests.config_map("a"),
        manifests.config_map("b", unique_name),
        manifests.deployment("web", 2),
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one", strange),
    ]
    beside = manifests.config_map("beside", namespace)
    cluster.create(beside, "tests")
    refs = [
        ObjectRef("", "Namespace", "", unique_name),
        ObjectRef("", "ConfigMap", namespace, "a"),
        ObjectRef("", "ConfigMap", unique_name, "b"),
        ObjectRef("apps", "Deployment", namespace, "web"),
        ObjectRef(
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            "",
            f"things.{group}",
        ),
        ObjectRef(group, "Thing", namespace, "one"),
    ]

    assert 0 == run("instantiate", unique_name, files(*package)).code

    shown = run("status", unique_name, "-f", "json").value
    assert live(*refs) == listed(shown["objects"])
    report = k8s_cr.status(make_request())
    assert set(refs) == {row.ref for row in report.objects}

    # Without b, and with another one.
    package[2] = manifests.config_map("c")
    refs[2] = ObjectRef("", "ConfigMap", namespace, "c")
    changed = run("change", unique_name, files(*package, name="newer"))
    assert 0 == changed.code, changed.err

    shown = run("status", unique_name, "-f", "json").value
    assert live(*refs) == listed(shown["objects"])
    assert 0 == run("terminate", unique_name).code
    ended = run("status", unique_name, "-f", "json")
    assert "InstanceNotFound" == json.loads(ended.out)["type"]
    assert cluster.get(ObjectRef("", "ConfigMap", namespace, "beside"))
