"""Instances whose records lie in another namespace than their own."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
import yaml

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import record_secrets
from tests.functional import manifests

pytestmark = pytest.mark.plane

PROGRAM = [sys.executable, "-m", "tacker_k8s_cr.cli.shell"]
ROLE = pathlib.Path(__file__).parents[2] / "doc/source/admin/role.yaml"
RULES = yaml.safe_load(ROLE.read_text())["rules"]
OF_RECORD = ("secrets", "leases")


@pytest.fixture
def record_namespace(kubectl, unique_name):
    """The namespace of records."""
    name = f"{unique_name}-records"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


@pytest.fixture
def recorded(cluster):
    """Names of Secrets and Leases of records in a namespace."""

    def found(namespace):
        kinds = (record_secrets.SECRET, leases.KIND)
        return sorted(
            obj["metadata"]["name"]
            for kind in kinds
            for obj in cluster.list_metadata(
                kind, namespace, record_names.LABEL
            )
        )

    return found


@pytest.fixture
def restricted_cluster(kubectl, kubeconfig, namespace, record_namespace):
    """Who may write Secrets and Leases where records lie, and only there."""

    def bound(place, rules):
        metadata = {"name": "vnfm", "namespace": place}
        api = "rbac.authorization.k8s.io"
        role = {
            "apiVersion": f"{api}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": rules,
        }
        binding = {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": api, "kind": "Role", "name": "vnfm"},
            "subjects": [
                {
                    "kind": "ServiceAccount",
                    "name": "vnfm",
                    "namespace": namespace,
                }
            ],
        }
        for manifest in (role, binding):
            kubectl("create", "-f", "-", stdin=json.dumps(manifest))

    kubectl("create", "serviceaccount", "vnfm", "-n", namespace)
    split = [
        {**rule, "resources": [resource]}
        for rule in RULES
        for resource in rule["resources"]
    ]
    bound(
        record_namespace, [r for r in split if r["resources"][0] in OF_RECORD]
    )
    bound(namespace, [r for r in split if r["resources"][0] not in OF_RECORD])
    token = kubectl("create", "token", "vnfm", "-n", namespace).strip()
    place = kubeconfigs.load(str(kubeconfig))
    found = k8s_cr.connect(
        kubeconfigs.for_server(place.server, token=token, ca=place.ca)
    )
    yield found
    found.close()


def test_a_lifecycle_without_permission_for_secrets_beside_the_objects(
    restricted_cluster,
    namespace,
    record_namespace,
    make_package,
    unique_name,
    recorded,
    leftover_objects,
    make_request,
):
    """Record and lock lie elsewhere, and every operation finds them."""
    web = ObjectRef("apps", "Deployment", namespace, "web")
    first = make_package(
        manifests.deployment("web"), manifests.config_map("a")
    )
    second = make_package(
        manifests.deployment("web"), manifests.config_map("b"), name="second"
    )

    with pytest.raises(
        errors.PermissionsMissing, match=f"namespace {namespace}"
    ):
        k8s_cr.instantiate(make_request(restricted_cluster), first)
    report = k8s_cr.instantiate(
        make_request(restricted_cluster, record_namespace=record_namespace),
        first,
    )

    assert (namespace, record_namespace) == (
        report.namespace,
        report.record_namespace,
    )
    assert [] == recorded(namespace)
    assert recorded(record_namespace)
    k8s_cr.scale(
        make_request(
            restricted_cluster, namespace="", record_namespace=record_namespace
        ),
        {web: 2},
    )
    k8s_cr.heal(
        make_request(
            restricted_cluster, namespace="", record_namespace=record_namespace
        )
    )
    k8s_cr.change(
        make_request(restricted_cluster, record_namespace=record_namespace),
        second,
    )
    k8s_cr.roll_back(
        make_request(
            restricted_cluster, namespace="", record_namespace=record_namespace
        )
    )
    status = k8s_cr.status(
        make_request(
            restricted_cluster, namespace="", record_namespace=record_namespace
        )
    )
    assert {"a", "web"} == {row.ref.name for row in status.objects}
    assert {namespace} == {row.ref.namespace for row in status.objects}
    assert [] == recorded(namespace)
    ended = k8s_cr.terminate(
        make_request(
            restricted_cluster, namespace="", record_namespace=record_namespace
        )
    )
    assert (namespace, record_namespace) == (
        ended.namespace,
        ended.record_namespace,
    )
    assert [] == recorded(record_namespace)
    assert [] == leftover_objects(unique_name, namespace)


def test_a_package_that_brings_its_namespace(
    cluster,
    record_namespace,
    make_package,
    make_request,
    unique_name,
    recorded,
    leftover_objects,
):
    """It is an object as others are, and goes before the record does."""
    ref = ObjectRef("", "Namespace", "", unique_name)
    package = make_package(
        manifests.config_map("a"), manifests.namespace(unique_name), name="own"
    )

    report = k8s_cr.instantiate(
        make_request(namespace=unique_name, record_namespace=record_namespace),
        package,
    )

    assert 2 == report.count(Action.CREATED)
    assert recorded(record_namespace)
    assert [] == recorded(unique_name)
    ended = k8s_cr.terminate(
        make_request(namespace="", record_namespace=record_namespace)
    )
    assert 2 == ended.count(Action.DELETED)
    assert cluster.get(ref) is None
    assert [] == recorded(record_namespace)
    assert [] == leftover_objects(unique_name, unique_name)
    assert (
        cluster.get(ObjectRef("", "Namespace", "", record_namespace))
        is not None
    )


def test_an_instantiation_is_undone(
    make_request,
    namespace,
    record_namespace,
    make_package,
    unique_name,
    recorded,
    leftover_objects,
):
    """What the server refuses half way leaves nothing, there as here."""
    bad = manifests.deployment("web")
    bad["spec"]["selector"]["matchLabels"] = {"app": "another"}
    package = make_package(manifests.config_map("a"), bad)

    with pytest.raises(errors.Error):
        k8s_cr.instantiate(
            make_request(
                record_namespace=record_namespace,
                options=k8s_cr.Options(dry_run=False),
            ),
            package,
        )

    assert [] == recorded(record_namespace)
    assert [] == leftover_objects(unique_name, namespace)


def test_the_record_namespace_does_not_exist(
    make_request, namespace, make_package, unique_name, leftover_objects
):
    """It is named before anything is written."""
    with pytest.raises(errors.NamespaceNotFound) as caught:
        k8s_cr.instantiate(
            make_request(record_namespace="no-such-place"),
            make_package(manifests.config_map("a")),
        )

    assert ["no-such-place"] == list(caught.value.missing)
    assert f"the record of {unique_name}" in str(caught.value)
    assert () == caught.value.written
    assert [] == leftover_objects(unique_name, namespace)


def test_a_name_is_one_instance_where_records_lie(
    namespace, record_namespace, make_package, make_request
):
    """Another of that name, of another namespace, is refused by all."""
    package = make_package(manifests.config_map("a"))
    k8s_cr.instantiate(
        make_request(record_namespace=record_namespace), package
    )

    with pytest.raises(errors.InstanceElsewhere) as caught:
        k8s_cr.instantiate(
            make_request(namespace="", record_namespace=record_namespace),
            package,
        )
    assert f"already exists in namespace {namespace} (record in " in (
        str(caught.value)
    )
    assert "; requested: namespace default" in str(caught.value)
    for operation in (k8s_cr.terminate, k8s_cr.status, k8s_cr.roll_back):
        with pytest.raises(errors.InstanceElsewhere):
            operation(
                make_request(
                    namespace="default", record_namespace=record_namespace
                )
            )
        # The namespace of records is not that of the instance.
        with pytest.raises(errors.InstanceElsewhere):
            operation(make_request(namespace=record_namespace))
    with pytest.raises(errors.InstanceNotFound):
        k8s_cr.status(make_request())
    k8s_cr.terminate(make_request(record_namespace=record_namespace))


def test_instances_see_each_other_across_record_namespaces(
    cluster,
    namespace,
    record_namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """An owner is named, and what others share outlives it."""
    one, two = f"{unique_name}-1", f"{unique_name}-2"
    common = ObjectRef("", "ConfigMap", namespace, "common")
    k8s_cr.instantiate(
        make_request(cluster, one, record_namespace=record_namespace),
        make_package(manifests.config_map("common")),
    )

    with pytest.raises(errors.OwnedByOther, match=f"the instance {one}"):
        k8s_cr.instantiate(
            make_request(cluster, two),
            make_package(manifests.config_map("common", key="another")),
        )
    shared = k8s_cr.instantiate(
        make_request(cluster, two),
        make_package(manifests.config_map("common")),
    )
    ended = k8s_cr.terminate(
        make_request(cluster, one, record_namespace=record_namespace)
    )

    assert 1 == shared.count(Action.SHARED)
    assert [Action.RETAINED] == [row.action for row in ended.objects]
    assert cluster.get(common) is not None
    k8s_cr.terminate(make_request(cluster, two))
    assert [] == leftover_objects(one, namespace)


def test_the_instance_with_the_record_namespace_terminates_last(
    cluster, make_request, make_package, unique_name, leftover_objects
):
    """It would delete the records of other instances too."""
    records, guest = f"{unique_name}-records", f"{unique_name}-guest"
    owner = make_request(namespace="", record_namespace=records)
    bringing = make_package(manifests.namespace(records), name="bringing")
    k8s_cr.instantiate(owner, bringing)
    k8s_cr.instantiate(
        make_request(cluster, guest, record_namespace=records),
        make_package(manifests.config_map("a")),
    )

    with pytest.raises(
        errors.ForeignObjects, match=record_names.PREFIX + guest
    ):
        k8s_cr.terminate(owner)

    k8s_cr.terminate(make_request(cluster, guest, record_namespace=records))
    k8s_cr.terminate(owner)
    assert [] == leftover_objects(unique_name, records)


def test_as_commands(
    kubeconfig,
    cluster,
    namespace,
    record_namespace,
    unique_name,
    tmp_path,
    recorded,
):
    """The namespace of the instance need not be said again."""
    path = tmp_path / "a.yaml"
    path.write_text(json.dumps(manifests.deployment("web")))

    def run(command, *more):
        return subprocess.run(
            [
                *PROGRAM,
                command,
                unique_name,
                *more,
                "--record-namespace",
                record_namespace,
            ],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            check=True,
        )

    run("instantiate", str(path), "--namespace", namespace)
    run("scale", "Deployment/web", "--replicas", "2")
    told = json.loads(run("status", "-f", "json").stdout)
    found = recorded(record_namespace)
    run("terminate")

    assert (namespace, record_namespace) == (
        told["namespace"],
        told["record_namespace"],
    )
    assert found
    assert [] == recorded(namespace)
    assert [] == recorded(record_namespace)
    assert cluster.get(ObjectRef("apps", "Deployment", namespace, "web")) is (
        None
    )
