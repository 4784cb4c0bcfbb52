"""A sample through the life cycle, as an operator would take it there."""

from __future__ import annotations

import pytest

from tools.tacker import rest_api

pytestmark = [pytest.mark.plane, pytest.mark.smoke]


@pytest.mark.requirement("TK-5")
def test_a_custom_resource_lives_through_v1(
    v1,
    vim,
    build_sample,
    upload,
    namespace,
    assert_no_leftovers,
    leftover_objects,
):
    """Scaled out and in, healed, terminated; nothing is left."""
    csar = build_sample("custom_resource")
    instance = v1.create(upload(csar).vnfd)

    v1.done(
        instance,
        "instantiate",
        rest_api.instantiation(v1, vim, csar.files, namespace=namespace),
    )

    [first] = v1.vnfcs(instance)
    assert "router" == first["vduId"]
    assert leftover_objects(instance)

    v1.done(instance, "scale", rest_api.scaling("routers", 2))
    vnfcs = v1.vnfcs(instance)
    assert 3 == len(vnfcs)
    assert first["id"] in {vnfc["id"] for vnfc in vnfcs}

    v1.done(instance, "scale", rest_api.scaling("routers", -2))
    [before] = v1.vnfcs(instance)
    v1.done(instance, "heal", rest_api.healing([before["id"]]))
    [after] = v1.vnfcs(instance)
    assert before["id"] == after["id"]
    assert before["computeResource"] != after["computeResource"]

    v1.done(instance, "terminate", rest_api.FORCEFUL)
    v1.delete(instance)
    assert [] == leftover_objects(instance)
