"""Machines that are marked: where a mark helps, and what it comes to."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.lcm.healing import quorum
from tacker_k8s_cr.lcm.healing import remediation
from tacker_k8s_cr.lcm.healing import selection
from tacker_k8s_cr.lcm.healing.members import ReplicaGroup
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.journal import Healing
from tacker_k8s_cr.plan.options import Options

SET = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "MachineSet",
    "name": "s",
    "uid": "s",
    "controller": True,
}
CONTROL_PLANE = {
    **SET,
    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
    "kind": "KubeadmControlPlane",
}
POOL = {**SET, "kind": "MachinePool"}


def machine(name="m", owner=SET, conditions=(), **annotations):
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "annotations": {
                f"cluster.x-k8s.io/{key.replace('_', '-')}": value
                for key, value in annotations.items()
            },
            "ownerReferences": [owner],
        },
        "status": {"conditions": list(conditions)},
    }


def check(*targets, spec=None, **conditions):
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": spec or {},
        "status": {
            "targets": list(targets),
            "conditions": [
                {"type": kind, "status": status, "reason": "Why"}
                for kind, status in conditions.items()
            ],
        },
    }


TEMPLATE = {"kind": "T", "name": "t"}


@pytest.mark.parametrize(
    ("given", "checks", "why"),
    [
        (machine(), [check("m")], None),
        (machine(owner=CONTROL_PLANE), [check("m")], None),
        (machine(), [check("m", RemediationAllowed="True")], None),
        (machine(), [], "no MachineHealthCheck watches it"),
        (machine(), [check("other")], "no MachineHealthCheck watches it"),
        (machine(owner=POOL), [check("m")], "does not remediate Machines"),
        (machine(skip_remediation=""), [check("m")], "skip-remediation"),
        (machine(paused=""), [check("m")], "paused prevents"),
        (machine(), [check("m", Paused="True")], "c is paused"),
        (
            machine(),
            [check("m", RemediationAllowed="False")],
            "RemediationAllowed is False: Why",
        ),
        (
            machine(),
            [check("m", spec={"remediation": {"templateRef": TEMPLATE}})],
            "another controller, which may retain it",
        ),
        (
            machine(),
            [check("m", spec={"remediationTemplate": TEMPLATE})],
            "another controller, which may retain it",
        ),
        (machine(), [check("m", Paused="True"), check("m")], None),
    ],
)
def test_where_remediation_works(given, checks, why):
    """Where a check watches whose controller replaces machines."""
    found = remediation.ineffective_reason(given, checks)

    assert (why is None) == (found is None)
    assert (why or "") in (found or "")


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("CannotBeRemediated", True), ("RemediationDeferred", False)],
)
def test_the_response_of_a_controller_to_the_annotation(reason, expected):
    """What is put off comes later; what cannot be does not."""
    condition = {"type": "OwnerRemediated", "status": "False"}
    marked = machine(conditions=[{**condition, "reason": reason}])

    assert expected == bool(remediation.remediation_failure(marked))


def test_annotated_machines_are_replaced_one_by_one():
    """A check stops when too many are sick."""
    keeper = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineSet",
        "metadata": {"name": "s", "namespace": "default", "uid": "s"},
    }
    owner = ObjectRef("cluster.x-k8s.io", "MachineDeployment", "default", "d")
    several = tuple(machine(name) for name in "abcd")
    found = selection.locate_members({owner: (ReplicaGroup(keeper, several),)})
    healing = Healing(True, tuple(place.member for place in found.values()))

    rounds = selection.split_batches(healing, found, {"b", "c"})

    assert [["b"], ["c"], ["a", "d"]] == [
        [place.member.uid for place in places] for places in rounds
    ]


def test_a_machine_without_a_group_is_not_hindered():
    """It is deleted already: the heal continues with the next one."""
    assert quorum.deletion_blocked_reason([], {"m"}, kinds.BUILT_IN) is None


def test_an_unknown_strategy_is_refused():
    """As any other wrong choice."""
    with pytest.raises(errors.RequestInvalid, match="expected delete or"):
        Options(machine_heal_strategy="restart")
