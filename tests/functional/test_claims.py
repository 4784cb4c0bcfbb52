"""Volume claims of StatefulSets, and the volumes bound to them."""

from __future__ import annotations

import json

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.state import record_secrets
from tests.functional import manifests
from tests.functional import restricted_users
from tests.functional import volumes

pytestmark = pytest.mark.plane

USUAL = k8s_cr.Options()
RETAIN = k8s_cr.Options(statefulset_claims="retain")


@pytest.fixture
def instance(make_request, namespace, unique_name, make_package):
    """Brings in a StatefulSet ``db`` of two Pods, and a volume for each."""

    def make(*more, options=USUAL, when_deleted="", policy=None, timeout=None):
        package = make_package(
            volumes.volume(f"{unique_name}-0", unique_name),
            volumes.volume(f"{unique_name}-1", unique_name),
            volumes.stateful_set(
                "db", unique_name, replicas=2, when_deleted=when_deleted
            ),
            *more,
        )
        k8s_cr.instantiate(
            make_request(options=options, timeout=timeout),
            package,
            policy=policy or k8s_cr.Policy(),
        )
        return package

    return make


@pytest.fixture
def remove_volumes(cluster, kubectl, namespace, unique_name):
    """Removes the volumes that a test retains, with their claims."""
    yield
    kubectl(
        "delete", "statefulset,persistentvolumeclaim", "--all", "-n", namespace
    )
    names = [f"{unique_name}-{number}" for number in range(2)]
    kubectl("delete", "pv", "--ignore-not-found", *names)


@pytest.fixture
def check_nothing_left(cluster, namespace, unique_name, leftover_objects):
    """Neither claims nor volumes nor other objects of the instance exist."""

    def check():
        assert (set(), set()) == remaining_claims(
            cluster, unique_name, namespace
        )
        assert [] == leftover_objects(unique_name, namespace)

    return check


def claim(namespace, number=0, name="data-db"):
    return ObjectRef(
        "", "PersistentVolumeClaim", namespace, f"{name}-{number}"
    )


def volume(unique, number=0):
    return ObjectRef("", "PersistentVolume", "", f"{unique}-{number}")


def remaining_claims(cluster, unique, namespace):
    """Names of the claims and of the instance's volumes."""
    claims = {
        obj["metadata"]["name"]
        for obj in cluster.list_objects(claim("").group_kind, namespace)
    }
    held = {
        ref.name
        for ref in map(volume, [unique] * 2, range(2))
        if cluster.get_metadata(ref)
    }
    return claims, held


def wait_until(true):
    limit = k8s_cr.Deadline.after(600)
    while not true():
        assert not limit.expired


def bound(cluster, namespace, claims=2):
    """Waits until so many claims are bound."""

    def is_bound():
        listed = cluster.list_objects(claim("").group_kind, namespace)
        return claims == sum(
            obj["status"].get("phase") == "Bound" for obj in listed
        )

    wait_until(is_bound)


def retained_reasons(report):
    return {
        row.ref.name: row.verdict.reason
        for row in report.objects
        if row.action is Action.RETAINED
    }


@pytest.mark.requirement("IN-13")
def test_a_termination_deletes_the_claims_of_stateful_sets(
    instance, terminate, check_nothing_left
):
    """And the volumes that are bound to them."""
    instance()

    report = terminate()

    check_nothing_left()
    assert {"deleted"} == {row.action.value for row in report.objects}
    assert {"data-db-0", "data-db-1"} <= {
        row.ref.name for row in report.objects
    }


@pytest.mark.requirement("F4")
def test_the_manifest_retains_them_with_their_volumes(
    cluster,
    namespace,
    unique_name,
    instance,
    leftover_objects,
    remove_volumes,
    terminate,
):
    """The default that the API server sets does not count."""
    instance(when_deleted="Retain")
    bound(cluster, namespace)

    report = terminate()

    both = {"data-db-0", "data-db-1"}, {f"{unique_name}-0", f"{unique_name}-1"}
    assert both == remaining_claims(cluster, unique_name, namespace)
    assert set.union(*both) == retained_reasons(report).keys()
    reasons = set(retained_reasons(report).values())
    assert any("sets whenDeleted: Retain" in reason for reason in reasons)
    assert any("is bound to Persist" in reason for reason in reasons)
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("F4")
def test_an_option_retains_them(
    cluster,
    namespace,
    unique_name,
    instance,
    make_request,
    leftover_objects,
    remove_volumes,
    terminate,
):
    """A repeated termination retains the same claims."""
    held = manifests.config_map("held")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    instance(held)
    bound(cluster, namespace)

    with pytest.raises(errors.DeletionTimeout):
        k8s_cr.terminate(make_request(timeout=8, options=RETAIN))
    ref = ObjectRef("", "ConfigMap", namespace, "held")
    cluster.patch(ref, {"metadata": {"finalizers": None}}, "tests")
    report = terminate()

    both = {"data-db-0", "data-db-1"}, {f"{unique_name}-0", f"{unique_name}-1"}
    assert both == remaining_claims(cluster, unique_name, namespace)
    assert set.union(*both) == retained_reasons(report).keys()
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("F4")
def test_a_request_deletes_what_the_manifest_retains(
    cluster, namespace, unique_name, instance, terminate
):
    """The request to terminate overrides the manifest."""
    instance(when_deleted="Retain")
    options = k8s_cr.Options(statefulset_claims="delete")

    terminate(options=options)

    assert (set(), set()) == remaining_claims(cluster, unique_name, namespace)


def test_deletion_of_claims_by_kubernetes_is_not_a_conflict(
    instance, terminate, check_nothing_left
):
    """Claims that the garbage collector deletes cannot be retained."""
    instance(when_deleted="Delete")

    with pytest.raises(
        errors.RetentionImpossible, match=r"StatefulSet.apps/\S+/db is being"
    ):
        terminate(options=RETAIN)
    terminate()

    check_nothing_left()


def test_an_older_claim_is_retained(
    cluster,
    kubectl,
    namespace,
    unique_name,
    instance,
    leftover_objects,
    remove_volumes,
    terminate,
):
    """With the volume that it is bound to; the report lists both."""
    older = volumes.claim("data-db-0", unique_name, namespace, app="db")
    kubectl("create", "-f", "-", stdin=json.dumps(older))
    # Times are in whole seconds.
    made = cluster.get(claim(namespace))["metadata"]["creationTimestamp"]

    def later():
        probe = manifests.config_map("probe", namespace)
        obj = cluster.create(probe, "tests")
        cluster.delete(ObjectRef.of(obj), objects.uid(obj))
        return obj["metadata"]["creationTimestamp"] > made

    wait_until(later)
    instance()
    bound(cluster, namespace)
    number = cluster.get(claim(namespace))["spec"]["volumeName"][-1]

    report = terminate()

    left = {"data-db-0"}, {f"{unique_name}-{number}"}
    assert left == remaining_claims(cluster, unique_name, namespace)
    assert set.union(*left) == retained_reasons(report).keys()
    assert "is older than StatefulSet" in retained_reasons(report)["data-db-0"]
    assert [] == leftover_objects(unique_name, namespace)


def test_no_other_operation_deletes_claims(
    cluster,
    namespace,
    unique_name,
    make_package,
    instance,
    make_request,
    terminate,
):
    """Scale in, heal, change and its rollback keep the data."""
    instance()
    bound(cluster, namespace)
    both = {"data-db-0", "data-db-1"}
    uids = {
        number: objects.uid(cluster.get(claim(namespace, number)))
        for number in range(2)
    }
    db = ObjectRef("apps", "StatefulSet", namespace, "db")

    def untouched():
        claims, held = remaining_claims(cluster, unique_name, namespace)
        assert both == claims
        assert 2 == len(held)
        for number, uid in uids.items():
            assert uid == objects.uid(cluster.get(claim(namespace, number)))

    k8s_cr.scale(make_request(), {db: 1})
    untouched()
    k8s_cr.scale(make_request(), {db: 2})
    k8s_cr.heal(make_request())
    untouched()
    # The change drops the StatefulSet and the volumes.
    other = make_package(manifests.config_map("a"), name="b")
    report = k8s_cr.change(make_request(), other)
    untouched()
    assert both < retained_reasons(report).keys()
    assert {f"{unique_name}-0", f"{unique_name}-1"} < retained_reasons(
        report
    ).keys()
    assert (
        "terminate deletes or retains" in retained_reasons(report)["data-db-0"]
    )
    k8s_cr.roll_back(make_request())
    untouched()
    k8s_cr.change(make_request(), other)

    terminate()

    assert (set(), set()) == remaining_claims(cluster, unique_name, namespace)


def test_the_rollback_of_a_change_keeps_claims_that_it_made(
    cluster,
    namespace,
    unique_name,
    make_package,
    make_request,
    terminate,
    check_nothing_left,
):
    """They are deleted when the instance is terminated."""
    first = make_package(manifests.config_map("a"))
    k8s_cr.instantiate(make_request(), first)
    second = make_package(
        manifests.config_map("a"),
        volumes.volume(f"{unique_name}-0", unique_name),
        volumes.stateful_set("db", unique_name),
        name="b",
    )
    k8s_cr.change(make_request(), second)
    bound(cluster, namespace, 1)

    report = k8s_cr.roll_back(make_request())

    left = {"data-db-0"}, {f"{unique_name}-0"}
    assert left == remaining_claims(cluster, unique_name, namespace)
    assert set.union(*left) == retained_reasons(report).keys()
    terminate()
    check_nothing_left()


def test_the_rollback_of_an_instantiation_deletes_them(
    cluster, namespace, unique_name, instance, check_nothing_left, make_request
):
    """An instantiation that ended early is rolled back completely."""
    never = manifests.deployment("never", nodeSelector={"no": "node"})
    with pytest.raises(errors.ReadinessTimeout):
        instance(never, timeout=5)
    assert {"data-db-0", "data-db-1"} == remaining_claims(
        cluster, unique_name, namespace
    )[0]

    k8s_cr.roll_back(make_request())

    check_nothing_left()


@pytest.mark.parametrize("retain", [False, True])
def test_an_instantiation_rejected_half_way_deletes_them(
    cluster,
    namespace,
    unique_name,
    instance,
    leftover_objects,
    retain,
    remove_volumes,
):
    """Unless the request retains them, with their volumes."""
    refused = manifests.config_map("refused")
    refused["metadata"]["annotations"] = {
        objects.PREFIX + "depends-on": "StatefulSet.apps/db"
    }
    refused["data"] = {"key": "x" * 1_100_000}
    policy = k8s_cr.Policy(statefulset_claims="retain" if retain else "")

    with pytest.raises(errors.Rejected) as caught:
        instance(refused, options=k8s_cr.Options(dry_run=False), policy=policy)

    claims, held = remaining_claims(cluster, unique_name, namespace)
    assert ({"data-db-0", "data-db-1"} if retain else set()) == claims
    assert bool(held) <= retain
    assert claims | held == {ref.name for ref in caught.value.written}
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("F6")
def test_a_claim_that_holds_a_volume_is_named_with_its_user(
    cluster,
    kubectl,
    namespace,
    unique_name,
    make_package,
    make_request,
    terminate,
):
    """In the error, while the deletion hangs."""
    package = make_package(volumes.volume(f"{unique_name}-0", unique_name))
    k8s_cr.instantiate(make_request(), package)
    theirs = volumes.stateful_set("db", unique_name)
    theirs["metadata"]["namespace"] = namespace
    kubectl("create", "-f", "-", stdin=json.dumps(theirs))
    bound(cluster, namespace, 1)
    pod = ObjectRef("", "Pod", namespace, "db-0")
    wait_until(lambda: cluster.get(pod) is not None)

    with pytest.raises(errors.DeletionTimeout) as caught:
        k8s_cr.terminate(make_request(timeout=6))

    assert (
        f"it is bound to PersistentVolumeClaim/{namespace}/data-db-0 (used "
        f"by Pod/{namespace}/db-0; of StatefulSet.apps/{namespace}/db)"
    ) in str(caught.value)
    kubectl(
        "delete", "statefulset,persistentvolumeclaim", "--all", "-n", namespace
    )
    terminate()


def test_deleting_claims_needs_permissions(
    restricted_cluster,
    cluster,
    namespace,
    unique_name,
    make_package,
    make_request,
    leftover_objects,
    remove_volumes,
):
    """Missing permissions are reported before the first delete.

    Retained claims need none: their names show which volumes stay.
    """
    rules = restricted_users.without_permission(
        ("persistentvolumeclaims", "list"),
        ("persistentvolumeclaims", "delete"),
    )
    everywhere = {
        "apiGroups": [""],
        "resources": ["persistentvolumes"],
        "verbs": ["get", "list", "watch", "create", "patch", "delete"],
    }
    tenant = restricted_cluster(rules, [everywhere])
    package = make_package(
        volumes.volume(f"{unique_name}-0", unique_name),
        volumes.stateful_set("db", unique_name),
    )
    missing = (
        f"list, delete persistentvolumeclaims in the namespace {namespace}"
    )

    with pytest.raises(errors.PermissionsMissing, match=missing):
        k8s_cr.instantiate(make_request(tenant), package)
    k8s_cr.instantiate(make_request(), package)
    bound(cluster, namespace, 1)
    with pytest.raises(errors.PermissionsMissing, match=missing) as caught:
        k8s_cr.terminate(make_request(tenant))
    assert "--statefulset-claims retain" in str(caught.value)
    assert 0 == len(caught.value.written)
    report = k8s_cr.terminate(make_request(tenant, options=RETAIN))

    left = {"data-db-0"}, {f"{unique_name}-0"}
    assert left == remaining_claims(cluster, unique_name, namespace)
    assert set.union(*left) == retained_reasons(report).keys()
    assert [] == leftover_objects(unique_name, namespace)


def test_without_a_record_claims_are_found_by_their_sets(
    cluster, namespace, unique_name, instance, terminate, check_nothing_left
):
    """The labels of the StatefulSets show that they are the instance's."""
    instance()
    for secret in cluster.list_metadata(
        ObjectRef("", "Secret", "", "").group_kind,
        namespace,
        record_secrets.selector(unique_name),
    ):
        cluster.delete(ObjectRef.of(secret), objects.uid(secret))

    terminate()

    check_nothing_left()
