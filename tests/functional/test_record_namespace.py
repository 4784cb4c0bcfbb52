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
from tacker_k8s_cr import errors
from tacker_k8s_cr import kubeconfig as kubeconfigs
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import leases
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
from tests.functional import manifests

pytestmark = pytest.mark.plane

PROGRAM = [sys.executable, "-m", "tacker_k8s_cr.cli.shell"]
ROLE = pathlib.Path(__file__).parents[2] / "doc/source/admin/role.yaml"
RULES = yaml.safe_load(ROLE.read_text())["rules"]
OF_RECORD = ("secrets", "leases")


@pytest.fixture
def home(kubectl, unique):
    """The namespace of records."""
    name = f"{unique}-records"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


@pytest.fixture
def recorded(cluster):
    """Names of Secrets and Leases of records in a namespace."""

    def found(namespace):
        kinds = (record.SECRET, leases.KIND)
        return sorted(
            obj["metadata"]["name"]
            for kind in kinds
            for obj in cluster.list_metadata(kind, namespace, record.RECORD)
        )

    return found


@pytest.fixture
def user(kubectl, kubeconfig, namespace, home):
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
    bound(home, [r for r in split if r["resources"][0] in OF_RECORD])
    bound(namespace, [r for r in split if r["resources"][0] not in OF_RECORD])
    token = kubectl("create", "token", "vnfm", "-n", namespace).strip()
    place = kubeconfigs.load(str(kubeconfig))
    found = k8s_cr.connect(server=place.server, token=token, ca=place.ca)
    yield found
    found.close()


def test_a_life_of_who_may_write_no_secrets_beside_the_objects(
    user, namespace, home, packed, deadline, unique, recorded, traces
):
    """Record and lock lie elsewhere, and every operation finds them (P20)."""
    web = ObjectRef("apps", "Deployment", namespace, "web")
    first = packed(manifests.deployment("web"), manifests.config_map("a"))
    second = packed(
        manifests.deployment("web"), manifests.config_map("b"), name="second"
    )
    life = {"record_namespace": home, "deadline": deadline}

    with pytest.raises(errors.RightsLacking, match=f"namespace {namespace}"):
        k8s_cr.instantiate(
            user, unique, first, namespace=namespace, deadline=deadline
        )
    report = k8s_cr.instantiate(
        user, unique, first, namespace=namespace, **life
    )

    assert (namespace, home) == (report.namespace, report.record_namespace)
    assert [] == recorded(namespace)
    assert recorded(home)
    k8s_cr.scale(user, unique, {web: 2}, **life)
    k8s_cr.heal(user, unique, **life)
    k8s_cr.change(user, unique, second, namespace=namespace, **life)
    k8s_cr.roll_back(user, unique, **life)
    status = k8s_cr.status(user, unique, **life)
    assert {"a", "web"} == {row.ref.name for row in status.rows}
    assert {namespace} == {row.ref.namespace for row in status.rows}
    assert [] == recorded(namespace)
    ended = k8s_cr.terminate(user, unique, **life)
    assert (namespace, home) == (ended.namespace, ended.record_namespace)
    assert [] == recorded(home)
    assert [] == traces(unique, namespace)


def test_a_package_that_brings_its_namespace(
    cluster, home, packed, deadline, unique, recorded, traces
):
    """It is an object as others are, and goes before the record does."""
    ref = ObjectRef("", "Namespace", "", unique)
    package = packed(
        manifests.config_map("a"), manifests.namespace(unique), name="own"
    )
    life = {"record_namespace": home, "deadline": deadline}

    report = k8s_cr.instantiate(
        cluster, unique, package, namespace=unique, **life
    )

    assert 2 == report.count(Action.CREATED)
    assert recorded(home)
    assert [] == recorded(unique)
    ended = k8s_cr.terminate(cluster, unique, **life)
    assert 2 == ended.count(Action.DELETED)
    assert cluster.get(ref) is None
    assert [] == recorded(home)
    assert [] == traces(unique, unique)
    assert cluster.get(ObjectRef("", "Namespace", "", home)) is not None


def test_an_instantiation_is_taken_back(
    cluster, namespace, home, packed, deadline, unique, recorded, traces
):
    """What the server refuses half way leaves nothing, there as here."""
    bad = manifests.deployment("web")
    bad["spec"]["selector"]["matchLabels"] = {"app": "another"}
    package = packed(manifests.config_map("a"), bad)

    with pytest.raises(errors.Error):
        k8s_cr.instantiate(
            cluster,
            unique,
            package,
            namespace=namespace,
            record_namespace=home,
            deadline=deadline,
            options=k8s_cr.Options(dry_run=False),
        )

    assert [] == recorded(home)
    assert [] == traces(unique, namespace)


def test_the_namespace_of_records_is_not_there(
    cluster, namespace, packed, deadline, unique, traces
):
    """It is named before anything is written."""
    with pytest.raises(errors.NamespaceAbsent) as caught:
        k8s_cr.instantiate(
            cluster,
            unique,
            packed(manifests.config_map("a")),
            namespace=namespace,
            record_namespace="no-such-place",
            deadline=deadline,
        )

    assert ["no-such-place"] == list(caught.value.absent)
    assert f"the record of {unique}" in str(caught.value)
    assert () == caught.value.written
    assert [] == traces(unique, namespace)


def test_a_name_is_one_instance_where_records_lie(
    cluster, namespace, home, packed, deadline, unique
):
    """Another of that name, of another namespace, is refused by all (P20)."""
    package = packed(manifests.config_map("a"))
    life = {"record_namespace": home, "deadline": deadline}
    k8s_cr.instantiate(cluster, unique, package, namespace=namespace, **life)

    with pytest.raises(errors.InstanceExists) as caught:
        k8s_cr.instantiate(cluster, unique, package, **life)
    assert f"is one of the namespace {namespace}; wanted: one of default" in (
        str(caught.value)
    )
    for operation in (k8s_cr.terminate, k8s_cr.status, k8s_cr.roll_back):
        with pytest.raises(errors.InstanceExists):
            operation(cluster, unique, namespace="default", **life)
        # The namespace of records is not that of the instance.
        with pytest.raises(errors.InstanceExists):
            operation(cluster, unique, namespace=home, deadline=deadline)
    with pytest.raises(errors.InstanceUnknown):
        k8s_cr.status(cluster, unique, namespace=namespace, deadline=deadline)
    k8s_cr.terminate(cluster, unique, namespace=namespace, **life)


def test_instances_know_each_other_wherever_their_records_lie(
    cluster, namespace, home, packed, deadline, unique, traces
):
    """An owner is named, and what others share outlives it (P20)."""
    one, two = f"{unique}-1", f"{unique}-2"
    near = {"namespace": namespace, "deadline": deadline}
    far = {"record_namespace": home, **near}
    common = ObjectRef("", "ConfigMap", namespace, "common")
    k8s_cr.instantiate(
        cluster, one, packed(manifests.config_map("common")), **far
    )

    with pytest.raises(errors.Owned, match=f"the instance {one}"):
        k8s_cr.instantiate(
            cluster,
            two,
            packed(manifests.config_map("common", key="another")),
            **near,
        )
    shared = k8s_cr.instantiate(
        cluster, two, packed(manifests.config_map("common")), **near
    )
    ended = k8s_cr.terminate(cluster, one, **far)

    assert 1 == shared.count(Action.SHARED)
    assert [Action.KEPT] == [row.action for row in ended.rows]
    assert cluster.get(common) is not None
    k8s_cr.terminate(cluster, two, **near)
    assert [] == traces(one, namespace)


def test_who_brings_the_namespace_of_records_ends_last(
    cluster, namespace, packed, deadline, unique, traces
):
    """It would take the records of others along (P20)."""
    home, guest = f"{unique}-records", f"{unique}-guest"
    owner = {"record_namespace": home, "deadline": deadline}
    bringing = packed(manifests.namespace(home), name="bringing")
    k8s_cr.instantiate(cluster, unique, bringing, **owner)
    life = {"namespace": namespace, "record_namespace": home}
    k8s_cr.instantiate(
        cluster,
        guest,
        packed(manifests.config_map("a")),
        deadline=deadline,
        **life,
    )

    with pytest.raises(errors.WouldBeLost, match=record.NAME + guest):
        k8s_cr.terminate(cluster, unique, **owner)

    k8s_cr.terminate(cluster, guest, deadline=deadline, **life)
    k8s_cr.terminate(cluster, unique, **owner)
    assert [] == traces(unique, home)


def test_as_commands(
    kubeconfig, cluster, namespace, home, unique, tmp_path, recorded
):
    """The namespace of the instance need not be said again."""
    path = tmp_path / "a.yaml"
    path.write_text(json.dumps(manifests.deployment("web")))

    def run(command, *more):
        return subprocess.run(
            [*PROGRAM, command, unique, *more, "--record-namespace", home],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            check=True,
        )

    run("instantiate", str(path), "--namespace", namespace)
    run("scale", "Deployment/web", "--replicas", "2")
    told = json.loads(run("status", "-f", "json").stdout)
    found = recorded(home)
    run("terminate")

    assert (namespace, home) == (told["namespace"], told["record_namespace"])
    assert found
    assert [] == recorded(namespace)
    assert [] == recorded(home)
    assert cluster.get(ObjectRef("apps", "Deployment", namespace, "web")) is (
        None
    )
