"""Objects whose deletion is stuck are reported, and given up in time."""

from __future__ import annotations

import logging

import pytest

from tacker_k8s_cr.cli.plain_progress import changed_lines
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.plan.options import Options
from tests.fakes.scheduled_cluster import ScheduledCluster
from tests.functional import manifests
from tests.unit.packages import make_package

GROUP = "example.org"
HOLD = "example.org/hold"
THING = ObjectRef(GROUP, "Thing", "default", "x")
OPERATOR = ObjectRef("apps", "Deployment", "default", "hold")
CREATED = {objects.PREFIX + "readiness": "exists"}


class World(ScheduledCluster):
    """An instance with an object that a finalizer holds."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.cluster.create(manifests.definition(GROUP, "Thing"), "tests")
        thing = manifests.custom(GROUP, "Thing", "x", dict(CREATED))
        thing["metadata"]["finalizers"] = [HOLD]
        lcm.instantiate(
            lcm.Request(
                self.cluster, "one", deadline=Deadline.after(60, self.clock)
            ),
            make_package(thing),
        )

    def operator(self, available, replicas=1):
        """It is called as its finalizer."""
        manifest = manifests.deployment("hold", replicas)
        manifest["metadata"]["namespace"] = "default"
        if self.cluster.get(OPERATOR) is None:
            self.cluster.create(manifest, "tests")
        self.cluster.report(OPERATOR, {"availableReplicas": available})

    def annotate(self, **annotations):
        body = {"metadata": {"annotations": annotations}}
        self.cluster.patch(THING, body, "tests")

    def release(self):
        body = {"metadata": {"finalizers": None}}
        self.cluster.patch(THING, body, "hold")

    def write(self, **fields):
        """As a controller that works on the object does."""
        self.cluster.report(THING, fields)

    def terminate(self, seconds=1800.0, **options):
        return lcm.terminate(
            lcm.Request(
                self.cluster,
                "one",
                deadline=Deadline.after(seconds, self.clock),
                options=Options(**options),
                on_progress=self.seen.append,
            )
        )


@pytest.fixture
def world():
    return World()


def shown(world):
    """What was shown of the object, last."""
    return world.seen[-1].verdict(THING, world.now)


def test_an_unavailable_controller_is_shown_at_once(world, caplog):
    """The log and the progress have the cause long before the deadline."""
    world.operator(0)

    with pytest.raises(errors.DeletionTimeout) as caught:
        world.terminate(20.0)

    first = next(p for p in world.seen if p.causes)
    assert (
        f"finalizer {HOLD}: its controller {OPERATOR} does not run: none of "
        "its Pods is available"
    ) == first.causes[THING]
    assert State.TERMINATING is shown(world).state
    assert first.causes[THING] in shown(world).reason
    (line,) = [
        record.getMessage()
        for record in caplog.records
        if record.levelno == logging.WARNING
        and record.name == "tacker_k8s_cr.lcm.stages.deletion_watchdog"
    ]
    assert line.startswith(f"{THING}: finalizer {HOLD}: its controller")
    assert f"--remove-finalizers {THING}" in line
    (item,) = caught.value.pending
    assert any(f"--remove-finalizers {THING}" in n for n in item.notes)


def test_the_cause_is_a_line_of_the_command(world):
    """It is written once, when it is found."""
    world.operator(0)

    with pytest.raises(errors.DeletionTimeout):
        world.terminate(20.0)

    lines = [
        line
        for before, after in zip(world.seen, world.seen[1:], strict=False)
        for line in changed_lines(before, after, world.now)
    ]
    assert 1 == sum("does not run" in line for line in lines)


@pytest.mark.parametrize("there", [True, False])
def test_a_stuck_deletion_ends_it_after_the_stall_timeout(world, there):
    """The operator has no ready Pod, or does not exist."""
    if there:
        world.operator(0)

    with pytest.raises(errors.ObjectsFailed) as caught:
        world.terminate(stall_timeout=100.0)

    assert 100.0 <= world.now <= 140.0
    (item,) = caught.value.pending
    assert THING == item.ref
    assert State.BLOCKED is item.verdict.state
    assert f"finalizer {HOLD}" in item.verdict.reason
    assert any(f"--remove-finalizers {THING}" in n for n in item.notes)


def test_the_option_that_the_error_names_removes_it(world):
    """As the error states."""
    with pytest.raises(errors.ObjectsFailed):
        world.terminate(stall_timeout=10.0)

    world.terminate(remove_finalizers=frozenset({THING}))

    assert world.cluster.get(THING) is None


def test_an_operator_that_restarts_is_waited_for(world):
    """It was away for less than the stall timeout."""
    world.operator(0)
    world.at(90.0, lambda: world.operator(1))
    world.at(150.0, world.release)

    world.terminate(stall_timeout=100.0)

    assert world.cluster.get(THING) is None
    assert not [p for p in world.seen[-2:] if p.causes]


def test_an_object_that_moves_is_waited_for(world):
    """Something works on it, wherever that runs."""
    for number in range(1, 6):
        at = number * 80.0
        world.at(at, lambda n=number: world.write(left=10 - n))
    world.at(420.0, world.release)

    world.terminate(stall_timeout=100.0)

    assert world.cluster.get(THING) is None


def test_an_object_may_have_a_stall_timeout_of_its_own(world):
    """By its annotation, as when it comes."""
    world.annotate(**{objects.PREFIX + "stall-timeout": "10"})

    with pytest.raises(errors.ObjectsFailed):
        world.terminate(stall_timeout=1000.0)

    assert world.now <= 120.0


def test_a_patient_end_waits_for_the_others(world):
    """Until no object is left that could still be deleted."""
    held = manifests.custom(GROUP, "Thing", "x", dict(CREATED))
    held["metadata"]["finalizers"] = [HOLD]
    lcm.change(
        lcm.Request(
            world.cluster, "one", deadline=Deadline.after(60, world.clock)
        ),
        make_package(
            held, manifests.custom(GROUP, "Thing", "y", dict(CREATED))
        ),
    )
    y = ObjectRef(GROUP, "Thing", "default", "y")
    hold = {"metadata": {"finalizers": ["kubernetes.io/pv-protection"]}}
    world.cluster.patch(y, hold, "tests")
    world.at(
        200.0,
        lambda: world.cluster.patch(
            y, {"metadata": {"finalizers": None}}, "tests"
        ),
    )

    with pytest.raises(errors.ObjectsFailed) as caught:
        world.terminate(stall_timeout=50.0, on_failure="wait_all")

    assert world.now >= 200.0
    assert [THING] == [item.ref for item in caught.value.pending]


def test_without_permission_to_list_no_cause_is_claimed(world):
    """Without the lists nothing is known of controllers: it is waited for."""

    def refuse():
        for kind in ("Deployment", "StatefulSet", "DaemonSet"):
            no = errors.Forbidden("list", kind, "", "no")
            for _ in range(1000):
                world.cluster.fail(no, "list", objects.GroupKind("apps", kind))

    refuse()

    with pytest.raises(errors.DeletionTimeout) as caught:
        world.terminate(400.0, stall_timeout=20.0)

    assert not [p for p in world.seen if p.causes]
    (item,) = caught.value.pending
    assert any("could not be listed" in note for note in item.notes)


def test_a_bare_pod_may_be_the_controller(world):
    """It is looked for before the end is given up."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "hold", "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": "example.org/a"}]},
    }
    obj = world.cluster.create(pod, "tests")
    ready = [{"type": "Ready", "status": "True"}]
    world.cluster.report(ObjectRef.of(obj), {"conditions": ready})

    with pytest.raises(errors.DeletionTimeout):
        world.terminate(400.0, stall_timeout=20.0)


def test_a_finalizer_of_kubernetes_is_waited_for(world):
    """Its controller is part of the control plane, and not looked for."""
    hold = {"metadata": {"finalizers": ["kubernetes.io/pvc-protection"]}}
    world.cluster.patch(THING, hold, "tests")

    with pytest.raises(errors.DeletionTimeout):
        world.terminate(400.0, stall_timeout=20.0)

    assert not [p for p in world.seen if p.causes]
