"""A sample through the life cycle, as an operator would take it there."""

from __future__ import annotations

import pytest

from tools.tacker import rest

pytestmark = [pytest.mark.plane, pytest.mark.smoke]


def test_a_custom_resource_lives_through_v1(
    v1, vim, sample, uploaded, namespace, nothing_left, traces_of
):
    """Scaled out and in, healed, terminated; nothing is left (TK-5, TK-10)."""
    csar = sample("custom_resource")
    instance = v1.create(uploaded(csar).vnfd)

    v1.done(
        instance,
        "instantiate",
        rest.instantiation(v1, vim, csar.files, namespace=namespace),
    )

    [first] = v1.vnfcs(instance)
    assert "router" == first["vduId"]
    assert traces_of(instance)

    v1.done(instance, "scale", rest.scaling("routers", 2))
    vnfcs = v1.vnfcs(instance)
    assert 3 == len(vnfcs)
    assert first["id"] in {vnfc["id"] for vnfc in vnfcs}

    v1.done(instance, "scale", rest.scaling("routers", -2))
    [before] = v1.vnfcs(instance)
    v1.done(instance, "heal", rest.healing([before["id"]]))
    [after] = v1.vnfcs(instance)
    assert before["id"] == after["id"]
    assert before["computeResource"] != after["computeResource"]

    v1.done(instance, "terminate", rest.FORCEFUL)
    v1.delete(instance)
    assert [] == traces_of(instance)
