"""Objects that go to another namespace, and what names them."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.plan import placement
from tests.functional import manifests

RBAC = "rbac.authorization.k8s.io"
SCOPES = {
    GroupKind("", "ConfigMap"): True,
    GroupKind("", "Service"): True,
    GroupKind("", "ServiceAccount"): True,
    GroupKind(RBAC, "ClusterRoleBinding"): False,
    GroupKind("admissionregistration.k8s.io", "Hook"): False,
    GroupKind("cluster.x-k8s.io", "Cluster"): True,
    GroupKind("infrastructure.cluster.x-k8s.io", "DevCluster"): True,
    placement.DEFINITION: False,
}


def placed(namespaces, *given):
    documents = [
        Document(manifest, f"a.yaml, document {number}")
        for number, manifest in enumerate(given, 1)
    ]
    items = placement.place_manifests(
        documents, SCOPES, "one", "home", namespaces
    )
    return [item.manifest for item in items]


def obj(kind, name, namespace="", group="", **more):
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    version = f"{group}/v1" if group else "v1"
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": metadata,
        **more,
    }


ACCOUNT = obj("ServiceAccount", "operator", "theirs")


def binding(*subjects):
    return obj("ClusterRoleBinding", "b", group=RBAC, subjects=list(subjects))


def subject(name, namespace):
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


@pytest.mark.requirement("T14")
def test_with_fill_a_manifest_keeps_its_namespace():
    """And one without gets that of the instance."""
    named, bare = placed("default", ACCOUNT, manifests.config_map("a"))

    assert "theirs" == named["metadata"]["namespace"]
    assert "home" == bare["metadata"]["namespace"]


@pytest.mark.requirement("T14")
def test_with_force_all_are_in_one_namespace():
    """What is of no namespace stays so."""
    account, bound = placed("force", ACCOUNT, binding())

    assert "home" == account["metadata"]["namespace"]
    assert "namespace" not in bound["metadata"]


def test_what_names_an_object_that_moves_follows_it():
    """A binding's subject, a webhook's service, a cluster's parts."""
    _, bound, _, hook, cluster, _ = placed(
        "force",
        ACCOUNT,
        binding(subject("operator", "theirs"), subject("other", "theirs")),
        obj("Service", "hook", "theirs"),
        obj(
            "Hook",
            "h",
            group="admissionregistration.k8s.io",
            webhooks=[
                {
                    "clientConfig": {
                        "service": {"name": "hook", "namespace": "theirs"}
                    }
                }
            ],
        ),
        obj(
            "Cluster",
            "c",
            "theirs",
            "cluster.x-k8s.io",
            spec={
                "infrastructureRef": {
                    "kind": "DevCluster",
                    "name": "c",
                    "namespace": "theirs",
                }
            },
        ),
        obj("DevCluster", "c", "theirs", "infrastructure.cluster.x-k8s.io"),
    )

    assert ["home", "theirs"] == [s["namespace"] for s in bound["subjects"]]
    config = hook["webhooks"][0]["clientConfig"]
    assert {"name": "hook", "namespace": "home"} == config["service"]
    assert "home" == cluster["spec"]["infrastructureRef"]["namespace"]


def test_two_objects_that_would_become_one_are_refused():
    """Both places are named."""
    with pytest.raises(errors.PackageInvalid, match=r"document 2.*document 1"):
        placed(
            "force",
            manifests.config_map("a", "x"),
            manifests.config_map("a", "y"),
        )


@pytest.mark.requirement("T14")
def test_with_refuse_a_foreign_namespace_is_an_error():
    """All of them at once, each with its place."""
    with pytest.raises(errors.PackageInvalid) as caught:
        placed(
            "strict",
            manifests.config_map("a", "x"),
            manifests.config_map("b", "home"),
            manifests.config_map("c"),
            manifests.config_map("d", "y"),
        )

    assert [
        "a.yaml, document 1: ConfigMap/x/a names the namespace x; all "
        "objects of this package have to be in home",
        "a.yaml, document 4: ConfigMap/y/d names the namespace y; all "
        "objects of this package have to be in home",
    ] == [str(problem) for problem in caught.value.problems]


def test_a_schema_is_not_a_reference():
    """Names of its properties may be anything."""
    definition = manifests.definition("example.org", "Thing")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    text = {"type": "string"}
    schema["properties"]["spec"]["properties"] = {
        "kind": text,
        "name": text,
        "namespace": text,
    }

    found, _ = placed("force", definition, ACCOUNT)

    assert definition["spec"] == found["spec"]
