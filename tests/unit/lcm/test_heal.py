"""Which members a heal replaces, and what it does about what goes wrong."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.healing import quorum
from tacker_k8s_cr.lcm.healing import selection
from tacker_k8s_cr.lcm.healing.members import ReplicaGroup
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.fakes.workloads import FAILING
from tests.fakes.workloads import RUNNING
from tests.fakes.workloads import Workloads
from tests.functional import manifests
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import owned_objects
from tests.unit.lcm.kill_points import record_objects
from tests.unit.lcm.kill_points import run_operation
from tests.unit.packages import make_package

POD = GroupKind("", "Pod")
WEB = ObjectRef("apps", "Deployment", "default", "web")
ALONE = ObjectRef("", "Pod", "default", "alone")

BARE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "alone"},
    "spec": {"containers": [{"name": "main", "image": "example.org/a:1"}]},
}
PACKAGE = make_package(
    manifests.deployment("web", 2), manifests.config_map("c"), BARE
)


@pytest.fixture
def new_cluster(clock):
    def cluster():
        return FakeCluster(Workloads(), idle=clock.idle)

    return cluster


@pytest.fixture
def cluster(new_cluster):
    return new_cluster()


@pytest.fixture
def operation_args(clock):
    return {"deadline": Deadline.after(600, clock)}


def pods(cluster):
    return {
        objects.uid(stored.obj): ref.name
        for ref, stored in cluster.world.objects.items()
        if ref.group_kind == POD
    }


def inventory(cluster):
    return store.read(cluster, "one", "default").inventory


@pytest.mark.requirement("G3", "M7")
def test_healing_is_finished_wherever_it_died(new_cluster, clock):
    """All members are new, and each was replaced once.

    To terminate the instance rather than finish it leaves nothing either.
    """
    before = {}

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, PACKAGE)
        before["pods"] = pods(cluster)
        before["made"] = cluster.world.controller.made

    died = 0
    for cluster in killed_clusters(lcm.heal, prepare, new_cluster, clock):
        died += 1
        if died % 3 == 0:
            run_operation(lcm.terminate, cluster, clock)
            assert [] == owned_objects(cluster) + record_objects(cluster)
            continue
        found = inventory(cluster)
        if not (found.healing and found.phase is Phase.INSTANTIATED):
            run_operation(lcm.heal, cluster, clock)
        after = pods(cluster)
        assert 3 == len(after)
        assert set() == before["pods"].keys() & after.keys()
        assert before["made"] + 2 == cluster.world.controller.made
        assert ["alone", "c", "web"] == owned_objects(cluster)
        assert Phase.INSTANTIATED is inventory(cluster).phase
        assert 3 == len(inventory(cluster).owned)

        run_operation(lcm.terminate, cluster, clock)

        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)
    assert died > 15


def test_a_selected_member_of_an_interrupted_heal_is_replaced_once(
    new_cluster, clock
):
    """The journal has the selected ones from before the first deletion."""
    chosen = {}

    def prepare(cluster):
        run_operation(lcm.instantiate, cluster, clock, PACKAGE)
        chosen["uid"] = next(
            uid for uid, name in pods(cluster).items() if name != "alone"
        )

    def heal(request):
        return lcm.heal(request, {chosen["uid"]})

    for cluster in killed_clusters(heal, prepare, new_cluster, clock):
        run_operation(heal, cluster, clock)

        assert chosen["uid"] not in pods(cluster)
        assert 3 == cluster.world.controller.made
        assert Phase.INSTANTIATED is inventory(cluster).phase


def test_a_heal_of_the_same_name_is_done_once(new_cluster, clock):
    """Who repeats one cannot know that it was done; any other is new."""
    cluster = new_cluster()
    run_operation(lcm.instantiate, cluster, clock, PACKAGE)

    def heal(name):
        lcm.heal(
            lcm.Request(cluster, "one", deadline=Deadline.after(300, clock)),
            operation=name,
        )
        return set(pods(cluster))

    first = heal("a")
    assert first == heal("a")
    second = heal("b")
    assert not first & second
    assert not second & heal("")


def test_another_heal_does_not_continue_a_failed_one(
    cluster, clock, operation_args
):
    """Only what is asked for goes; and all of it does."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    cluster.world.controller.sick = True
    with pytest.raises(errors.ObjectsFailed):
        lcm.heal(
            lcm.Request(
                cluster,
                "one",
                options=Options(stall_timeout=60),
                **operation_args,
            ),
            operation="a",
        )
    cluster.world.controller.sick = False
    for name in pods(cluster).values():
        cluster.report(ObjectRef("", "Pod", "default", name), RUNNING)
    cluster.patch(WEB, {"metadata": {"labels": {"x": "y"}}}, "kubectl")
    before = pods(cluster)
    one = next(uid for uid, name in before.items() if name != "alone")

    lcm.heal(
        lcm.Request(cluster, "one", **operation_args), {one}, operation="b"
    )

    assert {one} == before.keys() - pods(cluster).keys()
    before = pods(cluster)
    lcm.heal(lcm.Request(cluster, "one", **operation_args), operation="c")
    assert set() == before.keys() & pods(cluster).keys()


def test_a_completed_and_deleted_job_is_not_created_again(
    cluster, clock, operation_args
):
    """Its spec sets how long it stays; to create it again is to run it."""
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "migrate"},
        "spec": {"template": {"spec": {"containers": []}}},
    }
    ref = ObjectRef("batch", "Job", "default", "migrate")
    done = {"conditions": [{"type": "Complete", "status": "True"}]}

    def work(fake, obj):
        if ref in fake.world.objects:
            fake.report(ref, done)

    cluster.world.controller = work
    given = make_package(job, manifests.config_map("c"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    cluster.delete(ref, objects.uid(cluster.get(ref)))

    lcm.heal(lcm.Request(cluster, "one", **operation_args))
    lcm.change(
        lcm.Request(cluster, "one", **operation_args),
        make_package(manifests.config_map("d")),
    )
    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))

    assert cluster.get(ref) is None


def test_a_member_that_does_not_start_ends_the_heal(cluster, operation_args):
    """With the cause; a later heal finishes it."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    uid = next(uid for uid, name in pods(cluster).items() if name != "alone")
    cluster.world.controller.sick = True

    with pytest.raises(
        errors.ObjectsFailed, match="ImagePullBackOff"
    ) as caught:
        lcm.heal(
            lcm.Request(
                cluster,
                "one",
                options=Options(stall_timeout=60),
                **operation_args,
            ),
            {uid},
        )

    assert caught.value.has_written
    assert Phase.HEALING is inventory(cluster).phase
    assert "ImagePullBackOff" in inventory(cluster).journal.error
    cluster.world.controller.sick = False
    for found in pods(cluster).values():
        cluster.report(ObjectRef("", "Pod", "default", found), RUNNING)
    cluster.patch(WEB, {"metadata": {"labels": {"x": "y"}}}, "kubectl")
    assert {Action.HEALED, Action.UNCHANGED} == {
        row.action
        for row in lcm.heal(
            lcm.Request(cluster, "one", **operation_args), {uid}
        ).objects
    }


def test_what_does_not_work_is_what_a_heal_of_all_replaces(
    cluster, operation_args
):
    """It does not wait for the sick to be well before it takes them."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    before = pods(cluster)
    for name in before.values():
        cluster.report(ObjectRef("", "Pod", "default", name), FAILING)
    cluster.patch(WEB, {"metadata": {"labels": {"x": "y"}}}, "kubectl")

    lcm.heal(
        lcm.Request(
            cluster, "one", options=Options(stall_timeout=60), **operation_args
        )
    )

    assert set() == before.keys() & pods(cluster).keys()


def test_a_controller_that_does_nothing_ends_with_the_deadline(
    cluster, clock, operation_args
):
    """The error has the number of existing members, and of expected ones."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    uid = next(uid for uid, name in pods(cluster).items() if name != "alone")
    cluster.world.controller.idle = True

    with pytest.raises(
        errors.ReadinessTimeout, match=r"1 of 2 member\(s\) current"
    ):
        lcm.heal(
            lcm.Request(cluster, "one", deadline=Deadline.after(30, clock)),
            {uid},
        )

    assert clock.now <= 31


def test_an_object_that_is_kept_from_making_members_ends_the_heal(
    cluster, clock, operation_args
):
    """Where it is blocked, as in any other wait."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    uid = next(uid for uid, name in pods(cluster).items() if name != "alone")
    begun = clock.now

    def deny(progress):
        if progress.stage != "new members":
            return
        web = cluster.get(WEB)
        status = {
            **web["status"],
            "availableReplicas": 1,
            "conditions": [
                {
                    "type": "ReplicaFailure",
                    "status": "True",
                    "reason": "FailedCreate",
                    "message": "exceeded quota",
                }
            ],
        }
        if web["status"] != status:
            cluster.report(WEB, status)

    cluster.world.controller.idle = True
    with pytest.raises(errors.ObjectsFailed, match="exceeded quota"):
        lcm.heal(
            lcm.Request(
                cluster,
                "one",
                options=Options(stall_timeout=20),
                on_progress=deny,
                **operation_args,
            ),
            {uid},
        )

    assert clock.now - begun < 60


def test_an_object_deleted_meanwhile_ends_the_heal(cluster, operation_args):
    """No controller creates members for it any more."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    uid = next(uid for uid, name in pods(cluster).items() if name != "alone")

    def remove(progress):
        if progress.stage == "new members" and cluster.get(WEB):
            cluster.delete(WEB, objects.uid(cluster.get(WEB)))

    cluster.world.controller.idle = True
    with pytest.raises(
        errors.ObjectsFailed, match="deleted by another client"
    ):
        lcm.heal(
            lcm.Request(cluster, "one", on_progress=remove, **operation_args),
            {uid},
        )


def test_a_heal_that_ended_early_is_only_forgotten_by_a_rollback(
    cluster, clock, operation_args
):
    """There is nothing to undo; the instance is idle again."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    cluster.world.controller.idle = True
    with pytest.raises(errors.ReadinessTimeout):
        lcm.heal(
            lcm.Request(cluster, "one", deadline=Deadline.after(30, clock))
        )

    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))

    assert Phase.INSTANTIATED is inventory(cluster).phase
    assert inventory(cluster).healing is None


def test_an_instance_may_be_scaled_after_a_heal_that_failed(
    cluster, operation_args
):
    """There is nothing of the heal that would have to be undone first."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    cluster.world.controller.sick = True
    with pytest.raises(errors.ObjectsFailed):
        lcm.heal(
            lcm.Request(
                cluster,
                "one",
                options=Options(stall_timeout=60),
                **operation_args,
            )
        )
    cluster.world.controller.sick = False
    for name in pods(cluster).values():
        cluster.report(ObjectRef("", "Pod", "default", name), RUNNING)

    lcm.scale(lcm.Request(cluster, "one", **operation_args), {WEB: 3})

    assert Phase.INSTANTIATED is inventory(cluster).phase
    assert inventory(cluster).healing is None


def test_a_package_may_be_changed_after_a_heal_that_failed(
    cluster, operation_args
):
    """The new package may be what fixes it."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), PACKAGE)
    uid = next(uid for uid, name in pods(cluster).items() if name != "alone")
    cluster.world.controller.sick = True
    with pytest.raises(errors.ObjectsFailed):
        lcm.heal(
            lcm.Request(
                cluster,
                "one",
                options=Options(stall_timeout=60),
                **operation_args,
            ),
            {uid},
        )
    cluster.world.controller.sick = False

    fixed = make_package(manifests.deployment("web", 2, nodeName="a"))
    lcm.change(lcm.Request(cluster, "one", **operation_args), fixed)

    assert Phase.INSTANTIATED is inventory(cluster).phase
    assert inventory(cluster).healing is None


# -- Who may go --------------------------------------------------------------


def machine(name, *, control_plane=False, ready=True, owner="set"):
    said = "True" if ready else "False"
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "generation": 1,
            "labels": (
                {"cluster.x-k8s.io/control-plane": ""} if control_plane else {}
            ),
            "ownerReferences": (
                [{"kind": "X", "name": "x", "uid": owner, "controller": True}]
                if owner
                else []
            ),
        },
        "spec": {},
        "status": {
            "phase": "Running",
            "observedGeneration": 1,
            "conditions": [
                {
                    "type": kind,
                    "status": said,
                    "reason": "X",
                    "observedGeneration": 1,
                }
                for kind in ("Ready", "Available")
            ],
        },
    }


OWNER = ObjectRef("cluster.x-k8s.io", "Cluster", "default", "c")
KEEPER = {
    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
    "kind": "KubeadmControlPlane",
    "metadata": {"name": "k", "namespace": "default", "uid": "k"},
    "spec": {"replicas": 3},
}


def crew(*machines):
    return selection.locate_members({OWNER: (ReplicaGroup(KEEPER, machines),)})


def choose(found, asked=None, **known):
    return selection.select_members(
        Inventory("one", "default", Phase.INSTANTIATED, **known),
        found,
        kinds.BUILT_IN,
        asked,
    )


@pytest.mark.parametrize(
    ("ready", "chosen", "refused"),
    [
        ((True,), "m0", "the only Machine"),
        ((True, True, True), "m0", None),
        ((False, True, True), "m0", None),
        ((False, True, True), "m1", "only 1 of the 2 other"),
        ((False, False, True), "m0", "only 1 of the 2 other"),
        ((True, False), "m1", None),
        ((False, False, True, True, True), "m0", None),
    ],
)
def test_a_control_plane_keeps_its_majority(ready, chosen, refused):
    """Its data lives on in the others, which have to agree."""
    found = crew(
        *(
            machine(f"m{number}", control_plane=True, ready=said)
            for number, said in enumerate(ready)
        )
    )

    if refused:
        with pytest.raises(errors.NotHealable, match=refused):
            choose(found, {chosen})
    else:
        assert chosen == choose(found, {chosen}).healing.members[0].uid


def test_control_plane_machines_are_replaced_one_by_one():
    """Before the workers, which may go together."""
    found = crew(
        *(machine(f"m{number}", control_plane=True) for number in range(3)),
        machine("w1"),
        machine("w2"),
    )

    choice = choose(found)

    assert [["m0"], ["m1"], ["m2"], ["w1", "w2"]] == [
        [place.member.ref.name for place in places]
        for places in selection.split_batches(choice.healing, found)
    ]


def test_an_unhealthy_control_plane_machine_is_replaced_first():
    """With another in its place the control plane can do without the next.

    Asked for in the other order it would have lost its majority.
    """
    found = crew(
        machine("m0", control_plane=True),
        machine("m1", control_plane=True),
        machine("m2", control_plane=True, ready=False),
    )

    choice = choose(found, {"m0", "m2"})

    assert ["m2", "m0"] == [goer.uid for goer in choice.healing.members]
    assert ["m2", "m0", "m1"] == [
        goer.uid for goer in choose(found).healing.members
    ]


@pytest.mark.parametrize(
    ("machines", "why"),
    [
        ([machine(f"m{n}", control_plane=True) for n in range(3)], None),
        (
            [machine(f"m{n}", control_plane=True) for n in range(2)],
            "2 of 3 Machine",
        ),
        (
            [machine(f"m{n}", control_plane=True) for n in range(4)],
            "4 of 3 Machine",
        ),
        (
            [
                machine("m0", control_plane=True),
                machine("m1", control_plane=True),
                machine("m2", control_plane=True, ready=False),
            ],
            "only 1 of the 2 other",
        ),
        ([machine("m1", control_plane=True)], None),
    ],
)
def test_a_machine_waits_until_its_control_plane_is_whole(machines, why):
    """Its state when the machine was selected does not count any more."""
    found = quorum.deletion_blocked_reason(
        [ReplicaGroup(KEEPER, tuple(machines))], {"m0"}, kinds.BUILT_IN
    )

    assert (why is None) == (found is None)
    assert (why or "") in (found or "")


def test_a_machine_waits_for_one_that_is_being_deleted():
    """Whichever client requested it: never are two of them missing."""
    going = machine("m2", control_plane=True)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    others = [machine(f"m{number}", control_plane=True) for number in (0, 1)]

    found = quorum.deletion_blocked_reason(
        [ReplicaGroup(KEEPER, (*others, going))], {"m0"}, kinds.BUILT_IN
    )

    assert found
    assert found.endswith("m2 is being deleted")


def test_the_only_machine_of_a_control_plane_is_left_out_of_all():
    """The rest is healed, and the report has the cause of the omission."""
    found = crew(machine("m0", control_plane=True), machine("w1"))

    choice = choose(found)

    assert ["w1"] == [goer.uid for goer in choice.healing.members]
    assert ["m0"] == [ref.name for ref in choice.retained]


def test_a_member_without_a_controller_is_not_healed():
    """Neither by a controller nor from the package of the instance."""
    found = crew(machine("w1", owner=""))

    with pytest.raises(errors.NotHealable, match="no controller recreates it"):
        choose(found, {"w1"})


def test_a_bare_member_that_no_package_holds_is_not_healed():
    """One that a former package brought, and that was kept."""
    alone = {**BARE, "metadata": {"name": "alone", "namespace": "default"}}
    obj = {**alone, "metadata": {**alone["metadata"], "uid": "u"}}
    found = selection.locate_members({ALONE: (ReplicaGroup(obj, (obj,)),)})

    with pytest.raises(errors.NotHealable, match="not in the package"):
        choose(found, {"u"})
    assert choose(found, {"u"}, manifests=(alone,)).healing.members


def test_pods_of_a_job_stay_when_all_is_healed():
    """They are at a work that has an end, and would count as failed."""
    job = ObjectRef("batch", "Job", "default", "j")
    worker = {
        **BARE,
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "p",
            "ownerReferences": [{"uid": "j", "controller": True}],
        },
    }
    found = selection.locate_members({job: (ReplicaGroup(worker, (worker,)),)})

    assert () == choose(found).healing.members
    assert choose(found, {"p"}).healing.members
