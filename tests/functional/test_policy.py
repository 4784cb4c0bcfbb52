"""Policies of a request for a whole package, on a real API server."""

from __future__ import annotations

import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.state import store
from tests.functional import manifests

pytestmark = pytest.mark.plane


@pytest.fixture
def group(unique_name):
    return f"{unique_name}.example.org"


def read(**given):
    return policy.from_dict(given)


def states(report):
    return {row.ref.name: row.verdict.state.value for row in report.objects}


@pytest.mark.requirement("P2", "C3", "P1")
def test_readiness_is_judged_alike_in_all_operations(
    cluster, namespace, make_package, make_request, unique_name, group
):
    """What instantiate took for current, status and scale do too."""

    def package(size):
        return make_package(
            manifests.definition(group, "Thing"),
            manifests.custom(group, "Thing", "one", replicas=1),
            manifests.custom(group, "Thing", "two", size=size),
        )

    two = f"Thing.{group}/{namespace}/two"
    told = [
        {"of": f"Thing.{group}", "readiness": "exists"},
        {
            "of": two,
            "ready_when": "spec.size=xl",
            "failed_when": "spec.size=bad",
        },
    ]
    asked = read(readiness=told)
    with pytest.raises(errors.ObjectsFailed, match="two") as caught:
        k8s_cr.instantiate(make_request(), package("bad"), policy=asked)
    assert [two] == [str(item.ref) for item in caught.value.pending]

    k8s_cr.instantiate(make_request(), package("xl"), policy=asked)

    assert {"current"} == set(states(k8s_cr.status(make_request())).values())
    one = ObjectRef(group, "Thing", namespace, "one")
    k8s_cr.scale(make_request(), {one: 3})
    k8s_cr.heal(make_request())
    k8s_cr.change(make_request(), package("xl"))
    assert (
        asked == store.read(cluster, unique_name, namespace).inventory.policy
    )
    other = read(
        readiness=[{"of": f"Thing.{group}", "failed_when": "spec.replicas=3"}]
    )
    with pytest.raises(errors.ObjectsFailed, match="one"):
        # Nothing is written, so what fails may be from before for a while.
        k8s_cr.change(
            make_request(options=k8s_cr.Options(stall_timeout=1.0)),
            package("xl"),
            policy=other,
        )
    # It is deleted with the change that failed.
    k8s_cr.roll_back(make_request())
    assert (
        asked == store.read(cluster, unique_name, namespace).inventory.policy
    )


@pytest.mark.requirement("P2", "T10")
def test_a_kind_may_have_its_own_limit_or_not_be_waited_for(
    make_package, make_request, group
):
    """A Deployment without its account is blocked after that of its kind."""
    package = make_package(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one", size="bad"),
        _without_account(manifests.deployment("web")),
    )
    limits = [
        {"of": f"Thing.{group}", "readiness": "none"},
        {"of": "Deployment.apps", "stall_timeout": 1},
    ]

    with pytest.raises(errors.ObjectsFailed) as caught:
        k8s_cr.instantiate(
            make_request(options=k8s_cr.Options(stall_timeout=3600.0)),
            package,
            policy=read(readiness=limits),
        )

    assert ["web"] == [item.ref.name for item in caught.value.pending]
    assert "blocked" in str(caught.value)


def _without_account(deployment):
    """Name a ServiceAccount that does not exist, so that no Pod is created."""
    deployment["spec"]["template"]["spec"]["serviceAccountName"] = "missing"
    return deployment


@pytest.mark.requirement("P2")
def test_an_annotation_wins_over_the_policy(make_request, make_package, group):
    """The author's rule for an object takes precedence over the request's."""
    broken = {objects.PREFIX + "failed-when": "spec.size=bad"}
    package = make_package(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one", broken, size="bad"),
    )
    asked = read(readiness=[{"of": f"Thing.{group}", "readiness": "exists"}])

    with pytest.raises(errors.ObjectsFailed, match="one"):
        k8s_cr.instantiate(make_request(), package, policy=asked)


@pytest.mark.requirement("T6", "P19", "E3")
def test_a_change_prunes_and_keeps_what_the_policy_names(
    make_request, namespace, make_package, group
):
    """By kind and by object; annotations of the former manifest win."""
    kept = manifests.config_map("kept")
    noted = manifests.config_map("noted")
    noted["metadata"]["annotations"] = {objects.PREFIX + "prune": "true"}
    definition = manifests.definition(group, "Thing")
    k8s_cr.instantiate(
        make_request(),
        make_package(kept, noted, definition, manifests.config_map("gone")),
    )
    asked = read(
        prune={
            "allow": ["CustomResourceDefinition.apiextensions.k8s.io"],
            "protect": ["ConfigMap/kept", "ConfigMap/noted"],
        }
    )

    report = k8s_cr.change(
        make_request(),
        make_package(manifests.config_map("new"), name="b"),
        policy=asked,
    )

    assert {
        "new": Action.CREATED,
        "kept": Action.RETAINED,
        "noted": Action.DELETED,
        "gone": Action.DELETED,
        f"things.{group}": Action.DELETED,
    } == {row.ref.name: row.action for row in report.objects}


def test_override_moves_a_package_with_its_references(
    cluster, namespace, make_package, make_request
):
    """A binding still gives its role to the account."""
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
    package = make_package(account, binding)

    with pytest.raises(errors.PackageInvalid, match="namespace elsewhere"):
        k8s_cr.instantiate(
            make_request(), package, policy=read(namespace_mode="strict")
        )
    k8s_cr.instantiate(
        make_request(), package, policy=read(namespace_mode="force")
    )

    ref = ObjectRef(
        "rbac.authorization.k8s.io", "RoleBinding", namespace, "operator"
    )
    assert [namespace] == [
        subject["namespace"] for subject in cluster.get(ref)["subjects"]
    ]
    k8s_cr.heal(make_request())
    k8s_cr.terminate(make_request())


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


@pytest.mark.requirement("TK-5")
def test_a_mapping_of_vdus_holds_for_all_that_comes(
    cluster, namespace, make_package, make_request, unique_name
):
    """Scale, members, heal and a later scale go by it."""
    package = dataclasses.replace(
        make_package(manifests.deployment("web"), manifests.deployment("db")),
        vnfd=vnfd("front", "back"),
    )
    mapping = {"front": "Deployment/web", "back": "db"}

    k8s_cr.instantiate(make_request(), package, vdu_mapping=mapping)
    k8s_cr.scale(make_request(), aspect="front", level=2)

    web = ObjectRef("apps", "Deployment", namespace, "web")
    assert 3 == cluster.get(web)["spec"]["replicas"]
    inventory = store.read(cluster, unique_name, namespace).inventory
    found = members.by_vdu(cluster, kinds.BUILT_IN, inventory)
    assert {"front": 3, "back": 1} == {v: len(m) for v, m in found.items()}
    k8s_cr.heal(make_request(), {found["back"][0].uid})
    cluster.delete(web, objects.uid(cluster.get(web)))
    k8s_cr.heal(make_request())
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
    make_request,
    namespace,
    make_package,
    unique_name,
    leftover_objects,
    mapping,
    said,
):
    """By name, and before anything is written."""
    package = dataclasses.replace(
        make_package(manifests.deployment("web"), manifests.config_map("c")),
        vnfd=vnfd("front"),
    )

    with pytest.raises(errors.RequestInvalid, match=said):
        k8s_cr.instantiate(make_request(), package, vdu_mapping=mapping)

    assert [] == leftover_objects(unique_name, namespace)
