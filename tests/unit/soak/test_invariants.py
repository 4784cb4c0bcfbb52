"""The invariants of the soak find what is planted, and nothing else."""

from __future__ import annotations

import dataclasses

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.state import leases
from tools.soak import foreign_objects
from tools.soak import invariants
from tools.soak import model
from tools.soak import observation
from tools.soak import packages
from tools.soak.model import Request

ABSENT = model.Instance("soak-00", "soak-ns0", "configuration")
PRESENT = model.apply_request(ABSENT, Request("instantiate", "a"))


def config_map(suffix):
    return ObjectRef("", "ConfigMap", "soak-ns0", f"soak-00-{suffix}")


@pytest.fixture
def foreign_objects_before(cluster):
    """Objects of other managers, and what they are like."""
    foreign_objects.create(cluster, "soak", ["soak-ns0"], [ABSENT])
    return observation.others(cluster, "soak-ns0")


@pytest.fixture
def instantiated(cluster, operation_args, foreign_objects_before):
    """The instance, in version a."""
    given = packages.package("configuration", "a", "soak-00")
    lcm.instantiate(
        lcm.Request(
            cluster, "soak-00", namespace="soak-ns0", **operation_args
        ),
        given,
    )
    return foreign_objects_before


def found(cluster, expected, surrounded):
    look = invariants.Check(expected, surrounded)
    return invariants.find_violations(
        look, observation.observe(cluster, expected)
    )


def terminated(cluster, life):
    lcm.terminate(
        lcm.Request(cluster, "soak-00", namespace="soak-ns0", **life)
    )


def test_an_expected_state_is_not_a_violation(
    cluster, operation_args, instantiated
):
    """Neither of an instance that exists nor of one that was terminated."""
    assert [] == found(cluster, PRESENT, instantiated)
    assert 7 == len(instantiated)

    terminated(cluster, operation_args)

    assert [] == found(cluster, ABSENT, instantiated)


@pytest.mark.parametrize("suffix", ["config-2", "confi", "foreign"])
def test_a_change_of_another_managers_object(cluster, instantiated, suffix):
    """It counts, whichever field it is."""
    body = {"data": {"value": "changed"}}
    cluster.patch(config_map(suffix), body, "ours")

    [said] = found(cluster, PRESENT, instantiated)
    assert f"soak-00-{suffix} of another manager was changed" in said


def test_another_managers_object_is_deleted(cluster, instantiated):
    """Also one that has the name of the record of an instance, nearly."""
    ref = ObjectRef("", "Secret", "soak-ns0", "tacker-k8s-cr.soak-00-other")
    cluster.delete(ref, objects.uid(cluster.get(ref)))

    [said] = found(cluster, PRESENT, instantiated)
    assert "soak-00-other of another manager does not exist" in said


def test_another_managers_object_is_replaced(cluster, instantiated):
    """One with the same content is another object."""
    ref = config_map("config-2")
    obj = cluster.get(ref)
    cluster.delete(ref, objects.uid(obj))
    labels = obj["metadata"]["labels"]
    cluster.create(
        {
            **obj,
            "metadata": {
                "name": ref.name,
                "namespace": ref.namespace,
                "labels": labels,
            },
        },
        "ours",
    )

    assert 1 == len(found(cluster, PRESENT, instantiated))


def test_a_label_is_removed(cluster, instantiated):
    """The record and the label do not agree any more."""
    body = {"metadata": {"labels": {objects.INSTANCE: None}}}
    cluster.patch(config_map("config"), body, "other")

    [said] = found(cluster, PRESENT, instantiated)
    assert "soak-00-config does not have the label" in said


def test_a_lock_is_left(cluster, instantiated):
    """It is named with its holder; after a fault it may be left."""
    lease = leases.ref("soak-00", "soak-ns0")
    cluster.patch(lease, {"spec": {"holderIdentity": "process-1"}}, "x")

    assert ["the Lease is held by process-1"] == (
        found(cluster, PRESENT, instantiated)
    )
    seen = observation.observe(cluster, PRESENT)
    disturbed = invariants.Check(PRESENT, instantiated, undisturbed=False)
    assert [] == invariants.find_violations(disturbed, seen)


def test_an_object_is_deleted(cluster, instantiated):
    """It is missing among the live objects and those with the label."""
    ref = config_map("config")
    cluster.delete(ref, objects.uid(cluster.get(ref)))

    said = found(cluster, PRESENT, instantiated)
    assert f"{ref} does not exist" in said


def test_a_field_is_changed(cluster, instantiated):
    """What a manifest has must be live."""
    cluster.patch(config_map("config"), {"data": {"value": "x"}}, "other")

    assert [f"{config_map('config')} is not as its manifest has it"] == (
        found(cluster, PRESENT, instantiated)
    )


def test_a_secret_is_changed_and_not_shown(cluster, instantiated):
    """The sentence names the Secret only."""
    ref = ObjectRef("", "Secret", "soak-ns0", "soak-00-keys")
    cluster.patch(ref, {"data": {"value": "cGxhbnRlZC14"}}, "other")

    assert [f"{ref} is not as its manifest has it"] == (
        found(cluster, PRESENT, instantiated)
    )


def test_an_object_of_another_version_is_a_violation(cluster, instantiated):
    """Labelled or not, it is too much."""
    ref = config_map("extra")
    manifest = packages.manifests("configuration", "b", "soak-00")[-1]
    manifest["metadata"] |= {
        "namespace": ref.namespace,
        "labels": {objects.INSTANCE: "soak-00"},
    }
    cluster.create(manifest, "other")

    assert {
        f"{ref} has the label and is not in the package",
        f"{ref} exists and is not in the package",
    } == set(found(cluster, PRESENT, instantiated))


def test_an_instance_is_not_what_it_has_to_be(cluster, instantiated):
    """Its version, and its existence."""
    changed = model.apply_request(PRESENT, Request("change", "b"))

    assert "the record has version a; expected b" in (
        found(cluster, changed, instantiated)
    )
    said = found(cluster, ABSENT, instantiated)
    assert "the record exists, instantiated; expected none" in said
    assert f"{config_map('config')} is left" in said


def test_a_lease_is_left_of_an_instance_that_was_terminated(
    cluster, operation_args, instantiated
):
    """Nothing of the record may be left, held or not."""
    terminated(cluster, operation_args)
    lease = leases.ref("soak-00", "soak-ns0")
    cluster.create(leases.new_lease(lease, "soak-00", ""), "other")

    assert [f"{lease} is left"] == found(cluster, ABSENT, instantiated)


def test_while_an_operation_is_unfinished_others_count(
    cluster, operation_args, instantiated
):
    """What the instance has is not compared, except for strangers."""
    look = invariants.Check(ABSENT, instantiated, complete=False)
    assert [] == invariants.find_violations(
        look, observation.observe(cluster, ABSENT)
    )

    cluster.patch(config_map("confi"), {"data": {"value": "x"}}, "ours")

    seen = observation.observe(cluster, ABSENT)
    assert 1 == len(invariants.find_violations(look, seen))


def with_job(version):
    expected = model.Instance("soak-00", "soak-ns0", "job")
    expected = model.apply_request(expected, Request("instantiate", version))
    name = f"soak-00-load-{version}"
    return expected, ObjectRef("batch", "Job", "soak-ns0", name)


@pytest.mark.parametrize("ends", ["gone", "terminating"])
def test_a_deleted_job_is_not_a_violation(cluster, ends):
    """It has run, and a rollback does not create it again."""
    expected, ref = with_job("a")
    seen = observation.observe(cluster, expected)
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": ref.name,
            "namespace": ref.namespace,
            "uid": "1",
            "deletionTimestamp": "2026-11-22T20:00:00Z",
        },
    }
    left = {ref: job} if ends == "terminating" else {}
    seen = dataclasses.replace(seen, owned={ref: "1"}, live=left)

    said = invariants.find_violations(invariants.Check(expected, {}), seen)

    assert said
    assert not [line for line in said if ref.name in line]
    new = invariants.Check(expected, {}, created=True)
    assert [
        line
        for line in invariants.find_violations(new, seen)
        if ref.name in line
    ]


def test_another_kind_of_object_that_is_deleted_is_a_violation(cluster):
    """However it was deleted."""
    expected, _ = with_job("a")
    seen = observation.observe(cluster, expected)
    seen = dataclasses.replace(seen, owned={config_map("config"): "1"})

    said = invariants.find_violations(invariants.Check(expected, {}), seen)

    assert f"{config_map('config')} does not exist" in said
