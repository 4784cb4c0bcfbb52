"""What a request says on a package as a whole, on a real API server."""

from __future__ import annotations

import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import objects
from tacker_k8s_cr import policy
from tacker_k8s_cr.healing import members
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package.model import Aspect
from tacker_k8s_cr.package.model import Vdu
from tacker_k8s_cr.package.model import Vnfd
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
from tests.functional import manifests

pytestmark = pytest.mark.plane


@pytest.fixture
def life(namespace, deadline):
    return {"namespace": namespace, "deadline": deadline}


@pytest.fixture
def group(unique):
    return f"{unique}.example.org"


def read(**given):
    return policy.of(given)


def states(report):
    return {row.ref.name: row.verdict.state.value for row in report.rows}


def test_readiness_is_judged_alike_in_all_operations(
    cluster, namespace, packed, life, unique, group
):
    """What instantiate took for current, status and scale do too (P2)."""

    def package(size):
        return packed(
            manifests.definition(group, "Thing"),
            manifests.custom(group, "Thing", "one", replicas=1),
            manifests.custom(group, "Thing", "two", size=size),
        )

    two = f"Thing.{group}/{namespace}/two"
    told = [
        {"of": f"Thing.{group}", "readiness": "created"},
        {
            "of": two,
            "current_when": "spec.size=xl",
            "failed_when": "spec.size=bad",
        },
    ]
    asked = read(readiness=told)
    with pytest.raises(errors.Failed, match="two") as caught:
        k8s_cr.instantiate(
            cluster, unique, package("bad"), policy=asked, **life
        )
    assert [two] == [str(item.ref) for item in caught.value.unsettled]

    k8s_cr.instantiate(cluster, unique, package("xl"), policy=asked, **life)

    assert {"current"} == set(
        states(k8s_cr.status(cluster, unique, **life)).values()
    )
    one = ObjectRef(group, "Thing", namespace, "one")
    k8s_cr.scale(cluster, unique, {one: 3}, **life)
    k8s_cr.heal(cluster, unique, **life)
    k8s_cr.change(cluster, unique, package("xl"), **life)
    assert asked == record.read(cluster, unique, namespace).inventory.policy
    other = read(
        readiness=[{"of": f"Thing.{group}", "failed_when": "spec.replicas=3"}]
    )
    with pytest.raises(errors.Failed, match="one"):
        # Nothing is written, so what fails may be from before for a while.
        k8s_cr.change(
            cluster,
            unique,
            package("xl"),
            policy=other,
            options=k8s_cr.Options(dwell=1.0),
            **life,
        )
    # It goes with the change that failed.
    k8s_cr.roll_back(cluster, unique, **life)
    assert asked == record.read(cluster, unique, namespace).inventory.policy


def test_an_annotation_goes_before_the_policy(
    cluster, packed, life, unique, group
):
    """The author of an object knows it better than who asks (P2)."""
    broken = {objects.PREFIX + "failed-when": "spec.size=bad"}
    package = packed(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one", broken, size="bad"),
    )
    asked = read(readiness=[{"of": f"Thing.{group}", "readiness": "created"}])

    with pytest.raises(errors.Failed, match="one"):
        k8s_cr.instantiate(cluster, unique, package, policy=asked, **life)


def test_a_change_prunes_and_keeps_what_the_policy_names(
    cluster, namespace, packed, life, unique, group
):
    """By kind and by object; annotations of the former manifest win (P19)."""
    kept = manifests.config_map("kept")
    noted = manifests.config_map("noted")
    noted["metadata"]["annotations"] = {objects.PREFIX + "prune": "true"}
    definition = manifests.definition(group, "Thing")
    k8s_cr.instantiate(
        cluster,
        unique,
        packed(kept, noted, definition, manifests.config_map("gone")),
        **life,
    )
    asked = read(
        prune={
            "may": ["CustomResourceDefinition.apiextensions.k8s.io"],
            "keep": ["ConfigMap/kept", "ConfigMap/noted"],
        }
    )

    report = k8s_cr.change(
        cluster,
        unique,
        packed(manifests.config_map("new"), name="b"),
        policy=asked,
        **life,
    )

    assert {
        "new": Action.CREATED,
        "kept": Action.KEPT,
        "noted": Action.DELETED,
        "gone": Action.DELETED,
        f"things.{group}": Action.DELETED,
    } == {row.ref.name: row.action for row in report.rows}


def test_override_moves_a_package_with_its_references(
    cluster, namespace, packed, life, unique
):
    """A binding still gives its role to the account (T1, T14)."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "operator", "namespace": "elsewhere"},
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "operator", "namespace": "elsewhere"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "view",
        },
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": "operator",
                "namespace": "elsewhere",
            }
        ],
    }
    package = packed(account, binding)

    with pytest.raises(errors.PackageInvalid, match="namespace elsewhere"):
        k8s_cr.instantiate(
            cluster,
            unique,
            package,
            policy=read(namespaces="refuse"),
            **life,
        )
    k8s_cr.instantiate(
        cluster, unique, package, policy=read(namespaces="override"), **life
    )

    ref = ObjectRef(
        "rbac.authorization.k8s.io", "RoleBinding", namespace, "operator"
    )
    assert [namespace] == [
        subject["namespace"] for subject in cluster.get(ref)["subjects"]
    ]
    k8s_cr.heal(cluster, unique, **life)
    k8s_cr.terminate(cluster, unique, **life)


def vnfd(*vdus):
    return Vnfd(
        id="v",
        flavour="simple",
        vdus={vdu: Vdu(vdu, f"name-of-{vdu}", 0, 5) for vdu in vdus},
        aspects={vdu: Aspect(vdu, 4, {vdu: (1,)}) for vdu in vdus},
        initial=dict.fromkeys(vdus, 1),
        levels={},
        level_numbers={},
        default_level="",
    )


def test_a_mapping_of_vdus_holds_for_all_that_comes(
    cluster, namespace, packed, life, unique
):
    """Scale, members, heal and a later scale go by it (TK-5, T12)."""
    package = dataclasses.replace(
        packed(manifests.deployment("web"), manifests.deployment("db")),
        vnfd=vnfd("front", "back"),
    )
    mapping = {"front": "Deployment/web", "back": "db"}

    k8s_cr.instantiate(cluster, unique, package, vdu_mapping=mapping, **life)
    k8s_cr.scale(cluster, unique, aspect="front", level=2, **life)

    web = ObjectRef("apps", "Deployment", namespace, "web")
    assert 3 == cluster.get(web)["spec"]["replicas"]
    inventory = record.read(cluster, unique, namespace).inventory
    found = members.by_vdu(cluster, kinds.BUILT_IN, inventory)
    assert {"front": 3, "back": 1} == {v: len(m) for v, m in found.items()}
    k8s_cr.heal(cluster, unique, {found["back"][0].uid}, **life)
    cluster.delete(web, objects.uid(cluster.get(web)))
    k8s_cr.heal(cluster, unique, **life)
    assert 3 == cluster.get(web)["spec"]["replicas"]


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"side": "web"}, "the mapping names VDU side; the package has: fr"),
        (
            {"front": "Deployment/wep"},
            "front is mapped to Deployment/wep: no sel",
        ),
    ],
)
def test_a_mapping_that_names_what_is_not_is_refused(
    cluster, namespace, packed, life, unique, traces, mapping, said
):
    """By name, and before anything is written (T11)."""
    package = dataclasses.replace(
        packed(manifests.deployment("web"), manifests.config_map("c")),
        vnfd=vnfd("front"),
    )

    with pytest.raises(errors.RequestInvalid, match=said):
        k8s_cr.instantiate(
            cluster, unique, package, vdu_mapping=mapping, **life
        )

    assert [] == traces(unique, namespace)
