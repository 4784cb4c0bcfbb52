"""Roles, and bindings to them, of a user who may bind no role."""

from __future__ import annotations

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tests.functional.restricted_users import DOCUMENTED
from tests.functional.restricted_users import RBAC

pytestmark = pytest.mark.plane

WRITES = ["get", "list", "watch", "create", "patch", "delete"]
READS = {
    "apiGroups": [""],
    "resources": ["configmaps"],
    "verbs": ["get", "list"],
}
"""What the packages of this module grant; the documented Role has it."""


def manifest(kind, name, **fields):
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": {"name": name},
        **fields,
    }


def account(name):
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name},
    }


def binding(name, role, kind="Role", of="RoleBinding", namespace="default"):
    return manifest(
        of,
        name,
        roleRef={"apiGroup": RBAC, "kind": kind, "name": role},
        subjects=[
            {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        ],
    )


def rules(*resources):
    rule = {"apiGroups": [RBAC], "resources": [*resources], "verbs": WRITES}
    return [*DOCUMENTED["rules"], rule]


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_role_of_the_package_can_be_bound(
    restricted_cluster, make_package, dry_run, check_lifecycle
):
    """By a user who holds what it grants, and may not bind."""
    cluster = restricted_cluster(rules("roles", "rolebindings"))

    check_lifecycle(
        cluster,
        make_package(
            binding("app", "app"),
            account("app"),
            manifest("Role", "app", rules=[READS]),
        ),
        k8s_cr.Options(dry_run=dry_run),
    )


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("of", ["RoleBinding", "ClusterRoleBinding"])
def test_a_cluster_role_of_the_package_can_be_bound(
    restricted_cluster,
    namespace,
    make_package,
    unique_name,
    dry_run,
    of,
    check_lifecycle,
):
    """In a namespace, and in the whole cluster."""
    cluster = restricted_cluster(
        rules("rolebindings"),
        [*rules("clusterroles", "clusterrolebindings")[-1:], READS],
    )

    check_lifecycle(
        cluster,
        make_package(
            binding(unique_name, unique_name, "ClusterRole", of, namespace),
            account(unique_name),
            manifest("ClusterRole", unique_name, rules=[READS]),
        ),
        k8s_cr.Options(dry_run=dry_run),
    )


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_a_role_that_exists_nowhere_is_named(
    restricted_cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
    dry_run,
    kind,
):
    """And not waited for: neither before the first write nor after."""
    cluster = restricted_cluster(rules("roles", "rolebindings"))
    place = f"{namespace}/" if kind == "Role" else ""
    named = f"{kind} {place}nowhere"

    with pytest.raises(errors.Rejected) as caught:
        k8s_cr.instantiate(
            make_request(cluster, options=k8s_cr.Options(dry_run=dry_run)),
            make_package(account("app"), binding("app", "nowhere", kind)),
        )

    assert f"it refers to {named}, which does not exist" in str(caught.value)
    assert [] == leftover_objects(unique_name, namespace)


def test_a_role_of_that_name_in_another_namespace_is_none(
    restricted_cluster,
    kubectl,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """A RoleBinding refers to a Role of its own namespace."""
    other = f"{namespace}-other"
    kubectl("create", "namespace", other)
    grant = {
        "apiGroups": ["", RBAC],
        "resources": ["namespaces", "roles", "configmaps"],
        "verbs": WRITES,
    }
    role = manifest("Role", "app", rules=[READS])
    role["metadata"]["namespace"] = other

    with pytest.raises(errors.Rejected, match=f"Role {namespace}/app, which"):
        k8s_cr.instantiate(
            make_request(restricted_cluster(rules("rolebindings"), [grant])),
            make_package(role, binding("app", "app")),
        )

    kubectl("delete", "namespace", other, "--wait=false")
    assert [] == leftover_objects(unique_name, namespace)


def aggregated(unique):
    """A ClusterRole that is put together of another, and that one."""
    part = manifest("ClusterRole", f"{unique}-part", rules=[READS])
    part["metadata"]["labels"] = {unique: "yes"}
    selectors = [{"matchLabels": {unique: "yes"}}]
    rule = {"clusterRoleSelectors": selectors}
    return manifest("ClusterRole", unique, aggregationRule=rule), part


def test_an_aggregated_cluster_role_can_be_bound(
    restricted_cluster, make_package, unique_name, check_lifecycle
):
    """It has no rules when it is bound: a controller fills them in."""
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    urls = {"nonResourceURLs": ["*"], "verbs": ["*"]}
    cluster = restricted_cluster(cluster_rules=[everything, urls])
    bound = binding(unique_name, unique_name, "ClusterRole")

    check_lifecycle(cluster, make_package(bound, *aggregated(unique_name)))


def test_an_aggregation_rule_takes_all_permissions(
    restricted_cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """The server reports it, before the first write."""
    cluster = restricted_cluster(
        rules("rolebindings"), [*rules("clusterroles")[-1:], READS]
    )
    bound = binding(unique_name, unique_name, "ClusterRole")

    with pytest.raises(errors.Rejected, match="cluster-admin privileges"):
        k8s_cr.instantiate(
            make_request(cluster),
            make_package(bound, *aggregated(unique_name)),
        )

    assert [] == leftover_objects(unique_name, namespace)


def test_a_binding_follows_its_role(
    restricted_cluster, make_request, make_package
):
    """So that it is sent once, and nothing has to be tried again."""
    cluster = restricted_cluster(rules("roles", "rolebindings"))
    role, bound = manifest("Role", "app", rules=[READS]), binding("app", "app")
    once = k8s_cr.Options(dry_run=False)
    package = make_package(bound, account("app"), role)

    report = k8s_cr.instantiate(make_request(cluster, options=once), package)

    assert ["ServiceAccount", "Role", "RoleBinding"] == [
        row.ref.kind for row in report.objects
    ]
    k8s_cr.terminate(make_request(cluster))
