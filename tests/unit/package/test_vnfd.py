"""What a flavour's definitions say, and how they can contradict."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package import vnfd
from tests.unit.package import csar_builder


def _read(flavour: str = "", **said: Any) -> Vnfd:
    definitions = {
        csar_builder.TOP: csar_builder.top_definitions("df.yaml"),
        csar_builder.TYPES: csar_builder.types(),
        csar_builder.FLAVOUR: csar_builder.flavour(**said),
    }
    return vnfd.read(definitions, flavour)


def _faults(**said: Any) -> list[str]:
    with pytest.raises(PackageInvalid) as caught:
        _read(**said)
    assert {csar_builder.FLAVOUR} == {p.where for p in caught.value.problems}
    return [problem.what for problem in caught.value.problems]


def _warnings(**said: Any) -> list[str]:
    found: list[Problem] = []
    definitions = {csar_builder.FLAVOUR: csar_builder.flavour(**said)}
    vnfd.read(
        {
            **definitions,
            csar_builder.TOP: csar_builder.top_definitions("df.yaml"),
        },
        "",
        found,
    )
    assert {csar_builder.FLAVOUR} >= {problem.where for problem in found}
    return [problem.what for problem in found]


def _changed(index: int, **properties: Any) -> list[Any]:
    """The usual policies, one of them with other properties."""
    policies = list(csar_builder.POLICIES)
    ((name, policy),) = policies[index].items()
    said = {**policy["properties"], **properties}
    policies[index] = {name: {**policy, "properties": said}}
    return policies


def test_flavour_has_its_numbers() -> None:
    """VDUs, aspects with their steps, and levels with their numbers."""
    found = _read()

    assert {"web": Vdu("web", "web", 1, 4)} == found.vdus
    assert {"web": (1,)} == found.aspects["size"].steps
    assert (3, {"web": 1}) == (found.aspects["size"].max_level, found.initial)
    assert {"small": {"size": 0}, "large": {"size": 3}} == found.levels
    assert {"web": 4} == found.level_numbers["large"]
    assert ("small", "simple") == (found.default_level, found.flavour)


def test_hooks_have_their_files() -> None:
    """The management interface of the VNF node, by operation and name."""
    vnf = {
        "interfaces": {
            "Vnflcm": {
                "instantiate": [],
                "instantiate_end": {"implementation": "hook"},
                "terminate_start": "hook",
            }
        },
        "artifacts": {"hook": {"file": "Scripts/a.py"}, "other": "b.py"},
    }
    found = _read(vnf=vnf)

    assert {
        "instantiate_end": "hook",
        "terminate_start": "hook",
    } == found.management
    assert {"hook": "Scripts/a.py", "other": "b.py"} == found.artifacts


def test_descriptor_id_may_be_the_default_of_its_type() -> None:
    """As Tacker takes it where the node has an input in its place."""
    top = csar_builder.top_definitions()
    nodes = top["topology_template"]["node_templates"]
    nodes["VNF"]["properties"]["descriptor_id"] = {"get_input": "id"}
    definitions = {
        "a": top,
        "b": csar_builder.types(),
        "c": csar_builder.flavour(),
    }

    assert "by-type" == vnfd.read(definitions).id


def test_vdu_may_be_of_a_derived_type() -> None:
    """A vendor's own type of VDU is a VDU, at any distance."""
    types = {
        "a.Vdu": {"derived_from": "tosca.nodes.nfv.Vdu.Compute"},
        "b.Vdu": {"derived_from": "a.Vdu"},
        "c.Loop": {"derived_from": "c.Loop"},
    }
    vdus = {
        "web": {**csar_builder.vdu("web"), "type": "b.Vdu"},
        "loop": {**csar_builder.vdu("loop"), "type": "c.Loop"},
    }
    definitions = {
        "a": {"node_types": types},
        "b": csar_builder.flavour(vdus=vdus),
    }

    assert ["web"] == list(vnfd.read(definitions).vdus)


def test_flavour_is_chosen_by_its_name() -> None:
    """The only one is the default; of several one must be named."""
    definitions = {
        "a": csar_builder.flavour("one"),
        "b": csar_builder.flavour("two"),
    }

    assert "two" == vnfd.read(definitions, "two").flavour
    with pytest.raises(RequestInvalid, match="several flavours; choose one"):
        vnfd.read(definitions)
    with pytest.raises(
        RequestInvalid, match=r"no flavour x; .* one of: simple"
    ):
        _read("x")


def test_definitions_without_a_flavour_are_refused() -> None:
    """A package that cannot be instantiated."""
    with pytest.raises(PackageInvalid, match="no file describes a deployment"):
        vnfd.read({"a": csar_builder.top_definitions()})


def test_vdu_without_policies_has_no_number() -> None:
    """It has that of its manifest, as in Tacker; there is no level either."""
    found = _read(policies=[])

    assert ({}, {}, {}, "") == (
        found.initial,
        found.aspects,
        found.levels,
        found.default_level,
    )


def test_only_level_is_the_default() -> None:
    """As SOL001 has it, a default is needed only among several."""
    levels = csar_builder.policy("InstantiationLevels", levels={1: {}})
    policies = [*csar_builder.POLICIES[:3], levels]

    assert "1" == _read(policies=policies).default_level


def test_a_level_need_not_give_numbers() -> None:
    """Where VduInstantiationLevels gives none, they follow from the deltas."""
    assert {} == _read(policies=csar_builder.POLICIES[:4]).level_numbers


def test_a_profile_need_not_set_bounds() -> None:
    """A VDU without vdu_profile may have any number."""
    vdu = csar_builder.vdu("web")
    del vdu["properties"]["vdu_profile"]

    assert Vdu("web", "web", 0, None) == _read(vdus={"web": vdu}).vdus["web"]


def test_steps_may_differ() -> None:
    """Each step has its delta, in the order of the aspect."""
    aspects = {"size": {"max_scale_level": 3, "step_deltas": ["a", "b", "a"]}}
    deltas = csar_builder.policy(
        "VduScalingAspectDeltas",
        ["web"],
        aspect="size",
        deltas={
            "a": {"number_of_instances": 1},
            "b": {"number_of_instances": 2},
        },
    )
    policies = [*_changed(0, aspects=aspects)[:2], deltas]

    assert {"web": (1, 2, 1)} == _read(policies=policies).aspects["size"].steps


def test_policies_may_be_one_mapping() -> None:
    """Tacker takes them so as well."""
    merged = {
        k: v for policy in csar_builder.POLICIES for k, v in policy.items()
    }
    definitions = {"a": csar_builder.flavour()}
    definitions["a"]["topology_template"]["policies"] = merged

    assert _read() == vnfd.read(
        {
            **definitions,
            csar_builder.TOP: csar_builder.top_definitions(),
            csar_builder.TYPES: csar_builder.types(),
        }
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            {"vdus": {"web": csar_builder.vdu("web", -1, 4)}},
            "VDU web: vdu_profile.min_number_of_instances is -1, wanted a "
            "number from 0 on",
        ),
        (
            {"policies": _changed(0, aspects={"size": {}})},
            "aspect size: max_scale_level is None, wanted a number from 0 on",
        ),
        ({"policies": "none"}, "policies are not a sequence"),
    ],
)
def test_value_without_a_meaning_is_a_fault(
    said: dict[str, Any], expected: str
) -> None:
    """The error names it, with what was expected."""
    assert expected in _faults(**said)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            {"vdus": {"other": csar_builder.vdu("other")}},
            "policy VduInitialDelta_web: the target web is not known; there "
            "are: other",
        ),
        (
            {"policies": _changed(2, aspect="speed")},
            "policy VduScalingAspectDeltas_web: the aspect speed is not "
            "known; there are: size",
        ),
        (
            {"policies": _changed(2, deltas={"two": {}})},
            "policy VduScalingAspectDeltas_web: the step delta one is not "
            "known; there are: two",
        ),
        (
            {"policies": _changed(2, deltas={})},
            "policy VduScalingAspectDeltas_web: has no deltas",
        ),
        (
            {"policies": _changed(3, default_level="huge")},
            "the default level huge is not known; there are: large, small",
        ),
        (
            {
                "policies": _changed(
                    3,
                    levels={
                        "small": {"scale_info": {"size": {"scale_level": 4}}}
                    },
                )
            },
            "instantiation level small: aspect size is at 4, its "
            "max_scale_level is 3",
        ),
        (
            {
                "policies": _changed(
                    4, levels={"huge": {"number_of_instances": 1}}
                )
            },
            "policy VduInstantiationLevels_web: the level huge is not known; "
            "there are: large, small",
        ),
        (
            {
                "policies": _changed(
                    4, levels={"large": {"number_of_instances": 3}}
                )
            },
            "instantiation level large: VduInstantiationLevels gives VDU web "
            "3 instances, but its initial delta and scaling steps give 4; the "
            "v2 API and the command line start with the first number, the v1 "
            "API with the second",
        ),
    ],
)
def test_contradiction_is_a_warning(
    said: dict[str, Any], expected: str
) -> None:
    """Tacker accepts such a package, and fails where it needs the name."""
    assert expected in _warnings(**said)


def test_all_contradictions_are_warned_of_at_once() -> None:
    """With the file of the flavour."""
    policies = _changed(2, aspect="speed")[:3] + _changed(3, default_level="x")

    assert 2 <= len(_warnings(policies=policies))


def test_no_warning_without_a_contradiction() -> None:
    """The sample's numbers agree."""
    assert [] == _warnings()


@pytest.mark.parametrize(
    "wrong", [None, "a", 1, [], [1], {"a": 1}, {"a": {"b": []}}]
)
def test_any_shape_is_a_vnfd_or_a_fault(wrong: Any) -> None:
    """Definitions that nothing checked end in no other exception."""
    parts = csar_builder.flavour()["topology_template"]
    for part in parts:
        document = csar_builder.flavour()
        document["topology_template"][part] = wrong
        with contextlib.suppress(PackageInvalid):
            vnfd.read({"a": document, "b": {"node_types": wrong}})
    for index in range(len(csar_builder.POLICIES)):
        for name in ("aspects", "deltas", "levels", "initial_delta"):
            with contextlib.suppress(PackageInvalid):
                _read(policies=_changed(index, **{name: wrong}))
