"""Volume claims of StatefulSets, and the volumes bound to them."""

from __future__ import annotations

import json

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
from tests.functional import manifests
from tests.functional import users
from tests.functional import volumes

pytestmark = pytest.mark.plane

USUAL = k8s_cr.Options()
RETAIN = k8s_cr.Options(statefulset_claims="retain")


@pytest.fixture
def life(namespace, deadline):
    return {"namespace": namespace, "deadline": deadline}


@pytest.fixture
def soon(namespace):
    deadline = k8s_cr.Deadline.after(6)
    return {"namespace": namespace, "deadline": deadline}


@pytest.fixture
def instance(cluster, namespace, unique, packed, life):
    """Brings in a StatefulSet ``db`` of two Pods, and a volume for each."""

    def make(*more, options=USUAL, when_deleted="", policy=None):
        package = packed(
            volumes.volume(f"{unique}-0", unique),
            volumes.volume(f"{unique}-1", unique),
            volumes.stateful_set(
                "db", unique, replicas=2, when_deleted=when_deleted
            ),
            *more,
        )
        k8s_cr.instantiate(
            cluster,
            unique,
            package,
            options=options,
            policy=policy or k8s_cr.Policy(),
            **life,
        )
        return package

    return make


@pytest.fixture
def cleaned(cluster, kubectl, namespace, unique):
    """Removes the volumes that a test retains, with their claims."""
    yield
    kubectl(
        "delete", "statefulset,persistentvolumeclaim", "--all", "-n", namespace
    )
    names = [f"{unique}-{number}" for number in range(2)]
    kubectl("delete", "pv", "--ignore-not-found", *names)


def claim(namespace, number=0, name="data-db"):
    return ObjectRef(
        "", "PersistentVolumeClaim", namespace, f"{name}-{number}"
    )


def volume(unique, number=0):
    return ObjectRef("", "PersistentVolume", "", f"{unique}-{number}")


def there(cluster, unique, namespace):
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


def until(true):
    limit = k8s_cr.Deadline.after(60)
    while not true():
        assert not limit.passed


def bound(cluster, namespace, claims=2):
    """Waits until so many claims are bound."""

    def look():
        listed = cluster.list_objects(claim("").group_kind, namespace)
        return claims == sum(
            obj["status"].get("phase") == "Bound" for obj in listed
        )

    until(look)


def kept(report):
    return {
        row.ref.name: row.verdict.reason
        for row in report.rows
        if row.action is Action.KEPT
    }


def test_a_termination_deletes_the_claims_of_stateful_sets(
    cluster, namespace, unique, instance, life, traces
):
    """And the volumes that are bound to them (P16, P17)."""
    instance()

    report = k8s_cr.terminate(cluster, unique, **life)

    assert (set(), set()) == there(cluster, unique, namespace)
    assert [] == traces(unique, namespace)
    assert {"deleted"} == {row.action.value for row in report.rows}
    assert {"data-db-0", "data-db-1"} <= {row.ref.name for row in report.rows}


def test_the_manifest_retains_them_with_their_volumes(
    cluster, namespace, unique, instance, life, traces, cleaned
):
    """The default that the API server sets does not count (F4)."""
    instance(when_deleted="Retain")
    bound(cluster, namespace)

    report = k8s_cr.terminate(cluster, unique, **life)

    both = {"data-db-0", "data-db-1"}, {f"{unique}-0", f"{unique}-1"}
    assert both == there(cluster, unique, namespace)
    assert set.union(*both) == kept(report).keys()
    reasons = set(kept(report).values())
    assert any("sets whenDeleted: Retain" in reason for reason in reasons)
    assert any("is bound to Persist" in reason for reason in reasons)
    assert [] == traces(unique, namespace)


def test_an_option_retains_them(
    cluster, namespace, unique, instance, life, traces, cleaned
):
    """A repeated termination retains the same claims (F4)."""
    held = manifests.config_map("held")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    instance(held)
    bound(cluster, namespace)
    short = {**life, "deadline": k8s_cr.Deadline.after(8)}

    with pytest.raises(errors.NotGone):
        k8s_cr.terminate(cluster, unique, options=RETAIN, **short)
    ref = ObjectRef("", "ConfigMap", namespace, "held")
    cluster.patch(ref, {"metadata": {"finalizers": None}}, "tests")
    report = k8s_cr.terminate(cluster, unique, **life)

    both = {"data-db-0", "data-db-1"}, {f"{unique}-0", f"{unique}-1"}
    assert both == there(cluster, unique, namespace)
    assert set.union(*both) == kept(report).keys()
    assert [] == traces(unique, namespace)


def test_a_request_deletes_what_the_manifest_retains(
    cluster, namespace, unique, instance, life
):
    """The request to terminate overrides the manifest (F4)."""
    instance(when_deleted="Retain")
    options = k8s_cr.Options(statefulset_claims="delete")

    k8s_cr.terminate(cluster, unique, options=options, **life)

    assert (set(), set()) == there(cluster, unique, namespace)


def test_kubernetes_own_deletion_of_claims_is_no_conflict(
    cluster, namespace, unique, instance, life, traces
):
    """Claims that the garbage collector deletes cannot be retained."""
    instance(when_deleted="Delete")

    with pytest.raises(
        errors.NotKept, match=r"StatefulSet.apps/\S+/db, which"
    ):
        k8s_cr.terminate(cluster, unique, options=RETAIN, **life)
    k8s_cr.terminate(cluster, unique, **life)

    assert (set(), set()) == there(cluster, unique, namespace)
    assert [] == traces(unique, namespace)


def test_an_older_claim_is_retained(
    cluster, kubectl, namespace, unique, instance, life, traces, cleaned
):
    """With the volume that it is bound to; the report lists both."""
    older = volumes.claim("data-db-0", unique, namespace, app="db")
    kubectl("create", "-f", "-", stdin=json.dumps(older))
    # Times are in whole seconds.
    made = cluster.get(claim(namespace))["metadata"]["creationTimestamp"]

    def later():
        probe = manifests.config_map("probe", namespace)
        obj = cluster.create(probe, "tests")
        cluster.delete(ObjectRef.of(obj), objects.uid(obj))
        return obj["metadata"]["creationTimestamp"] > made

    until(later)
    instance()
    bound(cluster, namespace)
    number = cluster.get(claim(namespace))["spec"]["volumeName"][-1]

    report = k8s_cr.terminate(cluster, unique, **life)

    left = {"data-db-0"}, {f"{unique}-{number}"}
    assert left == there(cluster, unique, namespace)
    assert set.union(*left) == kept(report).keys()
    assert "is older than StatefulSet" in kept(report)["data-db-0"]
    assert [] == traces(unique, namespace)


def test_no_other_operation_deletes_claims(
    cluster, namespace, unique, packed, instance, life
):
    """Scale in, heal, change and its rollback keep the data (P9, T6)."""
    instance()
    bound(cluster, namespace)
    both = {"data-db-0", "data-db-1"}
    uids = {
        number: objects.uid(cluster.get(claim(namespace, number)))
        for number in range(2)
    }
    db = ObjectRef("apps", "StatefulSet", namespace, "db")

    def untouched():
        claims, held = there(cluster, unique, namespace)
        assert both == claims
        assert 2 == len(held)
        for number, uid in uids.items():
            assert uid == objects.uid(cluster.get(claim(namespace, number)))

    k8s_cr.scale(cluster, unique, {db: 1}, **life)
    untouched()
    k8s_cr.scale(cluster, unique, {db: 2}, **life)
    k8s_cr.heal(cluster, unique, **life)
    untouched()
    # The change drops the StatefulSet and the volumes.
    other = packed(manifests.config_map("a"), name="b")
    report = k8s_cr.change(cluster, unique, other, **life)
    untouched()
    assert both < kept(report).keys()
    assert {f"{unique}-0", f"{unique}-1"} < kept(report).keys()
    assert "terminate deletes or retains" in kept(report)["data-db-0"]
    k8s_cr.roll_back(cluster, unique, **life)
    untouched()
    k8s_cr.change(cluster, unique, other, **life)

    k8s_cr.terminate(cluster, unique, **life)

    assert (set(), set()) == there(cluster, unique, namespace)


def test_the_rollback_of_a_change_keeps_claims_that_it_made(
    cluster, namespace, unique, packed, life, traces
):
    """They are deleted when the instance is terminated (T6)."""
    first = packed(manifests.config_map("a"))
    k8s_cr.instantiate(cluster, unique, first, **life)
    second = packed(
        manifests.config_map("a"),
        volumes.volume(f"{unique}-0", unique),
        volumes.stateful_set("db", unique),
        name="b",
    )
    k8s_cr.change(cluster, unique, second, **life)
    bound(cluster, namespace, 1)

    report = k8s_cr.roll_back(cluster, unique, **life)

    left = {"data-db-0"}, {f"{unique}-0"}
    assert left == there(cluster, unique, namespace)
    assert set.union(*left) == kept(report).keys()
    k8s_cr.terminate(cluster, unique, **life)
    assert (set(), set()) == there(cluster, unique, namespace)
    assert [] == traces(unique, namespace)


def test_the_rollback_of_an_instantiation_deletes_them(
    cluster, namespace, unique, instance, life, traces
):
    """An instantiation that ended early is taken back whole (T6)."""
    never = manifests.deployment("never", nodeSelector={"no": "node"})
    short = {**life, "deadline": k8s_cr.Deadline.after(5)}
    life["deadline"] = short["deadline"]
    with pytest.raises(errors.NotReady):
        instance(never)
    life["deadline"] = k8s_cr.Deadline.after(60)
    assert {"data-db-0", "data-db-1"} == there(cluster, unique, namespace)[0]

    k8s_cr.roll_back(cluster, unique, **life)

    assert (set(), set()) == there(cluster, unique, namespace)
    assert [] == traces(unique, namespace)


@pytest.mark.parametrize("retain", [False, True])
def test_an_instantiation_that_is_refused_half_way_takes_them_back(
    cluster, namespace, unique, instance, life, traces, retain, cleaned
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

    claims, held = there(cluster, unique, namespace)
    assert ({"data-db-0", "data-db-1"} if retain else set()) == claims
    assert bool(held) <= retain
    assert claims | held == {ref.name for ref in caught.value.written}
    assert [] == traces(unique, namespace)


def test_a_claim_that_holds_a_volume_is_named_with_its_user(
    cluster, kubectl, namespace, unique, packed, life, soon
):
    """In the error, while the deletion hangs (P16, F6)."""
    package = packed(volumes.volume(f"{unique}-0", unique))
    k8s_cr.instantiate(cluster, unique, package, **life)
    theirs = volumes.stateful_set("db", unique)
    theirs["metadata"]["namespace"] = namespace
    kubectl("create", "-f", "-", stdin=json.dumps(theirs))
    bound(cluster, namespace, 1)
    pod = ObjectRef("", "Pod", namespace, "db-0")
    until(lambda: cluster.get(pod) is not None)

    with pytest.raises(errors.NotGone) as caught:
        k8s_cr.terminate(cluster, unique, **soon)

    assert (
        f"it is bound to PersistentVolumeClaim/{namespace}/data-db-0 (used "
        f"by Pod/{namespace}/db-0; of StatefulSet.apps/{namespace}/db)"
    ) in str(caught.value)
    kubectl(
        "delete", "statefulset,persistentvolumeclaim", "--all", "-n", namespace
    )
    k8s_cr.terminate(cluster, unique, **life)


def test_deleting_claims_needs_permissions(
    user, cluster, namespace, unique, packed, deadline, traces, cleaned
):
    """Missing permissions are reported before the first delete (K4).

    Retained claims need none: their names show which volumes stay.
    """
    rules = users.without(
        ("persistentvolumeclaims", "list"),
        ("persistentvolumeclaims", "delete"),
    )
    everywhere = {
        "apiGroups": [""],
        "resources": ["persistentvolumes"],
        "verbs": ["get", "list", "watch", "create", "patch", "delete"],
    }
    tenant = user(rules, [everywhere])
    life = {"namespace": namespace, "deadline": deadline}
    package = packed(
        volumes.volume(f"{unique}-0", unique),
        volumes.stateful_set("db", unique),
    )
    missing = (
        f"list, delete persistentvolumeclaims in the namespace {namespace}"
    )

    with pytest.raises(errors.RightsLacking, match=missing):
        k8s_cr.instantiate(tenant, unique, package, **life)
    k8s_cr.instantiate(cluster, unique, package, **life)
    bound(cluster, namespace, 1)
    with pytest.raises(errors.RightsLacking, match=missing) as caught:
        k8s_cr.terminate(tenant, unique, **life)
    assert "--statefulset-claims retain" in str(caught.value)
    assert 0 == len(caught.value.written)
    report = k8s_cr.terminate(tenant, unique, options=RETAIN, **life)

    left = {"data-db-0"}, {f"{unique}-0"}
    assert left == there(cluster, unique, namespace)
    assert set.union(*left) == kept(report).keys()
    assert [] == traces(unique, namespace)


def test_without_a_record_claims_are_found_by_their_sets(
    cluster, namespace, unique, instance, life, traces
):
    """The labels of the StatefulSets show that they are the instance's."""
    instance()
    for secret in cluster.list_metadata(
        ObjectRef("", "Secret", "", "").group_kind,
        namespace,
        record.selector(unique),
    ):
        cluster.delete(ObjectRef.of(secret), objects.uid(secret))

    k8s_cr.terminate(cluster, unique, **life)

    assert (set(), set()) == there(cluster, unique, namespace)
    assert [] == traces(unique, namespace)
