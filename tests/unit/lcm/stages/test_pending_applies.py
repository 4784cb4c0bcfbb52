"""Objects whose apply is tried again: shown, and given up in good time."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import logging
import re

import pytest

from tacker_k8s_cr.cli import exit_codes
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import stage_runner
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import Outlook
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.plan.steps import Apply
from tests.fakes.scheduled_cluster import ScheduledCluster
from tests.functional import manifests

HOOK = "x.example.org"
WEB = ObjectRef("apps", "Deployment", "default", "web")
REFUSED = "dial tcp 10.0.0.1:443: connect: connection refused"
UNTRUSTED = "x509: certificate signed by unknown authority"
OTHER_NAME = "x509: certificate is valid for b.ns.svc, not a.ns.svc"


def ref(name):
    return ObjectRef("", "ConfigMap", "default", name)


def away(name, cause=REFUSED, outlook=Outlook.OPEN):
    why = f'failed calling webhook "{HOOK}": {cause}'
    return errors.DependencyMissing(
        ref(name), why, webhook=HOOK, cause=cause, outlook=outlook
    )


def config_map(name, **annotations):
    manifest = manifests.config_map(name, "default")
    manifest["metadata"]["annotations"] = {
        objects.PREFIX + key.replace("_", "-"): value
        for key, value in annotations.items()
    }
    return Apply(ref(name), manifest, ApplyOrder.CONFIG)


def deployment(name="web"):
    manifest = manifests.deployment(name)
    manifest["metadata"]["namespace"] = "default"
    one = ObjectRef("apps", "Deployment", "default", name)
    return Apply(one, manifest, ApplyOrder.WORKLOAD)


class World(ScheduledCluster):
    """A cluster whose webhook cannot be called for some objects."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def refuse(self, *names, **how):
        for name in names:
            for _ in range(1000):
                self.cluster.fail(away(name, **how), "patch", ref(name))

    def accept(self, name=""):
        self.cluster.world.faults = [
            fault
            for fault in self.cluster.world.faults
            if name and fault[1] != ref(name)
        ]

    def operation(self, seconds, **options):
        return Session(
            "instantiate",
            Request(
                self.cluster,
                "one",
                deadline=Deadline.after(seconds, self.clock),
                options=Options(**options),
                on_progress=self.seen.append,
            ),
        )

    def write(self, *steps, seconds=1800.0, **options):
        op = self.operation(seconds, **options)
        with op.annotate_errors():
            stage_runner.apply_stage(op, steps, "objects", self.idle)
        return op


@pytest.fixture
def world():
    return World()


def test_retried_objects_are_counted_and_reported(world):
    """Which objects, why, and until when; and no more once it is written."""
    world.refuse("a", "b", "c")
    world.at(30.0, world.accept)
    good = [config_map(f"good-{number}") for number in range(26)]

    op = world.write(*good, *map(config_map, "abc"))

    (most,) = [p for p in world.seen if p.unwritten][:1]
    assert 26 == len(most.awaited) - len(most.unsettled)
    assert set(map(ref, "abc")) == set(most.unwritten)
    found = most.unwritten[ref("a")]
    assert f"webhook {HOOK}: {REFUSED}" == found.why
    assert (0.0, 1800.0, "deadline") == (
        found.since,
        found.until,
        found.limit,
    )
    assert not op.progress.unwritten
    assert 29 == len(op.progress.awaited)
    assert 30 <= world.now <= 36


def test_a_dependent_object_is_reported(world):
    """It is not written yet either, and was not sent."""
    late = dataclasses.replace(config_map("late"), after=frozenset({WEB}))
    world.at(8.0, lambda: world.cluster.report(WEB, WORKS))

    world.write(deployment(), late)

    (first,) = [p for p in world.seen if p.unwritten][:1]
    assert {ref("late")} == set(first.unwritten)
    assert f"it depends on {WEB}" == first.unwritten[ref("late")].why
    assert not world.seen[-1].unwritten


WORKS = {
    "observedGeneration": 1,
    "replicas": 1,
    "updatedReplicas": 1,
    "readyReplicas": 1,
    "availableReplicas": 1,
    "conditions": [{"type": "Available", "status": "True"}],
}


# -- What no attempt can fix -------------------------------------------------


def test_a_certificate_for_another_name_ends_it_at_once(world):
    """No object is in progress that could provide another one."""
    world.refuse("a", "b", cause=OTHER_NAME, outlook=Outlook.NONE)

    with pytest.raises(errors.ObjectsFailed) as caught:
        world.write(config_map("good"), config_map("a"), config_map("b"))

    assert 0.0 == world.now
    error = caught.value
    assert [ref("a"), ref("b")] == [item.ref for item in error.pending]
    assert {State.FAILED} == {item.verdict.state for item in error.pending}
    assert f"ConfigMap/default/a: failed: not written: {WORDS}" in str(error)
    assert "replace the certificate of the webhook's server" in str(error)
    assert (ref("good"),) == error.written
    assert 3 == exit_codes.of_error(error).exit


WORDS = f'failed calling webhook "{HOOK}": {OTHER_NAME}'


def test_a_certificate_for_another_name_waits_for_what_moves(world):
    """A Deployment that is in progress may provide another certificate."""
    world.refuse("a", cause=OTHER_NAME, outlook=Outlook.NONE)
    world.at(20.0, lambda: world.cluster.report(WEB, WORKS))

    with pytest.raises(errors.ObjectsFailed):
        world.write(deployment(), config_map("a"))

    assert 20.0 <= world.now <= 30.0


def test_an_unknown_authority_ends_it_after_the_stall_timeout(world):
    """What injects the caBundle has had its time."""
    world.refuse("a", cause=UNTRUSTED, outlook=Outlook.DOUBTFUL)

    with pytest.raises(errors.ObjectsFailed) as caught:
        world.write(config_map("a"), stall_timeout=100.0)

    assert 100.0 <= world.now <= 105.0
    (item,) = caught.value.pending
    assert State.BLOCKED is item.verdict.state
    assert 100.0 <= item.age <= 105.0
    assert "caBundle" in item.notes[0]


def test_an_authority_that_becomes_known_is_not_an_error(world):
    """An operator injects the caBundle some time after the first attempt."""
    world.refuse("a", cause=UNTRUSTED, outlook=Outlook.DOUBTFUL)
    world.at(90.0, world.accept)

    op = world.write(config_map("a"), stall_timeout=100.0)

    assert not op.progress.unwritten


def test_an_object_may_have_a_stall_timeout_of_its_own(world):
    """By its annotation, as for an object that stalls."""
    world.refuse("a", cause=UNTRUSTED, outlook=Outlook.DOUBTFUL)

    with pytest.raises(errors.ObjectsFailed):
        world.write(config_map("a", stall_timeout="10"), stall_timeout=100.0)

    assert 10.0 <= world.now <= 15.0


def test_a_patient_operation_first_waits_for_the_others(world):
    """``on_failure`` sets it; then all that failed is named."""
    world.refuse("a", cause=OTHER_NAME, outlook=Outlook.NONE)
    world.refuse("b")
    world.at(50.0, functools.partial(world.accept, "b"))

    with pytest.raises(errors.ObjectsFailed) as caught:
        world.write(
            config_map("a"),
            config_map("b"),
            on_failure="wait_all",
            stall_timeout=20.0,
        )

    assert 50.0 <= world.now <= 60.0
    assert [ref("a")] == [item.ref for item in caught.value.pending]


# -- The deadline ------------------------------------------------------------


@pytest.mark.requirement("P5")
def test_what_is_not_written_at_the_deadline_is_a_time_out(world):
    """The last answer is reported, with the exit code of a time-out."""
    world.refuse("a")

    with pytest.raises(errors.DependencyMissing) as caught:
        world.write(config_map("good"), config_map("a"), seconds=20.0)

    assert 20.0 == world.now
    assert f"{REFUSED}; the deadline passed" in str(caught.value)
    assert 4 == exit_codes.of_error(caught.value).exit


def test_what_is_not_current_at_the_deadline_is_named_too(world):
    """It may be why the webhook does not answer."""
    world.refuse("a")

    with pytest.raises(errors.ReadinessTimeout) as caught:
        world.write(deployment(), config_map("a"), seconds=20.0)

    assert [WEB] == [item.ref for item in caught.value.pending]
    assert f'a: not written: failed calling webhook "{HOOK}"' in str(
        caught.value
    )
    found = exit_codes.of_error(caught.value, True, world.seen[-1], world.now)
    assert 4 == found.exit
    (item,) = found.as_dict()["not_written"]
    until = datetime.datetime.fromisoformat(item.pop("until")[:-1] + "+00:00")
    left = until - datetime.datetime.now(datetime.timezone.utc)
    assert abs(left) < datetime.timedelta(minutes=10)
    assert {
        "group": "",
        "kind": "ConfigMap",
        "namespace": "default",
        "name": "a",
        "reason": f'failed calling webhook "{HOOK}": {REFUSED}',
        "limit": "deadline",
    } == item


# -- The log -----------------------------------------------------------------


def test_each_reason_is_logged_once(world, caplog):
    """With the objects and the end of the attempts, not once for each try."""
    world.refuse("a", "b")
    world.at(30.0, world.accept)

    with caplog.at_level(
        logging.INFO, "tacker_k8s_cr.lcm.stages.pending_applies"
    ):
        world.write(config_map("a"), config_map("b"))

    (line,) = [
        record.getMessage()
        for record in caplog.records
        if record.name == "tacker_k8s_cr.lcm.stages.pending_applies"
    ]
    assert re.fullmatch(
        r"one: ConfigMap/default/a, ConfigMap/default/b: not written yet, "
        r"retrying until (\S+ )?\d\d:\d\d:\d\d \(deadline\): failed calling "
        r'webhook "x\.example\.org": .*connection refused',
        line,
    )
