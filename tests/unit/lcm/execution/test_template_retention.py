"""Former templates that machines are still made from."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.lcm.execution import template_retention
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.placement import PlacedManifest
from tests.functional import manifests

GROUP = "cluster.x-k8s.io"
INFRA = f"infrastructure.{GROUP}"
OLD = ObjectRef(INFRA, "DevMachineTemplate", "default", "old")
OTHER = ObjectRef(INFRA, "DevMachineTemplate", "default", "other")
PLAIN = ObjectRef("", "ConfigMap", "default", "old")
SET = ObjectRef(GROUP, "MachineSet", "default", "md-1")


def machines(name):
    reference = {"kind": OLD.kind, "apiGroup": INFRA, "name": name}
    return {"spec": {"infrastructureRef": reference}}


def pool(strategy):
    made = manifests.custom(
        GROUP, "MachineDeployment", "md", strategy={"type": strategy}
    )
    made["metadata"]["namespace"] = "default"
    return PlacedManifest(ObjectRef.of(made), made, "a.yaml")


@pytest.fixture
def cluster_with_machines(cluster):
    """A cluster in which a pool has so many machines of the old template."""
    cluster.create(manifests.definition(GROUP, SET.kind), "other-manager")

    def with_machines(number):
        made = manifests.custom(
            GROUP,
            SET.kind,
            SET.name,
            replicas=number,
            template=machines("old"),
        )
        made["metadata"] |= {
            "namespace": "default",
            "ownerReferences": [
                {
                    "apiVersion": f"{GROUP}/v1",
                    "kind": "MachineDeployment",
                    "name": "md",
                    "uid": "u",
                }
            ],
        }
        cluster.create(made, "other-manager")
        return cluster

    return with_machines


@pytest.mark.parametrize(
    ("strategy", "number", "wanted"),
    [("OnDelete", 1, {OLD}), ("OnDelete", 0, set()), ("Other", 1, set())],
)
@pytest.mark.requirement("P10")
def test_a_template_stays_for_machines_that_are_not_replaced(
    cluster_with_machines, strategy, number, wanted
):
    """And for no others, nor does anything else."""
    found = template_retention.find_templates_in_use(
        cluster_with_machines(number), [pool(strategy)], {OLD, OTHER, PLAIN}
    )

    assert wanted == set(found)


def test_without_permission_to_list_all_templates_stay(cluster_with_machines):
    """Nothing is lost by that."""
    cluster = cluster_with_machines(0)
    refused = errors.Forbidden("list", "machinesets", "default", "no")
    cluster.fail(refused, "list", template_retention.MACHINE_SET)

    found = template_retention.find_templates_in_use(
        cluster, [pool("OnDelete")], {OLD, OTHER, PLAIN}
    )

    assert {
        OLD: template_retention.UNKNOWN_USE,
        OTHER: template_retention.UNKNOWN_USE,
    } == found
