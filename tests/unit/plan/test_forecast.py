"""A forecast as a value, and what of a change is permanent."""

from __future__ import annotations

import copy

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds.capi import rollouts
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.plan import diff
from tacker_k8s_cr.plan import forecast
from tacker_k8s_cr.plan import irreversible
from tacker_k8s_cr.plan.forecast import Forecast
from tacker_k8s_cr.plan.forecast import ForecastAction
from tacker_k8s_cr.plan.forecast import ForecastRow
from tacker_k8s_cr.plan.options import Options
from tests.functional import manifests

POOL = ObjectRef("cluster.x-k8s.io", "MachineDeployment", "ns", "md")


def pool(template, version="v1.35.0"):
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {"name": "md", "namespace": "ns"},
        "spec": {
            "template": {
                "spec": {
                    "infrastructureRef": {"name": template},
                    "version": version,
                }
            }
        },
    }


def test_the_cause_names_what_changed_in_a_template():
    """Not only that its name is another."""
    inside = diff.diff(
        {"kind": "T", "spec": {"flavor": "small"}},
        {"kind": "T", "spec": {"flavor": "large"}},
    )
    found = diff.diff(pool("a"), pool("a-1", "v1.36.0"))

    rolls = forecast.rollout(
        rollouts.DEPLOYMENT, found, 3, {"a-1": inside, "b": ()}
    )

    assert (
        "3 machine(s) are replaced: spec.template.spec.infrastructureRef"
        ".name: a -> a-1, in which spec.flavor: small -> large; "
        "spec.template.spec.version: v1.35.0 -> v1.36.0"
    ) == str(rolls)
    assert forecast.rollout(rollouts.CLUSTER, found, 3, {}) is None


@pytest.mark.parametrize("shape", ["strategy", "rollout"])
def test_a_replacement_on_delete_is_not_a_rollout(shape):
    """It is reported, and there is nothing to refuse.

    That the others may be replaced from now on is.
    """

    def left(kind, version="v1.35.0"):
        made = pool("a", version)
        said = {"type": kind}
        if shape == "rollout":
            made["spec"]["rollout"] = {"strategy": said}
        else:
            made["spec"]["strategy"] = said
        made["status"] = {"replicas": 2, "updatedReplicas": 0}
        return made

    def told(before, after):
        rolls = forecast.rollout(
            rollouts.DEPLOYMENT,
            diff.diff(before, after),
            2,
            {},
            before,
            after,
        )
        return rolls, Forecast(
            "a",
            "ns",
            (ForecastRow(POOL, ForecastAction.UPDATE, "", (), rolls),),
        )

    rolls, found = told(left("OnDelete"), left("OnDelete", "v1.36.0"))
    assert str(rolls).startswith(
        "2 machine(s) are replaced when a client deletes them: spec."
    )
    assert {} == found.replaced
    assert {POOL: rolls} == found.rollouts
    assert found.as_dict()["objects"][0]["rollout"]["when_deleted"]

    rolls, found = told(left("OnDelete"), left("RollingUpdate"))
    assert "strategy.type: OnDelete -> RollingUpdate" in str(rolls)
    assert {POOL: rolls} == found.replaced
    assert told(left("RollingUpdate"), left("OnDelete"))[0] is None


def test_rollouts_come_first_and_can_be_read_alone():
    """Machines, then what is permanent, then the fields."""
    found = diff.diff(pool("a"), pool("a", "v1.36.0"))
    rolls = forecast.rollout(rollouts.DEPLOYMENT, found, None, {})
    rows = (
        ForecastRow(POOL, ForecastAction.UPDATE, "", found, rolls, ("it is",)),
        ForecastRow(
            ObjectRef("", "ConfigMap", "ns", "a"), ForecastAction.UNCHANGED
        ),
    )
    told = Forecast("one", "ns", rows)

    assert [str(rolls), "cannot be undone: it is", str(found[0])] == [
        *rows[0].lines
    ]
    assert (f"{POOL}: {rolls}", f"{POOL}: cannot be undone: it is") == (
        told.warnings
    )
    assert (POOL,) == told.of(ForecastAction.UPDATE)
    plain = told.as_dict()["objects"]
    assert ["update", "unchanged"] == [row["forecast"] for row in plain]
    assert plain[0]["rollout"]["certain"]
    assert plain[1]["rollout"] is None


def test_a_change_of_a_class_names_foreign_clusters(cluster, operation_args):
    """Their machines are replaced as well."""
    group = "cluster.x-k8s.io"
    for kind in ("Cluster", "ClusterClass"):
        cluster.create(manifests.definition(group, kind), "other-manager")
    stored = {objects.PREFIX + "readiness": "exists"}

    def of_class(template):
        worker = {"class": "a", "infrastructure": {"ref": {"name": template}}}
        made = manifests.custom(
            group,
            "ClusterClass",
            "mem",
            stored,
            workers={"machineDeployments": [worker]},
        )
        return Package("test", (Document(made, "a.yaml"),))

    def theirs(name, wanted):
        made = manifests.custom(
            group, "Cluster", name, topology={"classRef": {"name": wanted}}
        )
        made["metadata"]["namespace"] = "default"
        return ObjectRef.of(cluster.create(made, "other-manager"))

    touched = theirs("theirs", "mem")
    theirs("other", "another")
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), of_class("small")
    )

    told = lcm.forecast(
        lcm.Request(cluster, "one", **operation_args), of_class("large")
    )

    assert (touched,) == told.of(ForecastAction.ROLLS_MACHINES)
    assert "ref.name: small -> large" in str(told.rollouts[touched])
    with pytest.raises(errors.RolloutRefused, match=r"Cluster.*theirs"):
        lcm.change(
            lcm.Request(
                cluster,
                "one",
                options=Options(rollout="refuse"),
                **operation_args,
            ),
            of_class("large"),
        )


@pytest.mark.requirement("E9")
def test_removed_versions_and_fields_of_a_definition_are_irreversible():
    """The server drops what no schema names, with the next write."""
    before = manifests.definition("example.org", "Thing")
    after = copy.deepcopy(before)
    older = copy.deepcopy(before["spec"]["versions"][0])
    before["spec"]["versions"].append({**older, "name": "v0"})
    schema = after["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["size"]

    assert (
        "objects of v1 lose the fields spec.size",
        "the version v0 is no longer defined",
    ) == irreversible.irreversible_update(before, after)
    assert () == irreversible.irreversible_update(before, before)


@pytest.mark.requirement("P22")
def test_a_claim_that_grows_does_not_shrink_again():
    """Nor does a control plane go back."""

    def claim(size):
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "a"},
            "spec": {"resources": {"requests": {"storage": size}}},
        }

    assert (
        "1Gi -> 2Gi: a claim cannot shrink",
    ) == irreversible.irreversible_update(claim("1Gi"), claim("2Gi"))


def test_deletion_of_dependents_is_irreversible():
    """Of a ConfigMap nothing is lost that its manifest has not."""

    def final(group, kind):
        ref = ObjectRef(group, kind, "", "a")
        return irreversible.irreversible_delete(ref, kinds.BUILT_IN)

    assert final("apiextensions.k8s.io", "CustomResourceDefinition")
    assert final("", "Namespace")
    assert final("", "PersistentVolumeClaim")
    assert final("cluster.x-k8s.io", "Cluster")
    assert final("cluster.x-k8s.io", "MachineDeployment")
    assert () == final("", "ConfigMap")


def test_without_the_server_a_manifest_is_overlaid():
    """What only others have set stays."""
    live = {
        "spec": {
            "a": 1,
            "items": [{"name": "x", "v": 1, "theirs": 2}, {"name": "y"}],
        }
    }
    manifest = {"spec": {"b": 2, "items": [{"name": "x", "v": 3}]}}

    assert {
        "spec": {
            "a": 1,
            "b": 2,
            "items": [{"name": "x", "v": 3, "theirs": 2}, {"name": "y"}],
        }
    } == diff.merge_locally(live, manifest)
