"""A user with few permissions: what is required, and what is reported."""

from __future__ import annotations

import json

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kinds import BUILT_IN
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.placement import PlacedManifest
from tacker_k8s_cr.state import store
from tests.e2e import packages
from tests.functional import manifests
from tests.functional.restricted_users import DOCUMENTED
from tests.functional.restricted_users import without_permission

pytestmark = pytest.mark.plane


def secret(name):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": {"word": "planted-word"},
    }


@pytest.mark.requirement("K4", "CL-9")
def test_the_documented_role_is_enough(
    restricted_cluster,
    namespace,
    make_request,
    unique_name,
    leftover_objects,
    tmp_path,
):
    """For the whole life cycle of a package, with nothing more."""
    cluster = restricted_cluster()

    def package(**data):
        made = packages.build(
            tmp_path,
            {
                "a.yaml": [
                    manifests.deployment("web", None),
                    manifests.config_map("settings", **data),
                    secret("word"),
                ]
            },
            [packages.Vdu("web", "web", initial=1, most=3)],
        )
        return k8s_cr.load(made.path, def_files=made.files)

    k8s_cr.instantiate(make_request(cluster), package(a="1"))
    k8s_cr.scale(make_request(cluster), aspect="web", level=1)
    k8s_cr.change(make_request(cluster), package(a="2"))
    k8s_cr.heal(make_request(cluster))
    inventory = store.read(cluster, unique_name, namespace).inventory
    found = members.by_vdu(cluster, BUILT_IN, inventory)
    k8s_cr.roll_back(make_request(cluster))
    k8s_cr.status(make_request(cluster))
    k8s_cr.terminate(make_request(cluster))

    assert 2 == len(found["web"])
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("K4", "CL-9")
def test_all_missing_permissions_are_named_at_once(
    restricted_cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """Every verb, resource and namespace, before anything is there."""
    cluster = restricted_cluster(
        without_permission(
            ("deployments", "create"),
            ("configmaps", "patch"),
            ("configmaps", "delete"),
            ("secrets", "update"),
            ("leases", "create"),
        )
    )

    with pytest.raises(errors.PermissionsMissing) as caught:
        k8s_cr.instantiate(
            make_request(cluster),
            make_package(
                manifests.deployment("web"), manifests.config_map("a")
            ),
        )

    where = f"in the namespace {namespace}"
    assert (
        f"patch, delete configmaps {where}",
        f"update secrets {where}",
        f"create deployments.apps {where}",
        f"create leases.coordination.k8s.io {where}",
    ) == caught.value.missing
    assert [] == leftover_objects(unique_name, namespace)


def test_rights_at_the_cluster_scope(
    restricted_cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """A Role gives none, however much it allows in its namespace."""
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    group = f"{unique_name}.example.org"

    with pytest.raises(errors.PermissionsMissing) as caught:
        k8s_cr.instantiate(
            make_request(restricted_cluster([everything])),
            make_package(
                manifests.definition(group, "Thing"),
                manifests.custom(group, "Thing", "one", size="xl"),
            ),
        )

    assert (
        "get, create, patch, delete, watch "
        "customresourcedefinitions.apiextensions.k8s.io at the cluster scope",
        f"list things.{group} at the cluster scope",
    ) == caught.value.missing
    assert [] == leftover_objects(unique_name, namespace)


def test_a_shared_definition_needs_no_permission_to_create_it(
    restricted_cluster,
    make_request,
    kubectl,
    namespace,
    make_package,
    unique_name,
):
    """It is neither written nor deleted, so that takes no right."""
    group = f"{unique_name}.example.org"
    definition = manifests.definition(group, "Thing")
    k8s_cr.instantiate(make_request(), make_package(definition))
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": unique_name},
        "rules": [
            {
                "apiGroups": ["apiextensions.k8s.io"],
                "resources": ["customresourcedefinitions"],
                "verbs": ["get", "watch", "patch"],
            },
            {"apiGroups": [group], "resources": ["*"], "verbs": ["*"]},
        ],
    }
    kubectl("create", "-f", "-", stdin=json.dumps(binding))
    tenant = restricted_cluster()
    kubectl(
        "create",
        "clusterrolebinding",
        unique_name,
        f"--clusterrole={unique_name}",
        f"--serviceaccount={namespace}:user-0",
    )
    thing = manifests.custom(group, "Thing", "one", STORED, size="xl")

    k8s_cr.instantiate(
        make_request(tenant, f"{unique_name}-2"),
        make_package(definition, thing, name="b"),
    )

    k8s_cr.terminate(make_request(tenant, f"{unique_name}-2"))
    k8s_cr.terminate(make_request())
    kubectl("delete", "clusterrolebinding,clusterrole", unique_name)


STORED = {"k8s-cr.tacker.openstack.org/readiness": "exists"}


def test_permissions_for_names_only(
    restricted_cluster, make_package, check_lifecycle
):
    """A role may name the objects; creating takes no name."""
    rules = without_permission(
        *[("configmaps", verb) for verb in ("get", "patch", "delete")]
    )
    rules.append(
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["a", "b"],
            "verbs": ["get", "patch", "delete"],
        }
    )
    cluster = restricted_cluster(rules)

    check_lifecycle(
        cluster,
        make_package(manifests.config_map("a"), manifests.config_map("b")),
    )


def test_a_user_cannot_grant_permissions_that_it_does_not_have(
    restricted_cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """That is the server's own answer, in its words, in the dry run."""
    rbac = {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["roles"],
        "verbs": ["get", "list", "watch", "create", "patch", "delete"],
    }
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "nodes"},
        "rules": [
            {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["*"]}
        ],
    }

    with pytest.raises(errors.ClusterError) as caught:
        k8s_cr.instantiate(
            make_request(restricted_cluster([*DOCUMENTED["rules"], rbac])),
            make_package(role),
        )

    assert "attempting to grant RBAC permissions not currently held" in str(
        caught.value
    )
    assert [] == leftover_objects(unique_name, namespace)


def test_asking_costs_next_to_nothing(restricted_cluster, cluster, namespace):
    """However many objects there are."""
    items = [
        PlacedManifest(ObjectRef.of(found), found, "a.yaml")
        for found in (
            manifests.config_map(f"a{number}", namespace)
            for number in range(1000)
        )
    ]
    tenant = restricted_cluster()

    def cost(of):
        of.resource(items[0].ref.group_kind)
        before = of.requests
        with permissions_check.package_permissions(of, items, namespace):
            return of.requests - before

    assert 1 == cost(cluster)
    assert 2 == cost(tenant)


def test_it_can_be_switched_off(
    restricted_cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """The server's first refusal is reported then, and nothing is left."""
    cluster = restricted_cluster(without_permission(("configmaps", "create")))

    with pytest.raises(errors.Forbidden, match="cannot create resource"):
        k8s_cr.instantiate(
            make_request(
                cluster, options=k8s_cr.Options(check_permissions=False)
            ),
            make_package(manifests.config_map("a")),
        )

    assert [] == leftover_objects(unique_name, namespace)


def test_a_missing_permission_to_list_autoscalers_is_reported(
    restricted_cluster, namespace, make_request, make_package
):
    """The number is set, and the report lists what could not be read."""
    cluster = restricted_cluster(
        without_permission(("horizontalpodautoscalers", "list"))
    )
    web = ObjectRef("apps", "Deployment", namespace, "web")
    package = make_package(manifests.deployment("web", 1))
    k8s_cr.instantiate(make_request(cluster), package)

    (row,) = k8s_cr.scale(make_request(cluster), {web: 2}).objects

    assert 2 == cluster.get(web)["spec"]["replicas"]
    assert "HorizontalPodAutoscaler manages its replicas" in row.notes[0]
    k8s_cr.terminate(make_request(cluster))
