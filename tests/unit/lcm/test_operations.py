"""What operations send, and what they do about what comes back.

On the fake cluster, whose honesty the contracts prove: here are states that
a real server cannot be brought into on demand, and exact counts.
"""

from __future__ import annotations

import pytest

from tacker_k8s_cr.engine import apply
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.plan.steps import Apply
from tacker_k8s_cr.state import store
from tests.fakes.workloads import play_deployments
from tests.functional import manifests
from tests.unit.packages import make_package

GROUP = "test.example.org"


def ref(kind, name, group=""):
    return ObjectRef(group, kind, "default", name)


THOUSAND = make_package(
    *(manifests.config_map(f"c{number}") for number in range(1000))
)


@pytest.mark.requirement("P25")
def test_a_thousand_objects_cost_hardly_more_than_a_request_each(
    cluster, operation_args
):
    """The budget is 1.1 for each without the server's dry run.

    Also on a server with 500 definitions, none of which the package uses.
    """
    for number in range(500):
        other = manifests.definition(f"{number}.example.org", "Thing")
        cluster.apply(other, "other-manager")
    cluster.sent.clear()

    report = lcm.instantiate(
        lcm.Request(
            cluster, "one", options=Options(dry_run=False), **operation_args
        ),
        THOUSAND,
    )

    assert 1000 == report.count(Action.CREATED)
    assert 1.1 * 1000 >= report.requests


def test_the_dry_run_costs_one_more_for_each(cluster, operation_args):
    """The budget is 2.1 for each with it."""
    report = lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), THOUSAND
    )

    assert 2.1 * 1000 >= report.requests


def test_terminate_costs_one_for_each(cluster, operation_args):
    """The server itself reports that an object is deleted."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), THOUSAND)

    assert (
        1.1 * 1000
        >= lcm.terminate(
            lcm.Request(cluster, "one", **operation_args)
        ).requests
    )


def test_two_thousand_objects_are_an_instance_like_any_other(
    cluster, operation_args
):
    """All of them are in its record, and all of them go."""
    given = make_package(*(manifests.config_map(f"c{n}") for n in range(2000)))

    made = lcm.instantiate(
        lcm.Request(
            cluster, "one", options=Options(dry_run=False), **operation_args
        ),
        given,
    )

    assert 2000 == made.count(Action.CREATED)
    found = store.read(cluster, "one", "default").inventory
    assert 2000 == len(found.owned)
    assert 2000 == lcm.terminate(
        lcm.Request(cluster, "one", **operation_args)
    ).count(Action.DELETED)
    assert ["default", "kube-system"] == [
        r.name for r in cluster.world.objects
    ]


def test_what_is_current_at_once_is_not_watched(cluster, operation_args):
    """What the apply's answer shows as current is not listed or watched."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(manifests.config_map("a")),
    )

    assert "watch" not in {verb for verb, _ in cluster.sent}


def test_changing_nothing_writes_nothing(cluster, operation_args):
    """Applying a package again leaves every version as it was."""
    given = make_package(manifests.config_map("a"), manifests.config_map("b"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    before = [cluster.get(ref("ConfigMap", name)) for name in "ab"]

    report = lcm.change(lcm.Request(cluster, "one", **operation_args), given)

    assert {Action.UNCHANGED} == {row.action for row in report.objects}
    assert before == [cluster.get(ref("ConfigMap", name)) for name in "ab"]


def test_a_refused_object_names_what_was_written(cluster, operation_args):
    """Where the cause may pass, nothing is undone; the error states so."""
    given = make_package(manifests.config_map("a"), manifests.config_map("b"))
    cluster.fail(
        errors.Unavailable("b", 503, "no"), "patch", ref("ConfigMap", "b")
    )

    with pytest.raises(errors.Unavailable) as caught:
        lcm.instantiate(
            lcm.Request(
                cluster,
                "one",
                options=Options(dry_run=False),
                **operation_args,
            ),
            given,
        )

    assert (ref("ConfigMap", "a"),) == caught.value.written
    assert "1 object(s): ConfigMap/default/a" in str(caught.value)


@pytest.mark.requirement("E8")
def test_a_refusal_of_the_server_takes_back_what_was_made(
    cluster, operation_args
):
    """Where the cause will not pass, nothing stays."""
    given = make_package(manifests.config_map("a"), manifests.config_map("b"))
    denied = errors.Rejected(ref("ConfigMap", "b"), 403, "Forbidden", "no")
    cluster.fail(denied, "patch", ref("ConfigMap", "b"))

    with pytest.raises(errors.Rejected) as caught:
        lcm.instantiate(
            lcm.Request(
                cluster,
                "one",
                options=Options(dry_run=False),
                **operation_args,
            ),
            given,
        )

    assert () == caught.value.written
    assert not caught.value.has_written
    assert caught.value.outcome().endswith(
        "Created before that, and deleted again: 1 object(s)"
    )
    assert [] == [
        found.name
        for found, stored in cluster.world.objects.items()
        if objects.INSTANCE in objects.labels(stored.obj)
        or found.kind == "Secret"
    ]


def test_what_is_not_possible_yet_is_tried_again(cluster, clock):
    """And holds up nothing else."""
    steps = [
        Apply(ref("ConfigMap", name), manifests.config_map(name, "default"), r)
        for name, r in (("a", ApplyOrder.CONFIG), ("b", ApplyOrder.CUSTOM))
    ]
    for _ in range(3):
        cluster.fail(
            errors.DependencyMissing(
                ref("ConfigMap", "a"), "the webhook is missing"
            ),
            "patch",
            ref("ConfigMap", "a"),
        )
    slept = []

    written = apply.apply_all(
        cluster,
        steps,
        "m",
        Deadline.after(60, clock),
        apply.ApplyHooks(sleep=slept.append),
    )

    assert ["b", "a"] == [item.ref.name for item in written]
    assert 3 == len(slept)
    assert slept == sorted(slept)


@pytest.mark.requirement("B5")
def test_a_kind_that_is_not_served_for_a_moment_is_waited_for(cluster, clock):
    """All kinds were known when the package was looked at."""
    a = ref("ConfigMap", "a")
    step = Apply(a, manifests.config_map("a", "default"), ApplyOrder.CONFIG)
    for _ in range(2):
        cluster.fail(errors.KindNotServed(a.group_kind, "v1"), "patch", a)
    slept = []

    written = apply.apply_all(
        cluster,
        [step],
        "m",
        Deadline.after(60, clock),
        apply.ApplyHooks(sleep=slept.append),
    )

    assert [a] == [item.ref for item in written]
    assert 2 == len(slept)


@pytest.mark.parametrize(
    ("missing", "said"),
    [("namespace", '"nowhere" not found'), ("kind", f"Thing.{GROUP}")],
)
@pytest.mark.requirement("P3")
def test_what_never_becomes_possible_ends_with_the_deadline(
    cluster, clock, missing, said
):
    """With the last reason: no namespace, or a kind that is never served."""
    step = Apply(
        ref("ConfigMap", "a"),
        manifests.config_map("a", "nowhere"),
        ApplyOrder.CONFIG,
    )
    if missing == "kind":
        thing = manifests.custom(GROUP, "Thing", "a")
        thing["metadata"]["namespace"] = "default"
        step = Apply(ObjectRef.of(thing), thing, ApplyOrder.CUSTOM)

    def sleep(seconds):
        clock.now += seconds

    with pytest.raises(apply.ApplyInterrupted) as caught:
        apply.apply_all(
            cluster,
            [step],
            "m",
            Deadline.after(30, clock),
            apply.ApplyHooks(sleep=sleep),
        )

    assert isinstance(caught.value.cause, errors.DependencyMissing)
    assert said in str(caught.value.cause)
    assert 25 <= clock.now <= 30


def test_an_object_that_another_client_deletes_ends_the_wait(
    cluster, operation_args
):
    """It will not become current by waiting."""
    web = ref("Deployment", "web", "apps")

    def remove(progress):
        live = cluster.get(web)
        if live:
            cluster.delete(web, objects.uid(live))

    with pytest.raises(
        errors.ObjectsFailed, match="deleted by another client"
    ):
        lcm.instantiate(
            lcm.Request(cluster, "one", on_progress=remove, **operation_args),
            make_package(manifests.deployment("web")),
        )


def test_refused_replicas_leave_the_instance_idle(cluster, operation_args):
    """Nothing changed, so the next operation has nothing to fix."""
    web = ref("Deployment", "web", "apps")
    cluster.world.controller = play_deployments
    given = make_package(manifests.deployment("web"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    denied = errors.Rejected(web, 403, "Forbidden", "not so many")
    cluster.fail(denied, "patch", web)

    with pytest.raises(errors.Rejected) as caught:
        lcm.scale(lcm.Request(cluster, "one", **operation_args), {web: 9})

    assert not caught.value.has_written
    assert (
        "instantiated"
        == lcm.status(lcm.Request(cluster, "one", **operation_args)).phase
    )
    lcm.change(lcm.Request(cluster, "one", **operation_args), given)


def test_a_package_may_be_changed_after_a_scale_that_failed(
    cluster, operation_args
):
    """The new package may be what fixes it."""
    web = ref("Deployment", "web", "apps")
    cluster.world.controller = play_deployments
    given = make_package(manifests.deployment("web"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    cluster.world.controller = None
    soon = operation_args["deadline"].at_most(5)
    with pytest.raises(errors.ReadinessTimeout):
        lcm.scale(lcm.Request(cluster, "one", deadline=soon), {web: 2})
    cluster.world.controller = play_deployments

    fixed = make_package(manifests.deployment("web", nodeName="a"))
    lcm.change(lcm.Request(cluster, "one", **operation_args), fixed)

    assert 2 == cluster.get(web)["spec"]["replicas"]


def test_a_record_of_another_writer_stops_the_operation(
    cluster, operation_args
):
    """Losing the record is losing the lock: no further stage is sent."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(manifests.config_map("a")),
    )
    head = ObjectRef("", "Secret", "default", "tacker-k8s-cr.one")
    meddled = []

    def meddle(fake, obj):
        # Just when we write our journal, after we took the lock.
        if ObjectRef.of(obj) == head and not meddled:
            meddled.append(obj)
            fake.patch(head, {"metadata": {"labels": {"x": "y"}}}, "other")

    cluster.world.controller = meddle

    two_stages = make_package(
        manifests.definition(GROUP, "Thing"), manifests.config_map("b")
    )

    with pytest.raises(errors.LockLost, match="another process wrote"):
        lcm.change(lcm.Request(cluster, "one", **operation_args), two_stages)

    assert cluster.get(ref("ConfigMap", "b")) is None


@pytest.mark.requirement("TK-22")
def test_a_server_that_is_too_old_is_refused(cluster, operation_args):
    """The oldest that will do is named, and nothing is written."""
    cluster.world.version = "v1.24.17"

    with pytest.raises(errors.RequestInvalid, match=r"v1\.24\.17.*v1\.25"):
        lcm.instantiate(
            lcm.Request(cluster, "one", **operation_args),
            make_package(manifests.config_map("a")),
        )

    kind = objects.GroupKind("", "ConfigMap")
    assert [] == list(cluster.list_objects(kind, ""))
