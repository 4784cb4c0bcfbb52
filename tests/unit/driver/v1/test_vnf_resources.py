"""Tacker's rows of Pods and Machines, and which VNFC each of them is."""

from hypothesis import given
from hypothesis import strategies as st
from tacker import objects

from tacker_k8s_cr.driver.v1 import vnf_resources
from tacker_k8s_cr.lcm.healing.members import Member
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory

WEB = ObjectRef("apps", "Deployment", "edge", "web")
AT_REST = Inventory("one", "default")


def member(name, uid):
    return Member(ObjectRef("", "Pod", "edge", name), uid, WEB)


def names(rows):
    """The name of the Pod by the id of the VNFC."""
    return {row.id: row.compute_resource.resource_id for row in rows}


def of_another_driver(id_, name):
    return objects.VnfcResourceInfo(
        id=id_,
        vdu_id="VDU1",
        compute_resource=objects.ResourceHandle(resource_id=name),
        metadata={"Deployment": "{}"},
    )


def test_a_vnfc_keeps_its_id_when_another_pod_replaces_it():
    """Of two Pods one is replaced: two VNFCs, with the ids that they had.

    Tacker's own tests for heal find the healed VNFC by its id.
    """
    before = vnf_resources.vnfc_resources(
        {"VDU1": [member("web-a", "u-1"), member("web-b", "u-2")]}
    )
    after = vnf_resources.vnfc_resources(
        {"VDU1": [member("web-b", "u-2"), member("web-c", "u-3")]}, before
    )

    assert {before[0].id: "web-c", before[1].id: "web-b"} == names(after)


def test_a_pod_of_the_same_name_is_the_same_vnfc():
    """So it is with the Pods of a StatefulSet, whatever their order."""
    before = vnf_resources.vnfc_resources(
        {"VDU1": [member("db-0", "u-1"), member("db-1", "u-2")]}
    )
    after = vnf_resources.vnfc_resources(
        {"VDU1": [member("db-1", "u-4"), member("db-0", "u-3")]}, before
    )

    assert names(before) == names(after)


def test_a_vnfc_stays_in_its_vdu():
    """A Pod of another VDU does not replace a deleted one."""
    before = vnf_resources.vnfc_resources({"VDU1": [member("web-a", "u-1")]})
    after = vnf_resources.vnfc_resources(
        {"VDU1": [], "VDU2": [member("db-0", "u-2")]}, before
    )

    assert [vnf_resources.vnfc_id("u-2")] == [row.id for row in after]


def test_vnfcs_of_tackers_own_driver_keep_their_ids():
    """By the names of their Pods; what Tacker puts in as a blank does not."""
    before = [of_another_driver("i-1", "web-a"), of_another_driver("i-2", "")]
    after = vnf_resources.vnfc_resources(
        {"VDU1": [member("web-a", "u-1"), member("web-b", "u-2")]}, before
    )

    assert {"i-1": "web-a", vnf_resources.vnfc_id("u-2"): "web-b"} == names(
        after
    )


def test_a_vnfc_that_is_healed_stays_while_it_has_no_pod():
    """A heal that ended early is tried again with the same ids."""
    before = vnf_resources.vnfc_resources(
        {"VDU1": [member("web-a", "u-1"), member("web-b", "u-2")]}
    )
    there = {"VDU1": [member("web-b", "u-2")]}
    wanted = [before[0].id]

    assert names(before) == names(
        vnf_resources.vnfc_resources(there, before, wanted)
    )
    assert {before[1].id: "web-b"} == names(
        vnf_resources.vnfc_resources(there, before)
    )


def test_a_vnfc_is_found_by_its_id_after_it_was_healed():
    """The id is that of an earlier Pod; the Pod that it is now is healed."""
    before = vnf_resources.vnfc_resources({"VDU1": [member("web-a", "u-1")]})
    there = {"VDU1": [member("web-b", "u-2")]}
    rows = vnf_resources.vnfc_resources(there, before)

    assert {"u-2"} == vnf_resources.select_uids(
        [before[0].id], rows, there, AT_REST
    )


PODS = st.dictionaries(
    st.sampled_from([f"u-{number}" for number in range(8)]),
    st.sampled_from([f"web-{number}" for number in range(5)]),
    max_size=6,
)


@given(PODS, PODS)
def test_each_pod_has_one_row_with_an_id_of_its_own(before, after):
    """And asking again changes no id, in whatever order Tacker asks."""
    first = vnf_resources.vnfc_resources(
        {"VDU1": [member(name, uid) for uid, name in before.items()]}
    )
    there = {"VDU1": [member(name, uid) for uid, name in after.items()]}
    rows = vnf_resources.vnfc_resources(there, first)

    assert len(after) == len({row.id for row in rows}) == len(rows)
    assert names(rows) == names(vnf_resources.vnfc_resources(there, rows))
    kept = {row.id for row in first} & {row.id for row in rows}
    assert min(len(before), len(after)) == len(kept)
