"""A user who may do little: what it takes, and what is told."""

from __future__ import annotations

import json

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.kinds import BUILT_IN
from tacker_k8s_cr.lcm import preflight
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.recording import record
from tests.e2e import packages
from tests.functional import manifests
from tests.functional.users import DOCUMENTED
from tests.functional.users import without

pytestmark = pytest.mark.plane


def secret(name):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": {"word": "planted-word"},
    }


def test_the_documented_role_is_enough(
    user, namespace, deadline, unique, traces, tmp_path
):
    """For the whole life of a package, with nothing more (K4)."""
    cluster = user()
    life = {"namespace": namespace, "deadline": deadline}

    def package(**data):
        made = packages.of(
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

    k8s_cr.instantiate(cluster, unique, package(a="1"), **life)
    k8s_cr.scale(cluster, unique, aspect="web", level=1, **life)
    k8s_cr.change(cluster, unique, package(a="2"), **life)
    k8s_cr.heal(cluster, unique, **life)
    inventory = record.read(cluster, unique, namespace).inventory
    found = members.by_vdu(cluster, BUILT_IN, inventory)
    k8s_cr.roll_back(cluster, unique, **life)
    k8s_cr.status(cluster, unique, **life)
    k8s_cr.terminate(cluster, unique, **life)

    assert 2 == len(found["web"])
    assert [] == traces(unique, namespace)


def test_all_that_lacks_is_named_at_once(
    user, namespace, packed, deadline, unique, traces
):
    """Every verb, resource and namespace, before anything is there (K4)."""
    cluster = user(
        without(
            ("deployments", "create"),
            ("configmaps", "patch"),
            ("configmaps", "delete"),
            ("secrets", "update"),
            ("leases", "create"),
        )
    )

    with pytest.raises(errors.RightsLacking) as caught:
        k8s_cr.instantiate(
            cluster,
            unique,
            packed(manifests.deployment("web"), manifests.config_map("a")),
            namespace=namespace,
            deadline=deadline,
        )

    where = f"in the namespace {namespace}"
    assert (
        f"patch, delete configmaps {where}",
        f"update secrets {where}",
        f"create deployments.apps {where}",
        f"create leases.coordination.k8s.io {where}",
    ) == caught.value.lacking
    assert [] == traces(unique, namespace)


def test_rights_at_the_cluster_scope(
    user, namespace, packed, deadline, unique, traces
):
    """A Role gives none, however much it allows in its namespace (K4)."""
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    group = f"{unique}.example.org"

    with pytest.raises(errors.RightsLacking) as caught:
        k8s_cr.instantiate(
            user([everything]),
            unique,
            packed(
                manifests.definition(group, "Thing"),
                manifests.custom(group, "Thing", "one", size="xl"),
            ),
            namespace=namespace,
            deadline=deadline,
        )

    assert (
        "get, create, patch, delete, watch "
        "customresourcedefinitions.apiextensions.k8s.io at the cluster scope",
        f"list things.{group} at the cluster scope",
    ) == caught.value.lacking
    assert [] == traces(unique, namespace)


def test_who_may_not_make_a_definition_may_use_a_shared_one(
    user, cluster, kubectl, namespace, packed, deadline, unique
):
    """It is neither written nor deleted, so that takes no right (K4)."""
    group = f"{unique}.example.org"
    definition = manifests.definition(group, "Thing")
    life = {"namespace": namespace, "deadline": deadline}
    k8s_cr.instantiate(cluster, unique, packed(definition), **life)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": unique},
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
    tenant = user()
    kubectl(
        "create",
        "clusterrolebinding",
        unique,
        f"--clusterrole={unique}",
        f"--serviceaccount={namespace}:user-0",
    )
    thing = manifests.custom(group, "Thing", "one", STORED, size="xl")

    k8s_cr.instantiate(
        tenant, f"{unique}-2", packed(definition, thing, name="b"), **life
    )

    k8s_cr.terminate(tenant, f"{unique}-2", **life)
    k8s_cr.terminate(cluster, unique, **life)
    kubectl("delete", "clusterrolebinding,clusterrole", unique)


STORED = {"k8s-cr.tacker.openstack.org/readiness": "created"}


def test_rights_for_names_only(
    user, namespace, packed, deadline, unique, traces
):
    """A role may name the objects; creating takes no name (K4)."""
    rules = without(
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
    cluster = user(rules)
    life = {"namespace": namespace, "deadline": deadline}

    k8s_cr.instantiate(
        cluster,
        unique,
        packed(manifests.config_map("a"), manifests.config_map("b")),
        **life,
    )
    k8s_cr.terminate(cluster, unique, **life)

    assert [] == traces(unique, namespace)


def test_nobody_grants_what_they_do_not_have(
    user, namespace, packed, deadline, unique, traces
):
    """That is the server's own answer, in its words, in the dry run (K4)."""
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
            user([*DOCUMENTED["rules"], rbac]),
            unique,
            packed(role),
            namespace=namespace,
            deadline=deadline,
        )

    assert "attempting to grant RBAC permissions not currently held" in str(
        caught.value
    )
    assert [] == traces(unique, namespace)


def test_asking_costs_next_to_nothing(user, cluster, namespace):
    """However many objects there are."""
    items = [
        Placed(ObjectRef.of(found), found, "a.yaml")
        for found in (
            manifests.config_map(f"a{number}", namespace)
            for number in range(1000)
        )
    ]
    tenant = user()

    def cost(of):
        of.resource(items[0].ref.group_kind)
        before = of.requests
        with preflight.checked(of, items, namespace):
            return of.requests - before

    assert 1 == cost(cluster)
    assert 2 == cost(tenant)


def test_it_can_be_switched_off(
    user, namespace, packed, deadline, unique, traces
):
    """The server's first refusal is told then, and nothing is left."""
    cluster = user(without(("configmaps", "create")))

    with pytest.raises(errors.Forbidden, match="cannot create resource"):
        k8s_cr.instantiate(
            cluster,
            unique,
            packed(manifests.config_map("a")),
            namespace=namespace,
            deadline=deadline,
            options=k8s_cr.Options(check_rights=False),
        )

    assert [] == traces(unique, namespace)


def test_who_may_not_look_for_autoscalers_is_told(
    user, namespace, deadline, unique, packed
):
    """The number is set, and the report says what nobody could see (P8)."""
    cluster = user(without(("horizontalpodautoscalers", "list")))
    life = {"namespace": namespace, "deadline": deadline}
    web = ObjectRef("apps", "Deployment", namespace, "web")
    package = packed(manifests.deployment("web", 1))
    k8s_cr.instantiate(cluster, unique, package, **life)

    (row,) = k8s_cr.scale(cluster, unique, {web: 2}, **life).rows

    assert 2 == cluster.get(web)["spec"]["replicas"]
    assert "HorizontalPodAutoscaler keeps its number" in row.notes[0]
    k8s_cr.terminate(cluster, unique, **life)
