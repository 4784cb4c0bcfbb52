"""From TOSCA definitions to a flavour's numbers and hooks.

Works on the definitions as they stand, since a package's source need not
have the type files with it; who has them lets tosca-parser check first.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package import replica_counts
from tacker_k8s_cr.package import tosca_policies
from tacker_k8s_cr.package.tosca_definitions import FLAVOUR
from tacker_k8s_cr.package.tosca_definitions import Definitions

_COMPUTE = "tosca.nodes.nfv.Vdu.Compute"
_ID = "descriptor_id"


def read(
    definitions: Definitions,
    flavour: str = "",
    warnings: list[Problem] | None = None,
) -> Vnfd:
    """The VNFD of one flavour; of the only one where none is named.

    :param warnings: gets what the flavour's policies contradict each other
        in, or name and do not define. No operation fails for it, unless it
        asks for just that.
    :raises RequestInvalid: no flavour of that name, or several to choose
        from.
    :raises PackageInvalid: the flavour is inconsistent.
    """
    name, file = _select_flavour(definitions, flavour)
    topology = definitions[file]["topology_template"]
    faults: list[str] = []
    doubts: list[str] = []
    vdus = {vdu.id: vdu for vdu in _vdus(definitions, topology, faults)}
    rules = tosca_policies.Policies(
        topology.get("policies"), vdus, faults, doubts
    )
    aspects = rules.aspects()
    levels, default = rules.levels(aspects)
    hooks, artifacts = _management(topology)
    vnfd = Vnfd(
        id=_id(definitions),
        flavour=name,
        vdus=vdus,
        aspects=aspects,
        initial=rules.initial_numbers(),
        levels=levels,
        level_numbers=rules.level_numbers(levels),
        default_level=default,
        management=hooks,
        artifacts=artifacts,
    )
    if faults:
        raise PackageInvalid([Problem(file, fault) for fault in faults])
    if warnings is not None:
        doubts += replica_counts.inconsistencies(vnfd)
        warnings += [Problem(file, doubt) for doubt in doubts]
    return vnfd


def _select_flavour(definitions: Definitions, flavour: str) -> tuple[str, str]:
    """The name of the flavour, and the file that describes it."""
    found: dict[str, str] = {}
    for file, document in definitions.items():
        name = objects.field(document, FLAVOUR)
        if isinstance(name, str):
            found[name] = file
    if not found:
        what = (
            "no file describes a deployment flavour, that is, has "
            "substitution_mappings.properties.flavour_id in its "
            "topology_template"
        )
        raise PackageInvalid([Problem(", ".join(sorted(definitions)), what)])
    if not flavour and len(found) == 1:
        flavour = next(iter(found))
    if flavour not in found:
        available = ", ".join(sorted(found))
        problem = f"no flavour {flavour}" if flavour else "several flavours"
        raise RequestInvalid(
            f"the package has {problem}; choose one of: {available}"
        )
    return flavour, found[flavour]


def _vdus(
    definitions: Definitions, topology: Mapping[str, Any], faults: list[str]
) -> Iterator[Vdu]:
    parents = {
        name: tosca_policies.mapping(kind).get("derived_from")
        for document in definitions.values()
        for name, kind in tosca_policies.string_keys(
            document.get("node_types")
        ).items()
    }
    for name, node in _nodes(topology):
        if not _is_derived(node.get("type"), _COMPUTE, parents):
            continue
        profile = objects.field(node, ("properties", "vdu_profile"))
        minimum, maximum = (
            tosca_policies.read_number(
                value,
                f"VDU {name}: vdu_profile.{scalable}_of_instances",
                faults,
            )
            if (value := objects.field(profile, (f"{scalable}_of_instances",)))
            is not None
            else None
            for scalable in ("min_number", "max_number")
        )
        named = str(objects.field(node, ("properties", "name"), name))
        yield Vdu(name, named, minimum or 0, maximum)


def _nodes(
    topology: Mapping[str, Any],
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    templates = tosca_policies.string_keys(topology.get("node_templates"))
    for name, node in templates.items():
        yield name, tosca_policies.mapping(node)


def _is_derived(name: Any, kind: str, parents: Mapping[str, Any]) -> bool:
    for _ in range(len(parents) + 1):
        if name == kind:
            return True
        name = parents.get(name) if isinstance(name, str) else None
    return False


def _management(
    topology: Mapping[str, Any],
) -> tuple[dict[str, str], dict[str, str]]:
    """The hooks and their files, of the nodes that have hooks.

    Tacker's v1 API reads the node with the name VNF, its v2 API the first
    node that has the interface; a package has them at one node.
    """
    hooks: dict[str, str] = {}
    files: dict[str, str] = {}
    for _, node in _nodes(topology):
        operations = objects.field(node, ("interfaces", "Vnflcm"))
        for operation, value in tosca_policies.string_keys(operations).items():
            name = objects.field(value, ("implementation",), value)
            if isinstance(name, str):
                hooks[operation] = name
        if not operations:
            continue
        for name, artifact in tosca_policies.string_keys(
            node.get("artifacts")
        ).items():
            file = objects.field(artifact, ("file",), artifact)
            if isinstance(file, str):
                files[name] = file
    return hooks, files


def _id(definitions: Definitions) -> str:
    """Of a VNF node in any file, else the default of its type."""
    for document in definitions.values():
        topology = tosca_policies.mapping(document.get("topology_template"))
        for _, node in _nodes(topology):
            found = objects.field(node, ("properties", _ID))
            if isinstance(found, str):
                return found
    for document in definitions.values():
        for kind in tosca_policies.string_keys(
            document.get("node_types")
        ).values():
            found = objects.field(kind, ("properties", _ID, "default"))
            if isinstance(found, str):
                return found
    return ""
