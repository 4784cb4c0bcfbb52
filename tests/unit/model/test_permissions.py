"""Which rights a package needs, and which rules show that they are there."""

from __future__ import annotations

import dataclasses

import hypothesis
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import permissions
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.permissions import Permission
from tacker_k8s_cr.model.permissions import PolicyRule
from tacker_k8s_cr.plan.placement import PlacedManifest
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.packages import make_package

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", True)
DEPLOYMENT = Resource(
    "apps",
    "v1",
    "Deployment",
    "deployments",
    True,
    subresources=frozenset(["status", "scale"]),
)
RESOURCES = {r.group_kind: r for r in (CONFIG_MAP, DEPLOYMENT)}
WEB = ObjectRef("apps", "Deployment", "edge", "web")


def rule(groups="", resources="*", verbs="*", names=()):
    return PolicyRule(
        frozenset(groups.split(",")),
        frozenset(resources.split(",")),
        frozenset(verbs.split(",")),
        frozenset(names),
    )


def right(resource, verb, *names, group="", namespace="edge"):
    return Permission(group, resource, namespace, verb, frozenset(names))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (right("pods", "get"), rule(resources="pods", verbs="get,list")),
        (right("pods", "get", "a"), rule(groups="*")),
        (right("deployments/scale", "patch"), rule(resources="*/scale")),
        (
            right("deployments/scale", "patch"),
            rule(resources="deployments/scale"),
        ),
        (right("pods", "get", "a"), rule(resources="pods", names=["a", "b"])),
    ],
)
def test_a_rule_shows_a_right(wanted, found):
    """As Kubernetes reads groups, resources, sub-resources and names."""
    assert permissions.is_allowed_by(wanted, [found])


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (right("pods", "get"), rule(resources="pods", verbs="list")),
        (right("pods", "get"), rule(groups="apps")),
        (right("pods", "get"), rule(resources="pods/status")),
        (right("deployments/scale", "patch"), rule(resources="deployments")),
        (right("pods", "get"), rule(resources="pods", names=["a"])),
        (right("pods", "get", "a", "c"), rule(resources="pods", names=["a"])),
    ],
)
def test_a_rule_that_is_about_something_else(wanted, found):
    """A rule for some names shows nothing about others."""
    assert not permissions.is_allowed_by(wanted, [found])


def test_rules_for_names_add_up():
    """Each of two rules may name one of the objects."""
    wanted = right("pods", "get", "a", "b")
    some = [rule(resources="pods", names=[name]) for name in "ab"]

    assert permissions.is_allowed_by(wanted, some)


@hypothesis.given(
    st.sampled_from(["", "apps", "*"]),
    st.sampled_from(["pods", "pods/log", "*"]),
    st.sampled_from(["get", "create", "*"]),
)
def test_an_administrator_passes(group, resource, verb):
    """Whatever it is."""
    wanted = Permission(group, resource, "edge", verb)

    assert permissions.is_allowed_by(wanted, [rule(groups="*")])


def test_what_an_object_needs():
    """From the check before to its end; the rest is good to have."""
    needs = permissions.for_objects([WEB], RESOURCES, scaled=[WEB])

    assert {
        ("deployments", "get"),
        ("deployments", "create"),
        ("deployments", "patch"),
        ("deployments", "delete"),
        ("deployments", "watch"),
        ("deployments/scale", "patch"),
        ("namespaces", "get"),
    } == {
        (n.permission.resource, n.permission.verb)
        for n in needs
        if n.is_required
    }
    assert {
        ("deployments", "list"),
        ("events", "list"),
        ("pods", "list"),
        ("replicasets", "list"),
    } == {
        (n.permission.resource, n.permission.verb)
        for n in needs
        if not n.is_required
    }


def test_members_are_listed():
    """A VNFM reports every VNFC, so it has to list them."""
    found = permissions.for_members(
        [
            WEB,
            ObjectRef("apps", "StatefulSet", "edge", "db"),
            ObjectRef("cluster.x-k8s.io", "MachineDeployment", "edge", "md"),
        ]
    )

    assert (
        "list machines.cluster.x-k8s.io in the namespace edge",
        "list pods in the namespace edge",
        "list replicasets.apps in the namespace edge",
    ) == tuple(
        sorted(
            permissions.format_permissions(need.permission for need in found)
        )
    )


def test_a_kind_without_status_need_not_be_watched():
    """It is current when it is stored."""
    needs = permissions.for_objects(
        [ObjectRef("", "ConfigMap", "edge", "a")], RESOURCES
    )

    assert ["watch"] == [
        need.permission.verb
        for need in needs
        if need.permission.resource == "configmaps"
        and not need.is_required
        and need.permission.verb != "list"
    ]


def test_many_objects_of_a_kind_are_one_question():
    """However many there are in a namespace."""
    refs = [ObjectRef("", "ConfigMap", "edge", f"a{n}") for n in range(1000)]

    needs = permissions.for_objects(refs, RESOURCES)

    assert 10 == len(needs)


def test_a_line_for_each_resource():
    """All verbs of a resource in a namespace stand together."""
    assert (
        "create namespaces at the cluster scope",
        "get, list secrets in the namespace edge",
        "patch deployments.apps/scale in the namespace edge",
    ) == permissions.format_permissions(
        [
            right("secrets", "get"),
            right("secrets", "list"),
            right("deployments/scale", "patch", group="apps"),
            right("namespaces", "create", namespace=""),
        ]
    )


# -- Asking a cluster --------------------------------------------------------


def placed(kind, name, namespace="edge", api_version="v1", **more):
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    manifest = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata,
        **more,
    }
    return PlacedManifest(ObjectRef.of(manifest), manifest, f"{name}.yaml")


ITEMS = (
    placed("ConfigMap", "a"),
    placed("Deployment", "web", api_version="apps/v1"),
)


def find_permissions(cluster, items=ITEMS, **options):
    with permissions_check.package_permissions(
        cluster, items, "home", **options
    ) as found:
        return found


def defining(kind, plural):
    return placed(
        "CustomResourceDefinition",
        f"{plural}.example.org",
        "",
        "apiextensions.k8s.io/v1",
        spec={
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": True}],
        },
    )


def denying(*denied):
    cluster = FakeCluster()
    everything = dataclasses.astuple(permissions.EVERYTHING)[:4]
    cluster.world.denies = lambda r: (
        dataclasses.astuple(r)[:4] == everything
        or (r.resource, r.verb) in denied
    )
    return cluster


def test_an_administrator_is_asked_about_once():
    """One request, whatever the package."""
    cluster = FakeCluster()

    find_permissions(cluster)

    assert 1 == len(cluster.sent)


def test_all_missing_permissions_are_named_at_once():
    """For the objects and for the record, before anything is sent."""
    cluster = denying(
        ("configmaps", "create"),
        ("configmaps", "delete"),
        ("secrets", "update"),
        ("deployments", "list"),
    )

    with pytest.raises(errors.PermissionsMissing) as caught:
        find_permissions(cluster)

    assert (
        "missing permissions on https://fake.example.org:\n"
        "  create, delete configmaps in the namespace edge\n"
        "  update secrets in the namespace home"
    ) == caught.value.outcome()
    assert {"review"} == {verb for verb, _ in cluster.sent}


def test_a_package_with_vdus_needs_more():
    """Its scaling, and the list of its members."""
    cluster = denying(("deployments/scale", "patch"), ("pods", "list"))

    with pytest.raises(errors.PermissionsMissing) as caught:
        find_permissions(cluster, vdus=[ITEMS[1].ref])

    assert (
        "list pods in the namespace edge",
        "patch deployments.apps/scale in the namespace edge",
    ) == caught.value.missing


def test_a_package_with_volume_claim_templates_needs_more():
    """To delete the claims when its instance ends."""
    cluster = denying(
        ("persistentvolumeclaims", "list"),
        ("persistentvolumeclaims", "delete"),
    )
    db = ObjectRef("apps", "StatefulSet", "edge", "db")

    find_permissions(cluster)
    with pytest.raises(errors.PermissionsMissing) as caught:
        find_permissions(cluster, claim_sets=[db])

    assert (
        "list, delete persistentvolumeclaims in the namespace edge",
    ) == caught.value.missing


def test_an_optional_permission_is_only_logged(caplog):
    """An operation works without it."""
    caplog.set_level("INFO")

    find_permissions(denying(("events", "list")))

    assert "possibly not required: list events in the namespace edge" in (
        caplog.text
    )


def test_a_shared_object_is_neither_made_nor_deleted():
    """Who may not make definitions may use those that are there."""
    cluster = denying(("configmaps", "create"))

    with permissions_check.package_permissions(
        cluster, ITEMS, "home"
    ) as found:
        found.shared = frozenset([ITEMS[0].ref])


def test_missing_permissions_come_before_other_refusals():
    """What a server forbids first is one of many."""
    cluster = denying(("configmaps", "create"), ("deployments", "patch"))
    forbidden = errors.Forbidden("patch", "deployments", "edge", "no")

    with (
        pytest.raises(
            errors.PermissionsMissing, match=r"patch deployments\.apps"
        ),
        permissions_check.package_permissions(cluster, ITEMS, "home"),
    ):
        raise forbidden


def test_other_refusals_are_reported_as_they_are():
    """That a definition may be shared is known only at the end."""
    cluster = denying(("configmaps", "create"))
    denied = errors.Rejected(ITEMS[1].ref, 403, "Forbidden", "by a webhook")

    with (
        pytest.raises(errors.DryRunFailed, match="by a webhook"),
        permissions_check.package_permissions(cluster, ITEMS, "home"),
    ):
        raise errors.DryRunFailed([denied])


def test_sharing_a_definition_needs_no_list_of_its_kind():
    """Foreign objects are listed only when it is deleted."""
    definition = defining("Router", "routers")
    cluster = denying(
        ("routers", "list"), ("customresourcedefinitions", "delete")
    )

    with permissions_check.package_permissions(
        cluster, (definition,), "home"
    ) as found:
        found.shared = frozenset([definition.ref])


def test_rights_in_a_namespace_to_come():
    """Who makes a namespace often gets rights in it then; nothing is said."""
    items = (placed("Namespace", "edge", ""), *ITEMS)

    find_permissions(denying(("configmaps", "create")), items)


def test_a_kind_to_be_defined():
    """Its definition has its name; its objects are listed at the end."""
    definition = defining("Router", "routers")
    router = placed("Router", "a", api_version="example.org/v1")
    cluster = denying(("routers", "create"), ("routers", "list"))

    with pytest.raises(errors.PermissionsMissing) as caught:
        find_permissions(cluster, (definition, router))

    assert (
        "list routers.example.org at the cluster scope",
        "create routers.example.org in the namespace edge",
    ) == caught.value.missing


@pytest.mark.parametrize(
    "error",
    [
        errors.Forbidden("create", "reviews", "", "no"),
        errors.DependencyMissing(
            ObjectRef("", "reviews", "", "*"), "not served"
        ),
    ],
)
def test_the_permission_for_reviews_is_not_required(caplog, error):
    """The server then reports the missing permissions one by one."""
    caplog.set_level("INFO")
    cluster = denying(("configmaps", "create"))
    cluster.fail(error, "review")

    find_permissions(cluster)

    assert "rights were not checked" in caplog.text


def test_it_can_be_left_out():
    """By an option: then nothing is asked."""
    cluster = denying(("configmaps", "create"))

    find_permissions(cluster, wanted=False)

    assert not cluster.sent


def test_what_any_instance_needs():
    """Without a package: for its record, its lock and explanations."""
    cluster = denying(("leases", "update"), ("pods", "list"))

    assert () == permissions_check.missing_for_record(FakeCluster(), "home")
    assert (
        "list pods in the namespace home",
        "update leases.coordination.k8s.io in the namespace home",
    ) == permissions_check.missing_for_record(cluster, "home")


def test_without_permission_to_prune_nothing_changes():
    """What the package before brought need not be in the new one."""
    cluster = FakeCluster()
    life = {"deadline": Deadline.after(60)}
    lcm.instantiate(
        lcm.Request(cluster, "one", **life),
        make_package(manifests.config_map("a"), manifests.config_map("b")),
    )
    pruned = right("configmaps", "delete", "b", namespace="default")
    cluster.world.denies = lambda asked: (
        asked in (pruned, permissions.EVERYTHING)
    )

    with pytest.raises(errors.PermissionsMissing) as caught:
        lcm.change(
            lcm.Request(cluster, "one", **life),
            make_package(manifests.config_map("a")),
        )

    assert (
        "delete configmaps in the namespace default",
    ) == caught.value.missing
    assert cluster.get(ObjectRef("", "ConfigMap", "default", "b"))


def test_missing_permissions_for_the_record_are_reported():
    """It is the first thing that is asked for."""
    cluster = denying(("secrets", "get"), ("leases", "update"))
    head = ObjectRef("", "Secret", "default", "tacker-k8s-cr.one")
    cluster.fail(errors.Forbidden("get", "secrets", "default", "no"), "", head)

    with pytest.raises(errors.PermissionsMissing) as caught:
        lcm.instantiate(
            lcm.Request(cluster, "one", deadline=Deadline.after(60)),
            make_package(manifests.config_map("a")),
        )

    assert (
        "get secrets in the namespace default",
        "update leases.coordination.k8s.io in the namespace default",
    ) == caught.value.missing
