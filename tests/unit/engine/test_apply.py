"""Applying what is possible, while the rest is held or tried again."""

from __future__ import annotations

import contextlib

import pytest

from tacker_k8s_cr.engine import apply
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.steps import Apply
from tests.fakes import FakeCluster
from tests.functional import manifests
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import owned_objects
from tests.unit.lcm.kill_points import record_objects
from tests.unit.lcm.kill_points import run_operation
from tests.unit.packages import make_package

GROUP = "test.example.org"


def ref(name, kind="ConfigMap", group=""):
    return ObjectRef(group, kind, "default", name)


def step(name, *after, rank=ApplyOrder.CONFIG):
    return Apply(
        ref(name),
        manifests.config_map(name, "default"),
        rank,
        after=frozenset(map(ref, after)),
    )


class Run:
    """What an apply did, with pauses that move the clock."""

    def __init__(self, cluster, clock, *steps, current=lambda run: ()):
        self.cluster, self.clock, self.steps = cluster, clock, steps
        self.rounds, self.slept = [], []
        self._current = current

    def __call__(self, seconds=60):
        hooks = apply.ApplyHooks(
            is_ready=lambda step: (
                step.after <= set(map(ref, self._current(self)))
            ),
            on_written=lambda some: self.rounds.append(
                [w.ref.name for w in some]
            ),
            sleep=self.sleep,
        )
        deadline = Deadline.after(seconds, self.clock)
        return apply.apply_all(self.cluster, self.steps, "m", deadline, hooks)

    def sleep(self, seconds):
        self.slept.append(seconds)
        # Something moves before long.
        self.clock.now += min(seconds, 5.0)

    @property
    def written(self):
        return [name for some in self.rounds for name in some]


@pytest.mark.requirement("B4", "IN-22")
def test_a_step_is_held_until_what_it_depends_on_is_current(cluster, clock):
    """As long as nothing else is to be done it is waited for."""
    run = Run(
        cluster,
        clock,
        step("c", "b"),
        step("b", "a"),
        step("a"),
        current=lambda run: ["a", "b"][: len(run.slept)],
    )

    run()

    assert [["a"], ["b"], ["c"]] == run.rounds
    assert [60.0, 55.0] == run.slept


def test_what_gets_current_at_once_needs_no_pause(cluster, clock):
    """Its dependents follow in the next round."""
    run = Run(
        cluster,
        clock,
        *(step("c", "b"), step("b", "a"), step("a")),
        current=lambda run: run.written,
    )

    run()

    assert [["a"], ["b"], ["c"]] == run.rounds
    assert [] == run.slept


def test_retried_and_held_objects_do_not_block_each_other(cluster, clock):
    """The pause begins again when something moved."""
    for _ in range(5):
        cluster.fail(
            errors.DependencyMissing(ref("x"), "not there"), "patch", ref("x")
        )
    run = Run(
        cluster,
        clock,
        *(step("x"), step("a"), step("b", "a"), step("c", "x")),
        current=lambda run: run.written if run.slept[2:] else (),
    )

    run()

    assert ["a", "b", "x", "c"] == run.written
    assert [0.25, 0.5, 1.0, 0.25, 0.5] == run.slept


def test_at_the_deadline_dependents_are_reported_too(cluster, clock):
    """With what each of them waits for."""
    for _ in range(20):
        cluster.fail(
            errors.DependencyMissing(ref("x"), "not there"), "patch", ref("x")
        )
    run = Run(cluster, clock, step("x"), step("c", "x"))

    with pytest.raises(apply.ApplyInterrupted) as caught:
        run(20)

    assert (
        "ConfigMap/default/x: not there\n"
        "ConfigMap/default/c: it depends on ConfigMap/default/x\n"
        "The deadline passed."
    ) == caught.value.cause.outcome()
    assert caught.value.cause.deadline_passed
    assert 20 == clock.now


def test_a_deadline_amid_a_round_hides_no_reason(cluster, clock):
    """What is not sent any more has the reason that it had before."""
    cluster.fail(
        errors.DependencyMissing(ref("x"), "not there"), "patch", ref("x")
    )
    run = Run(
        cluster.with_deadline(Deadline.after(0.2, clock)), clock, step("x")
    )

    with pytest.raises(apply.ApplyInterrupted) as caught:
        run(0.5)

    assert "ConfigMap/default/x: not there; the deadline passed" == (
        caught.value.cause.outcome()
    )


def test_an_object_that_is_never_sent_is_reported(cluster, clock):
    """The deadline passes before the first attempt."""
    run = Run(
        cluster.with_deadline(Deadline.after(0, clock)), clock, step("x")
    )

    with pytest.raises(
        apply.ApplyInterrupted, match="x: not sent; the deadline"
    ):
        run(0)


def test_objects_written_beside_a_refusal_are_reported(cluster, clock):
    """They exist, so the record has to contain them."""
    denied = errors.Rejected(ref("b"), 422, "Invalid", "no")
    cluster.fail(denied, "patch", ref("b"))
    run = Run(cluster, clock, step("a"), step("b", rank=ApplyOrder.CUSTOM))

    with pytest.raises(apply.ApplyInterrupted):
        run()

    assert ["a"] == run.written


def test_a_failure_ends_what_is_only_tried_again(cluster, operation_args):
    """A webhook whose Deployment fails will never answer."""
    web = ObjectRef("apps", "Deployment", "default", "web")

    def controller(fake, obj):
        if ObjectRef.of(obj) == web:
            late = {"type": "Progressing", "status": "False"}
            late["reason"] = "ProgressDeadlineExceeded"
            late["message"] = "the image does not exist"
            fake.report(
                web,
                {
                    "observedGeneration": obj["metadata"]["generation"],
                    "conditions": [late],
                },
            )

    cluster.world.controller = controller
    away = errors.DependencyMissing(
        ref("a"), "no answer", webhook="h.example.org"
    )
    for _ in range(50):
        cluster.fail(away, "patch", ref("a"))
    given = make_package(
        manifests.deployment("web"), manifests.config_map("a")
    )

    with pytest.raises(
        errors.ObjectsFailed, match="the image does not exist"
    ) as told:
        lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)

    assert "default/a: not written: no answer" in str(told.value)
    assert 500 < operation_args["deadline"].remaining


def test_a_pause_in_which_nothing_can_move_is_short(
    cluster, operation_args, clock
):
    """No stream would show anything, but the lock may be taken.

    So the deadline may be far away, and no thread sleeps until then.
    """
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        clock.idle(seconds)

    op = Session("instantiate", Request(cluster, "one", **operation_args))
    with (
        op.locked(),
        pytest.raises(errors.DependencyMissing, match="a: it depends on"),
    ):
        stage_runner.apply_stage(
            op, [step("a", "never written")], "all", sleep
        )

    assert 600 / backoff.APPLY.maximum <= len(pauses)
    assert backoff.APPLY.maximum == max(pauses)


def test_a_record_has_the_existing_objects_before_a_long_pause(
    cluster, operation_args
):
    """A process killed while it waits for a dependency loses nothing."""
    late = manifests.config_map("late")
    late["metadata"]["annotations"] = {
        objects.PREFIX + "depends-on": "Deployment.apps/web"
    }
    given = make_package(manifests.deployment("web"), late)

    with pytest.raises(errors.ReadinessTimeout, match="web") as caught:
        lcm.instantiate(
            lcm.Request(
                cluster, "one", deadline=operation_args["deadline"].at_most(30)
            ),
            given,
        )

    # No request reads an object that was never written.
    assert (
        "ConfigMap/default/late: not written: it depends on "
        "Deployment.apps/default/web"
    ) in str(caught.value)
    # Of the operation, not of the last of its pauses.
    assert 30 <= caught.value.seconds < 31
    report = lcm.status(lcm.Request(cluster, "one", **operation_args))
    assert ["web"] == [row.ref.name for row in report.objects]
    lcm.terminate(lcm.Request(cluster, "one", **operation_args))


def test_the_namespace_of_the_record_waits_for_nothing(
    cluster, operation_args
):
    """Whatever its annotation has: there is no record before it."""
    home = manifests.namespace("home")
    home["metadata"]["annotations"] = {
        objects.PREFIX + "depends-on": "ConfigMap/a",
        objects.PREFIX + "wave": "1",
    }
    other = manifests.config_map("a", "default")

    report = lcm.instantiate(
        lcm.Request(cluster, "one", namespace="home", **operation_args),
        make_package(home, other),
    )

    assert ["home", "a"] == [row.ref.name for row in report.objects]


UP = {
    objects.PREFIX + "readiness": "status",
    objects.PREFIX + "ready-when": "status.phase=Up",
}
ORDERED = make_package(
    manifests.custom(
        GROUP, "Thing", "b", {**UP, objects.PREFIX + "depends-on": "Secret/s"}
    ),
    manifests.custom(
        GROUP, "Thing", "c", {**UP, objects.PREFIX + "wave": "1"}
    ),
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "s",
            "annotations": {objects.PREFIX + "depends-on": f"Thing.{GROUP}/a"},
        },
    },
    manifests.custom(GROUP, "Thing", "a", UP),
    manifests.definition(GROUP, "Thing"),
)


def brought_up(fake, obj):
    """A controller that has each of its objects up after a moment."""
    if obj["kind"] == "Thing" and "status" not in obj:
        fake.report(ObjectRef.of(obj), {"phase": "Up"})


def test_an_order_is_resumed_wherever_it_stopped(clock):
    """An operation that died between two rounds loses nothing."""

    def fresh():
        return FakeCluster(brought_up, clock.idle)

    died = 0
    for cluster in killed_clusters(
        lcm.instantiate, lambda fake: None, fresh, clock, ORDERED
    ):
        died += 1
        if died % 2:
            with contextlib.suppress(errors.InstanceExists):
                run_operation(lcm.instantiate, cluster, clock, ORDERED)
            assert ["a", "b", "c", "s", f"things.{GROUP}"] == owned_objects(
                cluster
            )
        cluster.sent.clear()
        with contextlib.suppress(errors.InstanceNotFound):
            run_operation(lcm.terminate, cluster, clock)

        assert [] == owned_objects(cluster)
        assert [] == record_objects(cluster)
        gone = [
            about.name
            for verb, about in cluster.sent
            if verb == "delete" and about.kind in ("Thing", "Secret")
        ]
        assert [n for n in "cbsa" if n in gone] == [
            n for n in gone if not n.startswith("tacker-k8s-cr.")
        ]
    assert died > 20
