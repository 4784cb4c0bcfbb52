"""What an external NFVO is asked for."""

import json

import pytest
from tacker import objects

from tacker_k8s_cr.driver.v1 import grants
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd

VNFD = Vnfd(
    id="vnfd",
    flavour="simple",
    vdus={name: Vdu(name, name, 0, 9) for name in ("a", "b")},
    aspects={"both": Aspect("both", 3, {"a": (1,), "b": (2, 1)})},
    initial={"a": 1, "b": 0},
    levels={},
    level_numbers={},
    default_level="",
)


def vnfc(name, vdu):
    return objects.VnfcResourceInfo(
        id=f"id-{name}",
        vdu_id=vdu,
        compute_resource=objects.ResourceHandle(
            vim_connection_id=None, resource_id=name
        ),
    )


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        (0, 1, {"a": 1, "b": 2}),
        (0, 3, {"a": 3, "b": 4}),
        (3, 2, {"a": -1, "b": -1}),
        (1, 1, {"a": 0, "b": 0}),
    ],
)
def test_a_scale_differs_by_what_its_steps_add(before, after, more):
    """Each VDU of the aspect has a number of its own."""
    assert more == grants.replica_delta(VNFD, {"both": before}, "both", after)


def test_what_is_added_has_a_definition_for_each():
    """A grant names them one by one, each with another id."""
    found = grants.resources_to_add({"a": 1, "b": 2, "c": -1})

    assert ["a", "b", "b"] == [item.vdu_id for item in found]
    assert {"COMPUTE"} == {item.type for item in found}
    assert 3 == len({item.id for item in found})


def test_what_is_removed_is_named_as_far_as_it_is_known():
    """As many of each VDU as are to be deleted."""
    there = [vnfc("a-1", "a"), vnfc("b-1", "b"), vnfc("b-2", "b")]

    found = grants.resources_to_remove({"a": 0, "b": -1}, there)

    assert [("id-b-2", "b", "b-2")] == [
        (item.id, item.resource_template_id, item.resource.resource_id)
        for item in found
    ]
    assert [] == grants.resources_to_remove({"a": 1, "b": 0}, there)


def test_a_request_for_a_grant_takes_them(options):
    """Tacker makes its request to the NFVO of them."""
    more = objects.GrantRequest(
        vnf_instance_id="i",
        vnf_lcm_op_occ_id="o",
        vnfd_id="v",
        flavour_id="simple",
        operation="SCALE",
        is_automatic_invocation=False,
        add_resources=grants.resources_to_add({"a": 1}),
        remove_resources=grants.resources_to_remove(
            {"b": -1}, [vnfc("b-1", "b")]
        ),
        update_resources=[],
        placement_constraints=[],
        _links=objects.Links(
            vnf_lcm_op_occ=objects.Link(href="http://localhost/o"),
            vnf_instance=objects.Link(href="http://localhost/i"),
        ),
    )

    body = json.loads(more.to_request_body())

    assert "a" == body["addResources"][0]["vduId"]
    assert "id-b-1" == body["removeResources"][0]["id"]
