"""A template that changed gets a new name, and what refers to it too."""

from __future__ import annotations

import dataclasses

import pytest

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import template_rotation
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.plan.placement import PlacedManifest

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"


def placed(manifest):
    return PlacedManifest(ObjectRef.of(manifest), manifest, "a.yaml")


def template(flavor="small"):
    return placed(
        {
            "apiVersion": f"{INFRASTRUCTURE}/v1beta2",
            "kind": "DevMachineTemplate",
            "metadata": {"name": "machine", "namespace": "ns"},
            "spec": {"template": {"spec": {"flavor": flavor}}},
        }
    )


def workers(name="machine"):
    return placed(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {"name": "workers", "namespace": "ns"},
            "spec": {
                "template": {
                    "spec": {
                        "infrastructureRef": {
                            "apiGroup": INFRASTRUCTURE,
                            "kind": "DevMachineTemplate",
                            "name": name,
                        }
                    }
                }
            },
        }
    )


def after(*items, live_names=None):
    """An inventory that last applied these."""
    return Inventory(
        "one",
        "ns",
        manifests=tuple(item.manifest for item in items),
        live_names=live_names or {},
    )


def names(rotated):
    found = {item.ref.kind: item.ref.name for item in rotated.items}
    for item in rotated.items:
        if item.ref.kind == "MachineDeployment":
            spec = item.manifest["spec"]["template"]["spec"]
            found["reference"] = spec["infrastructureRef"]["name"]
    return found


def test_a_template_keeps_its_name_at_first():
    """An author finds the names of the package in the cluster."""
    rotated = template_rotation.rotate(
        [template(), workers()], Inventory("o", "ns")
    )

    assert "machine" == names(rotated)["DevMachineTemplate"]
    assert {} == rotated.live_names


def test_a_template_that_did_not_change_keeps_its_name():
    """Or every change of a package would replace every machine."""
    items = [template(), workers()]

    assert tuple(items) == template_rotation.rotate(items, after(*items)).items


@pytest.mark.requirement("P10")
def test_a_changed_template_and_its_references_get_a_new_name():
    """Templates cannot be changed; a new one rolls the machines."""
    rotated = template_rotation.rotate(
        [template("large"), workers()], after(template(), workers())
    )

    found = names(rotated)
    assert found["DevMachineTemplate"].startswith("machine-")
    assert found["reference"] == found["DevMachineTemplate"]
    assert [template().ref] == list(rotated.live_names)


def test_the_new_name_stays_with_the_content():
    """A retry, and a later change of something else, roll nothing."""
    items = [template("large"), workers()]
    first = template_rotation.rotate(items, after(template(), workers()))

    again = template_rotation.rotate(
        items, after(*items, live_names=first.live_names)
    )

    assert names(first) == names(again)


def test_a_rollback_makes_a_name_of_the_old_content():
    """The former template may be deleted by then."""
    big = [template("large"), workers()]
    there = template_rotation.rotate(big, after(template(), workers()))

    back = template_rotation.rotate(
        [template(), workers()], after(*big, live_names=there.live_names)
    )

    assert names(back)["DevMachineTemplate"] not in (
        "machine",
        names(there)["DevMachineTemplate"],
    )


def test_a_rollback_restores_the_former_names():
    """The former objects are all there: nothing has to roll."""
    old, new = [template(), workers()], [template("large"), workers()]
    failed = dataclasses.replace(
        after(
            *new,
            live_names=template_rotation.rotate(new, after(*old)).live_names,
        ),
        phase=Phase.CHANGING,
        previous_package=after(*old),
    )

    back = template_rotation.rotate(old, failed)

    assert tuple(old) == back.items
    assert {} == back.live_names


def test_a_changed_template_that_nothing_refers_to_is_refused():
    """The change would never reach a machine."""
    with pytest.raises(errors.PackageInvalid, match="refers to it"):
        template_rotation.rotate([template("large")], after(template()))


def test_a_template_of_the_same_name_elsewhere_is_left_alone():
    """References stay within their namespace."""
    other = workers()
    metadata = {**other.manifest["metadata"], "namespace": "other"}
    other = placed({**other.manifest, "metadata": metadata})
    items = [template("large"), workers(), other]
    rotated = template_rotation.rotate(
        items, after(template(), workers(), other)
    )

    assert other in rotated.items


def test_the_manifests_that_are_kept_are_the_authors():
    """The package is compared with what its author wrote, next time."""
    items = [template("large"), workers()]
    rotated = template_rotation.rotate(items, after(template(), workers()))

    assert dataclasses.asdict(template("large")) == dataclasses.asdict(
        items[0]
    )
    assert rotated.items[0].manifest != items[0].manifest
