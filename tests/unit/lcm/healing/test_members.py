"""Who does an object's work, by owner references.

The objects are written by hand with the fields that controllers set.
"""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.lcm.healing import members
from tacker_k8s_cr.lcm.healing import selection
from tacker_k8s_cr.lcm.healing.members import Member
from tacker_k8s_cr.lcm.healing.members import ReplicaGroup
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.plan.inventory import Inventory
from tests.fakes import FakeCluster
from tests.fakes.served_kinds import VERBS

LABELS = {"app": "web"}


@pytest.fixture
def cluster():
    return FakeCluster()


@pytest.mark.requirement("H3")
def test_pods_of_a_cron_job_are_found_by_its_jobs(cluster, make):
    """Its Jobs have no label of their own; owner references tell them."""
    cron = make("batch/v1", "CronJob", "nightly")
    job = make("batch/v1", "Job", "nightly-1", cron)
    make("batch/v1", "Job", "other")
    selector = {"selector": {"matchLabels": LABELS}}
    job = cluster.patch(ObjectRef.of(job), {"spec": selector}, "test")
    make("v1", "Pod", "nightly-1-a", job)
    make("v1", "Pod", "alone")

    found = members.members_of(cluster, kinds.BUILT_IN, cron)

    assert ["nightly-1-a"] == [member.ref.name for member in found]
    assert {"nightly"} == {member.owner.name for member in found}


@pytest.fixture
def make(cluster):
    """Store an object of the namespace default, with an owner."""

    def made(api_version, kind, name, owner=None, labels=LABELS, **parts):
        references = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
            }
            for owner in filter(None, [owner])
        ]
        metadata = {"name": name, "namespace": "default", "labels": labels}
        obj = cluster.create(
            {
                "apiVersion": api_version,
                "kind": kind,
                "metadata": {**metadata, "ownerReferences": references},
                "spec": parts.get("spec", {}),
            },
            "test",
        )
        if status := parts.get("status"):
            obj = cluster.report(ObjectRef.of(obj), status)
        return obj

    return made


@pytest.fixture
def web(make):
    """A Deployment with a ReplicaSet and two Pods, and a former one."""
    selector = {"matchLabels": LABELS}
    deployment = make(
        "apps/v1", "Deployment", "web", spec={"selector": selector}
    )
    for name, number in (("web-1", 0), ("web-2", 2)):
        replicas = make(
            "apps/v1",
            "ReplicaSet",
            name,
            deployment,
            spec={"replicas": number, "selector": selector},
            status={"replicas": number},
        )
        for suffix in range(number):
            make(
                "v1",
                "Pod",
                f"{name}-{suffix}",
                replicas,
                spec={"nodeName": f"node-{suffix}"},
                status={"phase": "Running"},
            )
    return deployment


def names(found):
    return [member.ref.name for member in found]


@pytest.mark.requirement("T12", "H3")
def test_pods_are_found_by_their_owners(cluster, web):
    """By way of the ReplicaSet, each with the Deployment and its node."""
    found = members.members_of(cluster, kinds.BUILT_IN, web)

    pod = cluster.get(ObjectRef("", "Pod", "default", "web-2-0"))
    assert (
        Member(
            ObjectRef.of(pod),
            pod["metadata"]["uid"],
            ObjectRef.of(web),
            "node-0",
        )
        == found[0]
    )
    assert ["web-2-0", "web-2-1"] == names(found)


@pytest.mark.requirement("T12")
def test_foreign_pods_with_the_same_labels_are_not_members(cluster, web, make):
    """Neither a lone Pod nor another's, whatever its name."""
    make("v1", "Pod", "web-2-stray")
    other = make("apps/v1", "Deployment", "web-2", spec=web["spec"])
    replicas = make(
        "apps/v1",
        "ReplicaSet",
        "web-2-9",
        other,
        spec={"replicas": 1, "selector": web["spec"]["selector"]},
    )
    make("v1", "Pod", "web-2-9-0", replicas)

    assert ["web-2-0", "web-2-1"] == names(
        members.members_of(cluster, kinds.BUILT_IN, web)
    )


def test_a_former_replica_set_is_not_looked_into(cluster, web):
    """An old rollout keeps ten of them; each would cost a list."""
    cluster.sent.clear()

    members.members_of(cluster, kinds.BUILT_IN, web)

    assert ["list", "list"] == [verb for verb, _ in cluster.sent]


@pytest.mark.parametrize("phase", members.TERMINATED_PHASES)
def test_a_pod_that_ended_works_no_more(cluster, web, phase):
    """Nor does one that is being deleted."""
    ref = ObjectRef("", "Pod", "default", "web-2-0")
    cluster.report(ref, {"phase": phase})

    assert ["web-2-1"] == names(
        members.members_of(cluster, kinds.BUILT_IN, web)
    )


def test_a_pod_is_its_own_member(cluster, make):
    """A VDU may be a single Pod."""
    pod = make("v1", "Pod", "alone")

    assert ["alone"] == names(members.members_of(cluster, kinds.BUILT_IN, pod))


def test_a_kind_that_creates_nothing_has_no_members(cluster, make):
    """A custom resource without a description of its children."""
    config = make("v1", "ConfigMap", "c")

    assert () == members.members_of(cluster, kinds.BUILT_IN, config)


def inventory(web, **vdus):
    owned = {ObjectRef.of(web): web["metadata"]["uid"]}
    return Inventory("i", "default", owned=owned, vdus=vdus)


def test_members_are_grouped_by_vdu(cluster, web):
    """Each VDU has those of the object that bears its number."""
    found = members.by_vdu(
        cluster, kinds.BUILT_IN, inventory(web, VDU1=ObjectRef.of(web))
    )

    assert {"VDU1": ["web-2-0", "web-2-1"]} == {
        vdu: names(those) for vdu, those in found.items()
    }


def test_a_deleted_object_has_no_members(cluster, web):
    """Nor has another object that bears its name by now."""
    gone = ObjectRef("apps", "Deployment", "default", "gone")
    known = inventory(web, A=gone, B=ObjectRef.of(web))
    replaced = Inventory(
        "i",
        "default",
        owned={ObjectRef.of(web): "another-uid"},
        vdus=known.vdus,
    )

    assert {"A": (), "B": ()} == members.by_vdu(
        cluster, kinds.BUILT_IN, replaced
    )


def test_what_cannot_be_read_is_an_error(cluster, web):
    """It is not taken for an object without members."""
    ref = ObjectRef.of(web)
    cluster.fail(errors.Forbidden("get", "deployments", "default", "no"))

    with pytest.raises(errors.Forbidden):
        members.by_vdu(cluster, kinds.BUILT_IN, inventory(web, VDU1=ref))


# -- Pools of machines --------------------------------------------------------

CORE = "cluster.x-k8s.io/v1beta2"
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"


@pytest.fixture
def pool(cluster, make):
    """A MachinePool of two, whose infrastructure has this status."""
    for group, kind in (
        ("cluster.x-k8s.io", "MachinePool"),
        ("cluster.x-k8s.io", "Machine"),
        (INFRASTRUCTURE, "DevMachinePool"),
    ):
        served = Resource(
            group, "v1beta2", kind, f"{kind.lower()}s", True, VERBS
        )
        cluster.world.kinds[served.group_kind] = (served,)

    def made(**status):
        reference = {
            "apiGroup": INFRASTRUCTURE,
            "kind": "DevMachinePool",
            "name": "pool",
        }
        make(
            f"{INFRASTRUCTURE}/v1beta2",
            "DevMachinePool",
            "pool",
            status={"ready": True, **status},
        )
        spec = {"infrastructureRef": reference}
        return make(
            CORE,
            "MachinePool",
            "pool",
            spec={"replicas": 2, "template": {"spec": spec}},
        )

    return made


def list_groups(cluster, obj):
    return list(members.find_replica_groups(cluster, kinds.BUILT_IN, obj))


def test_machines_of_a_pool_are_members_where_they_are_shown(
    cluster, make, pool
):
    """The deleted one is missing, also if it was the only one."""
    found = pool(infrastructureMachineKind="DevMachine")
    assert [ReplicaGroup(found, ())] == list_groups(cluster, found)
    labels = {"cluster.x-k8s.io/pool-name": "pool"}
    make(CORE, "Machine", "theirs", labels=labels)
    machine = make(CORE, "Machine", "a", found, labels)

    assert [ReplicaGroup(found, (machine,))] == list_groups(cluster, found)
    registry = kinds.BUILT_IN
    why = selection.missing_replacements(
        list_groups(cluster, found), (), registry
    )
    assert "0 of 2 member(s) current" in why


def test_a_pool_without_machines_misses_none(cluster, pool):
    """Its provider alone counts them: no member is waited for."""
    found = pool()

    (group,) = list_groups(cluster, found)

    assert group.hidden
    assert selection.missing_replacements([group], (), kinds.BUILT_IN) is None
    ref = ObjectRef.of(found)
    uid = found["metadata"]["uid"]
    assert {uid: ref} == selection.unlisted_members({ref: (group,)})


def test_a_pool_may_refer_to_machines_that_may_not_be_read(cluster, pool):
    """Then its machines are not members either."""
    found = pool(infrastructureMachineKind="DevMachine")
    denied = errors.Forbidden("get", "devmachinepools", "default", "no")
    cluster.fail(denied, "get")

    (group,) = list_groups(cluster, found)

    assert group.hidden
