"""Which members a heal replaces, and what it does about what goes wrong."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import kinds
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.healing import candidates
from tacker_k8s_cr.healing import quorum
from tacker_k8s_cr.healing.members import Crew
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
from tests.fakes import FakeCluster
from tests.fakes.workloads import FAILING
from tests.fakes.workloads import RUNNING
from tests.fakes.workloads import Workloads
from tests.functional import manifests
from tests.unit.lcm.deaths import deaths
from tests.unit.lcm.deaths import owned
from tests.unit.lcm.deaths import records
from tests.unit.lcm.deaths import run
from tests.unit.packages import package

POD = GroupKind("", "Pod")
WEB = ObjectRef("apps", "Deployment", "default", "web")
ALONE = ObjectRef("", "Pod", "default", "alone")

BARE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "alone"},
    "spec": {"containers": [{"name": "main", "image": "example.org/a:1"}]},
}
PACKAGE = package(
    manifests.deployment("web", 2), manifests.config_map("c"), BARE
)


@pytest.fixture
def fresh(clock):
    def cluster():
        return FakeCluster(Workloads(), idle=clock.idle)

    return cluster


@pytest.fixture
def cluster(fresh):
    return fresh()


@pytest.fixture
def life(clock):
    return {"deadline": Deadline.after(600, clock)}


def pods(cluster):
    return {
        objects.uid(stored.obj): ref.name
        for ref, stored in cluster.world.objects.items()
        if ref.group_kind == POD
    }


def inventory(cluster):
    return record.read(cluster, "one", "default").inventory


def test_healing_is_finished_wherever_it_died(fresh, clock):
    """All members are new, and each was replaced once (P21, M7, G3).

    To terminate the instance rather than finish it leaves nothing either.
    """
    before = {}

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, PACKAGE)
        before["pods"] = pods(cluster)
        before["made"] = cluster.world.controller.made

    died = 0
    for cluster in deaths(lcm.heal, prepare, fresh, clock):
        died += 1
        if died % 3 == 0:
            run(lcm.terminate, cluster, clock)
            assert [] == owned(cluster) + records(cluster)
            continue
        found = inventory(cluster)
        if not (found.healing and found.phase is Phase.INSTANTIATED):
            run(lcm.heal, cluster, clock)
        after = pods(cluster)
        assert 3 == len(after)
        assert set() == before["pods"].keys() & after.keys()
        assert before["made"] + 2 == cluster.world.controller.made
        assert ["alone", "c", "web"] == owned(cluster)
        assert Phase.INSTANTIATED is inventory(cluster).phase
        assert 3 == len(inventory(cluster).owned)

        run(lcm.terminate, cluster, clock)

        assert [] == owned(cluster)
        assert [] == records(cluster)
    assert died > 15


def test_a_chosen_member_of_a_heal_that_died_is_replaced_once(fresh, clock):
    """The journal has who was to go, from before the first went."""
    chosen = {}

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, PACKAGE)
        chosen["uid"] = next(
            uid for uid, name in pods(cluster).items() if name != "alone"
        )

    def heal(cluster, instance, *, deadline):
        return lcm.heal(cluster, instance, {chosen["uid"]}, deadline=deadline)

    for cluster in deaths(heal, prepare, fresh, clock):
        run(heal, cluster, clock)

        assert chosen["uid"] not in pods(cluster)
        assert 3 == cluster.world.controller.made
        assert Phase.INSTANTIATED is inventory(cluster).phase


def test_a_heal_of_the_same_name_is_done_once(fresh, clock):
    """Who repeats one cannot know that it was done; any other is new."""
    cluster = fresh()
    run(lcm.instantiate, cluster, clock, PACKAGE)

    def heal(name):
        lcm.heal(
            cluster, "one", operation=name, deadline=Deadline.after(300, clock)
        )
        return set(pods(cluster))

    first = heal("a")
    assert first == heal("a")
    second = heal("b")
    assert not first & second
    assert not second & heal("")


def test_another_heal_does_not_go_on_with_one_that_failed(
    cluster, clock, life
):
    """Only what is asked for goes; and all of it does."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
    cluster.world.controller.sick = True
    with pytest.raises(errors.Failed):
        lcm.heal(
            cluster, "one", operation="a", options=Options(dwell=60), **life
        )
    cluster.world.controller.sick = False
    for name in pods(cluster).values():
        cluster.report(ObjectRef("", "Pod", "default", name), RUNNING)
    cluster.patch(WEB, {"metadata": {"labels": {"x": "y"}}}, "kubectl")
    before = pods(cluster)
    one = next(uid for uid, name in before.items() if name != "alone")

    lcm.heal(cluster, "one", {one}, operation="b", **life)

    assert {one} == before.keys() - pods(cluster).keys()
    before = pods(cluster)
    lcm.heal(cluster, "one", operation="c", **life)
    assert set() == before.keys() & pods(cluster).keys()


def test_a_job_that_is_done_and_gone_is_not_done_again(cluster, clock, life):
    """Its spec says how long it stays; to make it again is to run it (P2)."""
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
    given = package(job, manifests.config_map("c"))
    lcm.instantiate(cluster, "one", given, **life)
    cluster.delete(ref, objects.uid(cluster.get(ref)))

    lcm.heal(cluster, "one", **life)
    lcm.change(cluster, "one", package(manifests.config_map("d")), **life)
    lcm.roll_back(cluster, "one", **life)

    assert cluster.get(ref) is None


def test_a_member_that_does_not_start_ends_the_heal(cluster, life):
    """With the cause; a later heal finishes it (P11, P14)."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
    uid = next(uid for uid, name in pods(cluster).items() if name != "alone")
    cluster.world.controller.sick = True

    with pytest.raises(errors.Failed, match="ImagePullBackOff") as caught:
        lcm.heal(cluster, "one", {uid}, options=Options(dwell=60), **life)

    assert caught.value.begun
    assert Phase.HEALING is inventory(cluster).phase
    assert "ImagePullBackOff" in inventory(cluster).journal.error
    cluster.world.controller.sick = False
    for found in pods(cluster).values():
        cluster.report(ObjectRef("", "Pod", "default", found), RUNNING)
    cluster.patch(WEB, {"metadata": {"labels": {"x": "y"}}}, "kubectl")
    assert {Action.HEALED, Action.UNCHANGED} == {
        row.action for row in lcm.heal(cluster, "one", {uid}, **life).rows
    }


def test_what_does_not_work_is_what_a_heal_of_all_replaces(cluster, life):
    """It does not wait for the sick to be well before it takes them (G3)."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
    before = pods(cluster)
    for name in before.values():
        cluster.report(ObjectRef("", "Pod", "default", name), FAILING)
    cluster.patch(WEB, {"metadata": {"labels": {"x": "y"}}}, "kubectl")

    lcm.heal(cluster, "one", options=Options(dwell=60), **life)

    assert set() == before.keys() & pods(cluster).keys()


def test_a_controller_that_does_nothing_ends_with_the_deadline(
    cluster, clock, life
):
    """The error says how many are there, of how many."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
    uid = next(uid for uid, name in pods(cluster).items() if name != "alone")
    cluster.world.controller.idle = True

    with pytest.raises(errors.NotReady, match=r"1 of 2 member\(s\) current"):
        lcm.heal(cluster, "one", {uid}, deadline=Deadline.after(30, clock))

    assert clock.now <= 31


def test_an_object_that_is_kept_from_making_members_ends_the_heal(
    cluster, clock, life
):
    """Where it is blocked, as in any other wait (P11)."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
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
    with pytest.raises(errors.Failed, match="exceeded quota"):
        lcm.heal(
            cluster,
            "one",
            {uid},
            options=Options(dwell=20),
            listen=deny,
            **life,
        )

    assert clock.now - begun < 60


def test_an_object_that_went_meanwhile_ends_the_heal(cluster, life):
    """Nobody makes members for it any more."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
    uid = next(uid for uid, name in pods(cluster).items() if name != "alone")

    def remove(progress):
        if progress.stage == "new members" and cluster.get(WEB):
            cluster.delete(WEB, objects.uid(cluster.get(WEB)))

    cluster.world.controller.idle = True
    with pytest.raises(errors.Failed, match="somebody else removed it"):
        lcm.heal(cluster, "one", {uid}, listen=remove, **life)


def test_a_heal_that_ended_early_is_only_forgotten_by_a_rollback(
    cluster, clock, life
):
    """There is nothing to take back; the instance is at rest again."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
    cluster.world.controller.idle = True
    with pytest.raises(errors.NotReady):
        lcm.heal(cluster, "one", deadline=Deadline.after(30, clock))

    lcm.roll_back(cluster, "one", **life)

    assert Phase.INSTANTIATED is inventory(cluster).phase
    assert inventory(cluster).healing is None


def test_an_instance_may_be_scaled_after_a_heal_that_failed(cluster, life):
    """There is nothing of the heal that would have to be undone first."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
    cluster.world.controller.sick = True
    with pytest.raises(errors.Failed):
        lcm.heal(cluster, "one", options=Options(dwell=60), **life)
    cluster.world.controller.sick = False
    for name in pods(cluster).values():
        cluster.report(ObjectRef("", "Pod", "default", name), RUNNING)

    lcm.scale(cluster, "one", {WEB: 3}, **life)

    assert Phase.INSTANTIATED is inventory(cluster).phase
    assert inventory(cluster).healing is None


def test_a_package_may_be_changed_after_a_heal_that_failed(cluster, life):
    """The new package may be what mends it."""
    lcm.instantiate(cluster, "one", PACKAGE, **life)
    uid = next(uid for uid, name in pods(cluster).items() if name != "alone")
    cluster.world.controller.sick = True
    with pytest.raises(errors.Failed):
        lcm.heal(cluster, "one", {uid}, options=Options(dwell=60), **life)
    cluster.world.controller.sick = False

    mended = package(manifests.deployment("web", 2, nodeName="a"))
    lcm.change(cluster, "one", mended, **life)

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
    return candidates.places({OWNER: (Crew(KEEPER, machines),)})


def choose(found, asked=None, **known):
    return candidates.chosen(
        Inventory("one", "default", Phase.INSTANTIATED, **known),
        found,
        kinds.BUILT_IN,
        asked,
    )


@pytest.mark.parametrize(
    ("ready", "chosen", "refused"),
    [
        ((True,), "m0", "the only machine"),
        ((True, True, True), "m0", None),
        ((False, True, True), "m0", None),
        ((False, True, True), "m1", "only 1 of the 2 other"),
        ((False, False, True), "m0", "only 1 of the 2 other"),
        ((True, False), "m1", None),
        ((False, False, True, True, True), "m0", None),
    ],
)
def test_a_control_plane_keeps_its_majority(ready, chosen, refused):
    """Its data lives on in the others, which have to agree (G3)."""
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
        assert chosen == choose(found, {chosen}).healing.goers[0].uid


def test_machines_of_a_control_plane_go_one_by_one():
    """Before the workers, which may go together."""
    found = crew(
        *(machine(f"m{number}", control_plane=True) for number in range(3)),
        machine("w1"),
        machine("w2"),
    )

    choice = choose(found)

    assert [["m0"], ["m1"], ["m2"], ["w1", "w2"]] == [
        [place.goer.ref.name for place in places]
        for places in candidates.rounds(choice.healing, found)
    ]


def test_a_sick_machine_of_a_control_plane_goes_first():
    """With another in its place the control plane can do without the next.

    Asked for in the other order it would have lost its majority (G3).
    """
    found = crew(
        machine("m0", control_plane=True),
        machine("m1", control_plane=True),
        machine("m2", control_plane=True, ready=False),
    )

    choice = choose(found, {"m0", "m2"})

    assert ["m2", "m0"] == [goer.uid for goer in choice.healing.goers]
    assert ["m2", "m0", "m1"] == [
        goer.uid for goer in choose(found).healing.goers
    ]


@pytest.mark.parametrize(
    ("machines", "why"),
    [
        ([machine(f"m{n}", control_plane=True) for n in range(3)], None),
        (
            [machine(f"m{n}", control_plane=True) for n in range(2)],
            "2 of 3 machine",
        ),
        (
            [machine(f"m{n}", control_plane=True) for n in range(4)],
            "4 of 3 machine",
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
    """How it was when the machine was chosen says nothing any more (G3)."""
    found = quorum.hindered(
        [Crew(KEEPER, tuple(machines))], {"m0"}, kinds.BUILT_IN
    )

    assert (why is None) == (found is None)
    assert (why or "") in (found or "")


def test_a_machine_waits_for_one_that_is_going():
    """Whoever asked it to: at no time are two of them away (G3)."""
    going = machine("m2", control_plane=True)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    others = [machine(f"m{number}", control_plane=True) for number in (0, 1)]

    found = quorum.hindered(
        [Crew(KEEPER, (*others, going))], {"m0"}, kinds.BUILT_IN
    )

    assert found
    assert found.endswith("m2 is going")


def test_the_only_machine_of_a_control_plane_is_left_out_of_all():
    """The rest is healed, and the report says why it was not."""
    found = crew(machine("m0", control_plane=True), machine("w1"))

    choice = choose(found)

    assert ["w1"] == [goer.uid for goer in choice.healing.goers]
    assert ["m0"] == [ref.name for ref in choice.kept]


def test_who_has_no_controller_is_not_healed():
    """Neither by a controller nor from the package of the instance."""
    found = crew(machine("w1", owner=""))

    with pytest.raises(errors.NotHealable, match="no controller replaces it"):
        choose(found, {"w1"})


def test_a_bare_member_that_no_package_holds_is_not_healed():
    """One that a former package brought, and that was kept."""
    alone = {**BARE, "metadata": {"name": "alone", "namespace": "default"}}
    obj = {**alone, "metadata": {**alone["metadata"], "uid": "u"}}
    found = candidates.places({ALONE: (Crew(obj, (obj,)),)})

    with pytest.raises(errors.NotHealable, match="does not hold it"):
        choose(found, {"u"})
    assert choose(found, {"u"}, manifests=(alone,)).healing.goers


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
    found = candidates.places({job: (Crew(worker, (worker,)),)})

    assert () == choose(found).healing.goers
    assert choose(found, {"p"}).healing.goers
