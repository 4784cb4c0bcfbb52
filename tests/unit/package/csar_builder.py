"""A small CSAR as a mapping of its files, and ways to write it down.

Its definitions name the ETSI types as a package does, and bring stand-ins
for the few that they use, so that these tests need no other software's
files. The stand-ins are written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
import hashlib
import pathlib
from typing import Any
import zipfile

import yaml

META = "TOSCA-Metadata/TOSCA.meta"
FLAVOUR = "Definitions/df.yaml"
TOP = "Definitions/top.yaml"
TYPES = "Definitions/types.yaml"
ONE = "Files/kubernetes/one.yaml"
TWO = "Files/kubernetes/two.yaml"

_ANY = {"type": "map", "required": False}
_TEXT = {"type": "string", "required": False}


def types() -> dict[str, Any]:
    policies = (
        "InstantiationLevels",
        "ScalingAspects",
        "VduInitialDelta",
        "VduInstantiationLevels",
        "VduScalingAspectDeltas",
    )
    names = ("aspect", "default_level")
    free = ("aspects", "deltas", "initial_delta", "levels")
    properties = {
        **dict.fromkeys(names, _TEXT),
        **dict.fromkeys(free, _ANY),
    }
    return {
        "tosca_definitions_version": "tosca_simple_yaml_1_2",
        "node_types": {
            "tosca.nodes.nfv.VNF": {
                "derived_from": "tosca.nodes.Root",
                "properties": {
                    "descriptor_id": {**_TEXT, "default": "by-type"},
                    "flavour_id": _TEXT,
                },
                "interfaces": {"Vnflcm": {"type": "example.Vnflcm"}},
            },
            "tosca.nodes.nfv.Vdu.Compute": {
                "derived_from": "tosca.nodes.Root",
                "properties": {
                    "name": _TEXT,
                    "vdu_profile": _ANY,
                },
            },
        },
        "interface_types": {
            "example.Vnflcm": {
                "derived_from": "tosca.interfaces.Root",
                "instantiate_end": {"description": "After instantiate"},
            }
        },
        "policy_types": {
            f"tosca.policies.nfv.{name}": {
                "derived_from": "tosca.policies.Root",
                "properties": properties,
            }
            for name in policies
        },
    }


def top_definitions(*flavours: str) -> dict[str, Any]:
    return {
        "tosca_definitions_version": "tosca_simple_yaml_1_2",
        "imports": ["types.yaml", *flavours],
        "topology_template": {
            "node_templates": {
                "VNF": {
                    "type": "tosca.nodes.nfv.VNF",
                    "properties": {"descriptor_id": "by-node"},
                }
            }
        },
    }


def policy(kind: str, targets: list[str] | None = None, **said: Any) -> Any:
    """A policy of one of the five types, as an entry of a flavour's list."""
    value = {"type": f"tosca.policies.nfv.{kind}", "properties": said}
    if targets:
        value["targets"] = targets
    return {f"{kind}_{'_'.join(targets or [])}": value}


def vdu(name: str, minimum: int = 0, maximum: int = 9) -> dict[str, Any]:
    return {
        "type": "tosca.nodes.nfv.Vdu.Compute",
        "properties": {
            "name": name,
            "vdu_profile": {
                "min_number_of_instances": minimum,
                "max_number_of_instances": maximum,
            },
        },
    }


def flavour(
    name: str = "simple",
    vdus: Mapping[str, Any] | None = None,
    policies: list[Any] | None = None,
    vnf: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """One VDU with one aspect, unless something else is said."""
    return {
        "tosca_definitions_version": "tosca_simple_yaml_1_2",
        "imports": ["types.yaml"],
        "topology_template": {
            "substitution_mappings": {
                "node_type": "tosca.nodes.nfv.VNF",
                "properties": {"flavour_id": name},
            },
            "inputs": {"descriptor_id": _TEXT, "flavour_id": _TEXT},
            "node_templates": {
                "VNF": {"type": "tosca.nodes.nfv.VNF", **(vnf or {})},
                **(vdus or {"web": vdu("web", 1, 4)}),
            },
            "policies": POLICIES if policies is None else policies,
        },
    }


POLICIES = [
    policy(
        "ScalingAspects",
        aspects={"size": {"max_scale_level": 3, "step_deltas": ["one"]}},
    ),
    policy(
        "VduInitialDelta", ["web"], initial_delta={"number_of_instances": 1}
    ),
    policy(
        "VduScalingAspectDeltas",
        ["web"],
        aspect="size",
        deltas={"one": {"number_of_instances": 1}},
    ),
    policy(
        "InstantiationLevels",
        levels={
            "small": {"scale_info": {"size": {"scale_level": 0}}},
            "large": {"scale_info": {"size": {"scale_level": 3}}},
        },
        default_level="small",
    ),
    policy(
        "VduInstantiationLevels",
        ["web"],
        levels={
            "small": {"number_of_instances": 1},
            "large": {"number_of_instances": 4},
        },
    ),
]


def manifest(name: str, kind: str = "ConfigMap") -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"


def tosca_meta(artifacts: Mapping[str, bytes], **head: str) -> bytes:
    first = {
        "TOSCA-Meta-File-Version": "1.0",
        "CSAR-Version": "1.1",
        "Created-By": "a test",
        "Entry-Definitions": TOP,
        **{name.replace("_", "-"): value for name, value in head.items()},
    }
    blocks = [first]
    for name, content in artifacts.items():
        digest = hashlib.sha256(content).hexdigest()
        blocks.append({"Name": name, "Algorithm": "SHA-256", "Hash": digest})
    return "\n".join(
        "".join(f"{key}: {value}\n" for key, value in block.items())
        for block in blocks
    ).encode()


def files(
    definitions: Mapping[str, Any] | None = None,
    artifacts: Mapping[str, str] | None = None,
    **head: str,
) -> dict[str, bytes]:
    """All files of a CSAR: definitions by path, artifacts by path."""
    described = {
        TYPES: types(),
        TOP: top_definitions("df.yaml"),
        FLAVOUR: flavour(),
        **(definitions or {}),
    }
    listed = artifacts or {TWO: manifest("two"), ONE: manifest("one")}
    held = {name: text.encode() for name, text in listed.items()}
    return {
        META: tosca_meta(held, **head),
        **{
            name: yaml.safe_dump(value).encode()
            for name, value in described.items()
        },
        **held,
    }


def write_archive(
    path: pathlib.Path, content: Mapping[str, bytes], method: int = 8
) -> pathlib.Path:
    """Written as a zip file."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def write_folder(
    path: pathlib.Path, content: Mapping[str, bytes]
) -> pathlib.Path:
    """Written as a folder, as Tacker keeps a package."""
    for name, data in content.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path
