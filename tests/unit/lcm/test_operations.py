"""What operations send, and what they do about what comes back.

On the fake cluster, whose honesty the contracts prove: here are states that
a real server cannot be brought into on demand, and exact counts.
"""

from __future__ import annotations

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.applying import apply
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.kinds.base import Rank
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.planning.plan import Apply
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
from tests.fakes.workloads import play_deployments
from tests.functional import manifests
from tests.unit.packages import package

GROUP = "test.example.org"


def ref(kind, name, group=""):
    return ObjectRef(group, kind, "default", name)


THOUSAND = package(
    *(manifests.config_map(f"c{number}") for number in range(1000))
)


def test_a_thousand_objects_cost_hardly_more_than_a_request_each(
    cluster, life
):
    """The budget is 1.1 for each without the server's dry run."""
    report = lcm.instantiate(
        cluster, "one", THOUSAND, options=Options(dry_run=False), **life
    )

    assert 1000 == report.count(Action.CREATED)
    assert 1.1 * 1000 >= report.requests


def test_the_dry_run_costs_one_more_for_each(cluster, life):
    """The budget is 2.1 for each with it."""
    report = lcm.instantiate(cluster, "one", THOUSAND, **life)

    assert 2.1 * 1000 >= report.requests


def test_terminate_costs_one_for_each(cluster, life):
    """The server says itself that an object is gone."""
    lcm.instantiate(cluster, "one", THOUSAND, **life)

    assert 1.1 * 1000 >= lcm.terminate(cluster, "one", **life).requests


def test_two_thousand_objects_are_an_instance_like_any_other(cluster, life):
    """All of them are in its record, and all of them go (TK-3, TK-4)."""
    given = package(*(manifests.config_map(f"c{n}") for n in range(2000)))

    made = lcm.instantiate(
        cluster, "one", given, options=Options(dry_run=False), **life
    )

    assert 2000 == made.count(Action.CREATED)
    found = record.read(cluster, "one", "default").inventory
    assert 2000 == len(found.owned)
    assert 2000 == lcm.terminate(cluster, "one", **life).count(Action.DELETED)
    assert ["default", "kube-system"] == [
        r.name for r in cluster.world.objects
    ]


def test_what_is_current_at_once_is_not_watched(cluster, life):
    """What the apply's answer shows as current is not listed or watched."""
    lcm.instantiate(cluster, "one", package(manifests.config_map("a")), **life)

    assert "watch" not in {verb for verb, _ in cluster.sent}


def test_changing_nothing_writes_nothing(cluster, life):
    """Applying a package again leaves every version as it was (E-rows)."""
    given = package(manifests.config_map("a"), manifests.config_map("b"))
    lcm.instantiate(cluster, "one", given, **life)
    before = [cluster.get(ref("ConfigMap", name)) for name in "ab"]

    report = lcm.change(cluster, "one", given, **life)

    assert {Action.UNCHANGED} == {row.action for row in report.rows}
    assert before == [cluster.get(ref("ConfigMap", name)) for name in "ab"]


def test_a_refused_object_names_what_was_written(cluster, life):
    """Where the cause may pass, nothing is undone; the error says so."""
    given = package(manifests.config_map("a"), manifests.config_map("b"))
    cluster.fail(
        errors.Unavailable("b", 503, "no"), "patch", ref("ConfigMap", "b")
    )

    with pytest.raises(errors.Unavailable) as caught:
        lcm.instantiate(
            cluster, "one", given, options=Options(dry_run=False), **life
        )

    assert (ref("ConfigMap", "a"),) == caught.value.written
    assert "1 object(s): ConfigMap/default/a" in str(caught.value)


def test_a_refusal_of_the_server_takes_back_what_was_made(cluster, life):
    """Where the cause will not pass, nothing stays."""
    given = package(manifests.config_map("a"), manifests.config_map("b"))
    denied = errors.Rejected(ref("ConfigMap", "b"), 403, "Forbidden", "no")
    cluster.fail(denied, "patch", ref("ConfigMap", "b"))

    with pytest.raises(errors.Rejected) as caught:
        lcm.instantiate(
            cluster, "one", given, options=Options(dry_run=False), **life
        )

    assert () == caught.value.written
    assert not caught.value.begun
    assert str(caught.value).endswith(
        "Created before that, and deleted again: 1 object(s)"
    )
    assert [] == [
        found.name
        for found, stored in cluster.world.objects.items()
        if objects.INSTANCE in objects.labels(stored.obj)
        or found.kind == "Secret"
    ]


def test_what_is_not_possible_yet_is_tried_again(cluster, clock):
    """And holds up nothing else (P5)."""
    steps = [
        Apply(ref("ConfigMap", name), manifests.config_map(name, "default"), r)
        for name, r in (("a", Rank.CONFIG), ("b", Rank.CUSTOM))
    ]
    for _ in range(3):
        cluster.fail(
            errors.NotYet(ref("ConfigMap", "a"), "the webhook is not there"),
            "patch",
            ref("ConfigMap", "a"),
        )
    slept = []

    written = apply.applied(
        cluster, steps, "m", Deadline.after(60, clock), sleep=slept.append
    )

    assert ["b", "a"] == [item.ref.name for item in written]
    assert 3 == len(slept)
    assert slept == sorted(slept)


def test_a_kind_that_is_not_served_for_a_moment_is_waited_for(cluster, clock):
    """All kinds were known when the package was looked at (P3, P4)."""
    a = ref("ConfigMap", "a")
    step = Apply(a, manifests.config_map("a", "default"), Rank.CONFIG)
    for _ in range(2):
        cluster.fail(errors.KindUnknown(a.group_kind, "v1"), "patch", a)
    slept = []

    written = apply.applied(
        cluster, [step], "m", Deadline.after(60, clock), sleep=slept.append
    )

    assert [a] == [item.ref for item in written]
    assert 2 == len(slept)


def test_what_never_becomes_possible_ends_with_the_deadline(cluster, clock):
    """With the last reason, and what had been written by then."""
    a = ref("ConfigMap", "a")
    step = Apply(a, manifests.config_map("a", "nowhere"), Rank.CONFIG)

    def sleep(seconds):
        clock.now += seconds

    with pytest.raises(apply.Halted) as caught:
        apply.applied(
            cluster, [step], "m", Deadline.after(30, clock), sleep=sleep
        )

    assert isinstance(caught.value.cause, errors.NotYet)
    assert 25 <= clock.now <= 30


def test_an_object_that_somebody_removes_ends_the_wait(cluster, life):
    """It will not become current by waiting."""
    web = ref("Deployment", "web", "apps")

    def remove(progress):
        live = cluster.get(web)
        if live:
            cluster.delete(web, objects.uid(live))

    with pytest.raises(errors.Failed, match="somebody else removed it"):
        lcm.instantiate(
            cluster,
            "one",
            package(manifests.deployment("web")),
            listen=remove,
            **life,
        )


def test_a_number_that_is_refused_leaves_the_instance_at_rest(cluster, life):
    """Nothing changed, so the next operation has nothing to mend."""
    web = ref("Deployment", "web", "apps")
    cluster.world.controller = play_deployments
    given = package(manifests.deployment("web"))
    lcm.instantiate(cluster, "one", given, **life)
    denied = errors.Rejected(web, 403, "Forbidden", "not so many")
    cluster.fail(denied, "patch", web)

    with pytest.raises(errors.Rejected) as caught:
        lcm.scale(cluster, "one", {web: 9}, **life)

    assert not caught.value.begun
    assert "instantiated" == lcm.status(cluster, "one", **life).phase
    lcm.change(cluster, "one", given, **life)


def test_a_package_may_be_changed_after_a_scale_that_failed(cluster, life):
    """The new package may be what mends it."""
    web = ref("Deployment", "web", "apps")
    cluster.world.controller = play_deployments
    given = package(manifests.deployment("web"))
    lcm.instantiate(cluster, "one", given, **life)
    cluster.world.controller = None
    soon = life["deadline"].sooner(5)
    with pytest.raises(errors.NotReady):
        lcm.scale(cluster, "one", {web: 2}, deadline=soon)
    cluster.world.controller = play_deployments

    mended = package(manifests.deployment("web", nodeName="a"))
    lcm.change(cluster, "one", mended, **life)

    assert 2 == cluster.get(web)["spec"]["replicas"]


def test_a_record_that_somebody_else_wrote_stops_us(cluster, life):
    """Losing the record is losing the lock: no further stage is sent."""
    lcm.instantiate(cluster, "one", package(manifests.config_map("a")), **life)
    head = ObjectRef("", "Secret", "default", "tacker-k8s-cr.one")
    meddled = []

    def meddle(fake, obj):
        # Just when we write our journal, after we took the lock.
        if ObjectRef.of(obj) == head and not meddled:
            meddled.append(obj)
            fake.patch(head, {"metadata": {"labels": {"x": "y"}}}, "other")

    cluster.world.controller = meddle

    two_stages = package(
        manifests.definition(GROUP, "Thing"), manifests.config_map("b")
    )

    with pytest.raises(errors.LockLost, match="another process wrote"):
        lcm.change(cluster, "one", two_stages, **life)

    assert cluster.get(ref("ConfigMap", "b")) is None


def test_a_server_that_is_too_old_is_refused(cluster, life):
    """The oldest that will do is named, and nothing is written (TK-22)."""
    cluster.world.version = "v1.24.17"

    with pytest.raises(errors.RequestInvalid, match=r"v1\.24\.17.*v1\.25"):
        lcm.instantiate(
            cluster, "one", package(manifests.config_map("a")), **life
        )

    kind = objects.GroupKind("", "ConfigMap")
    assert [] == list(cluster.list_objects(kind, ""))
