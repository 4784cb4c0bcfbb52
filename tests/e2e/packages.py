"""Real CSARs for Tacker: of the samples, and small ones for single tests."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import pathlib
import re
import shutil
from typing import Any
import uuid

import yaml

from tools import csar

MANIFESTS = "Files/kubernetes"


@dataclasses.dataclass(frozen=True)
class Csar:
    """A package to upload.

    :param files: its manifests, as ``lcm-kubernetes-def-files`` has them.
    """

    path: pathlib.Path
    vnfd: str
    files: tuple[str, ...]


def build_sample(
    name: str,
    folder: pathlib.Path,
    replaced: Mapping[str, str] | None = None,
    *,
    api: str = "v1",
    variant: str = "",
) -> Csar:
    """The CSAR of a sample, with its own VNFD id.

    :param replaced: texts by which others are replaced, in every file.
    """
    copy = folder / f"source-{uuid.uuid4().hex[:8]}"
    shutil.copytree(csar.SAMPLES / name, copy)
    entry = (copy / csar.read_recipe(copy).entry).read_text()
    found = re.search(r"descriptor_id: (\S+)", entry)
    assert found
    vnfd = str(uuid.uuid4())
    pairs = {found[1]: vnfd, **(replaced or {})}
    if other := csar.read_recipe(copy).variants.get(variant, {}).get(found[1]):
        # The variant is another package, with an id of its own.
        vnfd = pairs[other] = str(uuid.uuid4())
    for path in copy.rglob("*.yaml"):
        text = path.read_text()
        for old, new in pairs.items():
            text = text.replace(old, new)
        path.write_text(text)
    out = folder / f"{vnfd}.zip"
    csar.build(copy, out, variant=variant)
    return Csar(out, vnfd, _files(copy))


def _files(folder: pathlib.Path) -> tuple[str, ...]:
    return tuple(
        path.relative_to(folder).as_posix()
        for path in sorted((folder / MANIFESTS).glob("*"))
    )


def build_ordered(found: Csar, *names: str) -> list[str]:
    """The files in this order, for a driver that depends on it."""
    by_name = {pathlib.PurePosixPath(name).name: name for name in found.files}
    return [by_name[name] for name in names]


# -- Small ones ---------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Vdu:
    """A VDU, and the aspect of its name that scales it.

    :param workload: ``metadata.name`` of the object that it is.
    """

    name: str
    workload: str
    initial: int = 1
    most: int = 5


def build(
    folder: pathlib.Path,
    manifests: Mapping[str, Sequence[Mapping[str, Any]]],
    vdus: Sequence[Vdu] = (),
    *,
    version: str = "1.0",
    delivers: bool = False,
) -> Csar:
    """A CSAR of these manifests, by the names of their files.

    :param delivers: with the management driver kubeconfig-webhook.
    """
    source = folder / f"source-{uuid.uuid4().hex[:8]}"
    vnfd = str(uuid.uuid4())
    recipe: dict[str, Any] = {"entry": "Definitions/top.vnfd.yaml"}
    definitions = _definitions(vnfd, version, vdus)
    if delivers:
        recipe |= _with_hooks(definitions)
    _write(source / "csar.yaml", recipe)
    for name, content in definitions.items():
        _write(source / "Definitions" / name, content)
    (source / MANIFESTS).mkdir(parents=True)
    for name, objs in manifests.items():
        text = "\n---\n".join(json.dumps(obj) for obj in objs)
        (source / MANIFESTS / name).write_text(text + "\n")
    out = folder / f"{vnfd}.zip"
    csar.build(source, out)
    return Csar(out, vnfd, _files(source))


def _with_hooks(definitions: dict[str, Any]) -> dict[str, Any]:
    """Add the hooks of the sample with a workload cluster, and its files."""
    sample = csar.SAMPLES / "capi_workload_cluster"

    def read(name: str) -> Any:
        text = (sample / name).read_text()
        return yaml.safe_load(text)

    name = f"Definitions/{sample.name}"
    kinds = read(f"{name}_types.yaml")["interface_types"]
    types = definitions["types.yaml"]
    types["interface_types"] = kinds
    [interface] = kinds
    types["node_types"][_TYPE]["interfaces"]["Vnflcm"]["type"] = interface
    theirs = read(f"{name}_df_simple.yaml")["topology_template"]
    ours = definitions["df_simple.yaml"]["topology_template"]
    for part in ("interfaces", "artifacts"):
        found = theirs["node_templates"]["VNF"][part]
        ours["node_templates"]["VNF"][part] = found
    return {"management": read("csar.yaml")["management"]}


def _write(path: pathlib.Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


_TYPE = "example.test.Vnf"
_ETSI = [
    "etsi_nfv_sol001_common_types.yaml",
    "etsi_nfv_sol001_vnfd_types.yaml",
]
_TEXTS = (
    "descriptor_id",
    "descriptor_version",
    "provider",
    "product_name",
    "software_version",
    "flavour_id",
    "flavour_description",
)


def _definitions(
    vnfd: str, version: str, vdus: Sequence[Vdu]
) -> dict[str, Any]:
    """The service template, the flavour, and the type of the VNF."""
    head = {"tosca_definitions_version": "tosca_simple_yaml_1_2"}
    said = {
        "descriptor_id": vnfd,
        "descriptor_version": version,
        "provider": "Example",
        "product_name": "Test",
        "software_version": version,
        "vnfm_info": ["Tacker"],
    }
    defaults = {**said, "flavour_id": "simple", "flavour_description": ""}
    properties: dict[str, Any] = {
        name: {"type": "string", "default": defaults[name]} for name in _TEXTS
    }
    texts = {"type": "list", "entry_schema": {"type": "string"}}
    properties["vnfm_info"] = {**texts, "default": ["Tacker"]}
    links = [
        {
            name: {
                "capability": "tosca.capabilities.nfv.VirtualLinkable",
                "occurrences": [0, 1],
            }
        }
        for name in ("virtual_link_external", "virtual_link_internal")
    ]
    types = {
        **head,
        "imports": _ETSI,
        "node_types": {
            _TYPE: {
                "derived_from": "tosca.nodes.nfv.VNF",
                "properties": properties,
                "requirements": links,
                "interfaces": {
                    "Vnflcm": {"type": "tosca.interfaces.nfv.Vnflcm"}
                },
            }
        },
    }
    top = {
        **head,
        "imports": [*_ETSI, "types.yaml", "df_simple.yaml"],
        "topology_template": {
            "inputs": {"selected_flavour": {"type": "string"}},
            "node_templates": {
                "VNF": {
                    "type": _TYPE,
                    "properties": {
                        "flavour_id": {"get_input": "selected_flavour"},
                        **said,
                    },
                }
            },
        },
    }
    return {
        "types.yaml": types,
        "top.vnfd.yaml": top,
        "df_simple.yaml": {
            **head,
            "imports": [*_ETSI, "types.yaml"],
            "topology_template": _flavour(vdus),
        },
    }


def _flavour(vdus: Sequence[Vdu]) -> dict[str, Any]:
    inputs: dict[str, Any] = {name: {"type": "string"} for name in _TEXTS}
    inputs["vnfm_info"] = {"type": "list", "entry_schema": {"type": "string"}}
    nodes: dict[str, Any] = {
        "VNF": {
            "type": _TYPE,
            "properties": {"flavour_description": "The only one"},
        }
    }
    for vdu in vdus:
        nodes[vdu.name] = {
            "type": "tosca.nodes.nfv.Vdu.Compute",
            "properties": {
                "name": vdu.workload,
                "description": vdu.name,
                "vdu_profile": {
                    "min_number_of_instances": 0,
                    "max_number_of_instances": vdu.initial + vdu.most,
                },
            },
        }
    found: dict[str, Any] = {
        "inputs": inputs,
        "substitution_mappings": {
            "node_type": _TYPE,
            "properties": {"flavour_id": "simple"},
            "requirements": {"virtual_link_external": []},
        },
        "node_templates": nodes,
    }
    if vdus:
        found["policies"] = _policies(vdus)
    return found


def _policies(vdus: Sequence[Vdu]) -> list[dict[str, Any]]:
    policy = "tosca.policies.nfv"
    numbers = {vdu.name: {"number_of_instances": vdu.initial} for vdu in vdus}
    found: list[dict[str, Any]] = [
        {
            "scaling_aspects": {
                "type": f"{policy}.ScalingAspects",
                "properties": {
                    "aspects": {
                        vdu.name: {
                            "name": vdu.name,
                            "description": vdu.name,
                            "max_scale_level": vdu.most,
                            "step_deltas": ["one"],
                        }
                        for vdu in vdus
                    }
                },
            }
        },
        {
            "levels": {
                "type": f"{policy}.InstantiationLevels",
                "properties": {
                    "levels": {
                        "usual": {
                            "description": "As the package has it",
                            "scale_info": {
                                vdu.name: {"scale_level": 0} for vdu in vdus
                            },
                        }
                    },
                    "default_level": "usual",
                },
            }
        },
    ]
    for vdu in vdus:
        for name, kind, properties in (
            (
                "initial",
                "VduInitialDelta",
                {"initial_delta": numbers[vdu.name]},
            ),
            (
                "deltas",
                "VduScalingAspectDeltas",
                {
                    "aspect": vdu.name,
                    "deltas": {"one": {"number_of_instances": 1}},
                },
            ),
            (
                "levels",
                "VduInstantiationLevels",
                {"levels": {"usual": numbers[vdu.name]}},
            ),
        ):
            found.append(
                {
                    f"{vdu.name}_{name}": {
                        "type": f"{policy}.{kind}",
                        "properties": properties,
                        "targets": [vdu.name],
                    }
                }
            )
    return found


# -- Manifests ----------------------------------------------------------------


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": data,
    }


def deployment(
    name: str, replicas: int = 1, image: str = "registry.example.org/web:1"
) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": image}]},
            },
        },
    }
