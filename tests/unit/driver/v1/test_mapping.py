"""Tacker's own objects <-> our values."""

import dataclasses
import json

import pytest
from tacker import objects

from tacker_k8s_cr.driver import references
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.v1 import mapping
from tacker_k8s_cr.driver.v1 import vnf_resources
from tacker_k8s_cr.lcm.healing.members import Member
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package import Package
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Healing
from tacker_k8s_cr.plan.journal import MemberRef

ID = "3f0d2a5e-5d2c-4c9e-8a7e-0f1e2d3c4b5a"
WEB = ObjectRef("apps", "Deployment", "edge", "web")
PACKAGE = Package(
    "p",
    (),
    Vnfd(
        id="vnfd",
        flavour="simple",
        vdus={"VDU1": Vdu("VDU1", "web", 0, 5)},
        aspects={"a": Aspect("a", 2, {"VDU1": (1,)})},
        initial={"VDU1": 1},
        levels={"small": {"a": 0}, "large": {"a": 2}},
        level_numbers={"small": {"VDU1": 1}, "large": {"VDU1": 3}},
        default_level="small",
    ),
)


def instance(**fields):
    return objects.VnfInstance(id=ID, **fields)


def member(name, uid="u-1", **fields):
    ref = ObjectRef("", "Pod", "edge", name)
    return Member(ref, uid, WEB, **fields)


def test_a_reference_identifies_its_instance():
    """What Tacker stores is short, and has the record namespace."""
    assert f"edge/{ID}" == references.format_reference(ID, "edge")
    assert (ID, "edge") == mapping.parse_reference(f"edge/{ID}")


def test_without_a_reference_what_was_noted_counts():
    """An instantiation that ended early left Tacker no instance_id."""
    vnf_instance = instance(vnf_metadata={"tacker_k8s_cr": f"edge/{ID}"})

    assert (ID, "edge") == mapping.parse_reference(None, vnf_instance)
    assert (ID, "default") == mapping.parse_reference(
        "", instance(vnf_metadata={})
    )


@pytest.mark.parametrize(
    "mark", ["edge/11111111-5d2c-4c9e-8a7e-0f1e2d3c4b5a", "edge", "Edge/x"]
)
def test_a_note_leads_to_no_other_instance(mark):
    """A user may write a VNF instance's metadata."""
    noted = instance(vnf_metadata={"tacker_k8s_cr": mark})

    with pytest.raises(errors.RequestInvalid, match=f"NAMESPACE/{ID}"):
        mapping.parse_reference(None, noted)


@pytest.mark.parametrize(
    "instance_id",
    [
        "{'namespace': 'default', 'name': 'web', 'kind': 'Deployment'}",
        "e5b1f8f0-7a4e-4d7e-9e0e-0a2f1b3c4d5e",
        "edge/web",
    ],
)
def test_an_instance_of_another_driver_is_refused(instance_id):
    """Saying that it has nothing would leave its objects behind."""
    with pytest.raises(errors.RequestInvalid, match="by another driver"):
        mapping.parse_reference(instance_id)


TARGET = InstanceTarget(ID, "records", {}, namespace="edge")


def test_during_a_heal_the_record_namespace_stays():
    """Whatever the configuration or the first request has since then."""
    vnf_instance = instance(vnf_metadata={})
    mapping.note_reference(vnf_instance, TARGET, "v-1")
    assert "elsewhere" == mapping.choose_record_namespace(
        vnf_instance, "elsewhere"
    )

    vnf_instance.instantiation_state = "INSTANTIATED"
    vnf_instance.task_state = "INSTANTIATING"

    assert "records" == mapping.choose_record_namespace(
        vnf_instance, "elsewhere"
    )


def test_the_driver_is_noted_beside_existing_metadata():
    """Two of the keys are those that Tacker's own code reads."""
    vnf_instance = instance(vnf_metadata={"mine": "kept"})

    assert mapping.note_reference(vnf_instance, TARGET, "v-1")
    assert not mapping.note_reference(vnf_instance, TARGET, "v-1")

    assert {
        "mine": "kept",
        "namespace": "edge",
        "tenant": "edge",
        "tacker_k8s_cr": f"records/{ID}",
        "tacker_k8s_cr_vim": "v-1",
    } == vnf_instance.vnf_metadata
    assert f"records/{ID}" == mapping.noted_reference(vnf_instance)
    assert "v-1" == mapping.noted_vim(vnf_instance)


def test_the_vim_of_a_deleted_instance_is_forgotten():
    """No request is sent there; the instance is still ours."""
    vnf_instance = instance(vnf_metadata={})
    mapping.note_reference(vnf_instance, TARGET, "v-1")

    assert mapping.forget_vim(vnf_instance)
    assert not mapping.forget_vim(vnf_instance)

    assert "" == mapping.noted_vim(vnf_instance)
    assert f"records/{ID}" == mapping.noted_reference(vnf_instance)


@pytest.mark.parametrize(
    ("state", "task", "healing"),
    [
        ("INSTANTIATED", "HEALING", True),
        ("INSTANTIATED", "INSTANTIATING", True),
        ("INSTANTIATED", "TERMINATING", False),
        ("INSTANTIATED", None, False),
        ("NOT_INSTANTIATED", "INSTANTIATING", False),
        ("NOT_INSTANTIATED", None, False),
    ],
)
def test_the_terminate_of_a_heal_differs_from_a_terminate(
    state, task, healing
):
    """Tacker terminates and instantiates to heal a whole instance."""
    found = instance(instantiation_state=state, task_state=task)

    assert healing == mapping.is_healing(found)


def test_tackers_resources_are_bounded_and_not_repeated():
    """Tacker writes them one by one; a retry brings only what is missing."""
    manifests = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"c{number}"},
        }
        for number in range(5000)
    ]
    package = Package("p", tuple(Document(m, "a.yaml") for m in manifests))
    vnf_instance = instance(tenant_id="tenant", vnf_metadata={})

    def rows(known):
        return vnf_resources.vnf_resources(None, vnf_instance, package, known)

    first = rows([])
    assert vnf_resources.LONGEST_LIST == len(first)
    assert ("v1,ConfigMap", "c0") == (
        first[0].resource_type,
        first[0].resource_name,
    )
    assert [] == rows(first)
    assert ["c7"] == [row.resource_name for row in rows(first[:7] + first[8:])]


def test_selected_vnfcs_are_found_by_the_existing_ones():
    """Or by the record; the other VNFCs are new.

    The record has those that a heal deleted, and a Pod of the package that
    has vanished: only a heal creates that again.
    """
    there = {"VDU1": [member("web-1"), member("web-2", "u-2")]}
    pod = ObjectRef("", "Pod", "default", "alone")
    at_rest = Inventory("one", "default")
    healed = dataclasses.replace(
        at_rest, healing=Healing(members=(MemberRef(WEB, "u-3", WEB),))
    )
    alone = dataclasses.replace(
        at_rest,
        owned={pod: "u-4", WEB: "u-5"},
        manifests=(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "alone", "namespace": "default"},
            },
        ),
    )
    uids = ("u-2", "u-3", "u-4", "u-5")
    wanted = [vnf_resources.vnfc_id(uid) for uid in uids]

    assert {"u-2"} == vnf_resources.select_uids(wanted, (), there, at_rest)
    assert {"u-2", "u-3"} == vnf_resources.select_uids(
        wanted, (), there, healed
    )
    assert {"u-2", "u-4"} == vnf_resources.select_uids(
        wanted, (), there, alone
    )


@pytest.mark.parametrize(
    ("seconds", "asked"),
    [
        (None, None),
        (0, objects.TerminateVnfRequest(termination_type="FORCEFUL")),
        (
            30,
            objects.TerminateVnfRequest(
                termination_type="GRACEFUL", graceful_termination_timeout=30
            ),
        ),
    ],
)
@pytest.mark.requirement("F5")
def test_a_graceful_termination_gives_grace_seconds(seconds, asked):
    """A heal has no request; a forceful one gives no time at all."""
    assert seconds == mapping.grace_seconds(asked)


def test_a_graceful_termination_without_a_time_has_each_kinds_own():
    """Tacker leaves the time-out None when the request has none."""
    asked = objects.TerminateVnfRequest(
        termination_type="GRACEFUL", graceful_termination_timeout=None
    )

    assert None is mapping.grace_seconds(asked)


def test_scale_levels_survive_a_round_trip():
    """Tacker's records of the levels and ours say the same."""
    levels = {"a": 2, "b": 0}

    assert levels == mapping.scale_levels(mapping.scale_status(levels))
    assert {} == mapping.scale_levels(None)


@pytest.mark.parametrize(
    ("level", "levels"), [(None, {"a": 0}), ("large", {"a": 2})]
)
def test_the_first_levels_are_those_of_the_instantiation_level(level, levels):
    """The request's level, or else the VNFD's default."""
    asked = objects.InstantiateVnfRequest(instantiation_level_id=level)

    assert levels == mapping.initial_levels(PACKAGE, {}, asked)


def test_a_heal_keeps_the_levels_that_were_there():
    """Tacker puts them aside before it terminates and instantiates."""
    asked = objects.InstantiateVnfRequest(instantiation_level_id="small")
    kept = {"scale_status": mapping.scale_status({"a": 1})}

    assert {"a": 1} == mapping.initial_levels(PACKAGE, kept, asked)


def test_an_unknown_level_is_refused():
    """The error names the levels that are."""
    asked = objects.InstantiateVnfRequest(instantiation_level_id="huge")

    with pytest.raises(errors.RequestInvalid, match="small, large"):
        mapping.initial_levels(PACKAGE, {}, asked)


def test_members_become_vnfc_resources():
    """The name is the resource's id, and the owner's kind its type."""
    [found] = vnf_resources.vnfc_resources(
        {"VDU1": [member("web-1", node="node-1")]}
    )

    assert ("VDU1", "web-1", "Deployment") == (
        found.vdu_id,
        found.compute_resource.resource_id,
        found.compute_resource.vim_level_resource_type,
    )
    assert {
        "kind": "Pod",
        "namespace": "edge",
        "uid": "u-1",
        "owner": "web",
        "node": "node-1",
    } == found.metadata


def test_a_member_keeps_its_id():
    """Tacker asks again and again, and an id is one VNFC's for life."""

    def id_of(**fields):
        return vnf_resources.vnfc_resources({"V": [member("a", **fields)]})[
            0
        ].id

    assert id_of() == id_of(node="known by now")
    assert id_of(uid="u-1") != id_of(uid="u-2")


def test_tacker_can_store_what_we_note():
    """Its record of the instance takes them, and gives them out as JSON."""
    info = objects.InstantiatedVnfInfo(flavour_id="simple", vnf_instance_id=ID)
    info.vnfc_resource_info = vnf_resources.vnfc_resources(
        {"VDU1": [member("web-1"), member("web-2", "u-2")]}
    )

    stored = [item.to_dict() for item in info.vnfc_resource_info]

    assert ["web-1", "web-2"] == [
        item["compute_resource"]["resource_id"]
        for item in json.loads(json.dumps(stored))
    ]
