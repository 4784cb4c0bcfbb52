"""Small VNF packages that Tacker accepts, in versions of a test's own.

Two VDUs: ``web``, a Deployment that may be scaled from 0 to 3, and ``db``, a
StatefulSet of one. The definitions are those of a sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import json
import pathlib
import shutil
from typing import Any
import uuid

import yaml

from tools import csar

Manifest = dict[str, Any]

SAMPLE = "custom_resource"
PLANTED = "planted-in-a-manifest-0815"

ALL = "Files/kubernetes/all.yaml"
"""The file with the manifests."""


def build_csar(
    folder: pathlib.Path,
    manifests: Mapping[str, Sequence[Manifest]] | Sequence[Manifest],
    *,
    vnfd: str = "",
    initial: int = 0,
) -> tuple[pathlib.Path, str]:
    """Write a CSAR with these manifests; where it is, and its VNFD's id.

    :param initial: the number of ``web`` at the lowest scale level.
    """
    vnfd = vnfd or str(uuid.uuid4())
    source = folder / vnfd
    shutil.copytree(csar.SAMPLES / SAMPLE, source)
    shutil.rmtree(source / "Files")
    for path in (source / "Definitions").glob("*.yaml"):
        told = yaml.safe_load(path.read_text())
        _identify(told, vnfd)
        if "_df_" in path.name:
            described = told["topology_template"]
            described["node_templates"] = {
                "VNF": described["node_templates"]["VNF"],
                "web": _vdu("web", 3 + initial),
                "db": _vdu("db", 1),
            }
            described["policies"] = _policies(initial)
        path.write_text(yaml.safe_dump(told))
    files = manifests if isinstance(manifests, Mapping) else {ALL: manifests}
    for name, listed in files.items():
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n---\n".join(map(json.dumps, listed)))
    return csar.build(source, folder / f"{vnfd}.zip"), vnfd


def _identify(told: Any, vnfd: str) -> None:
    """Set the id of the VNFD, wherever it occurs."""
    if not isinstance(told, dict):
        return
    for key, value in told.items():
        if key == "descriptor_id" and isinstance(value, str):
            told[key] = vnfd
        elif key == "descriptor_id" and "default" in value:
            value["default"] = vnfd
        else:
            _identify(value, vnfd)


def _vdu(name: str, most: int) -> Manifest:
    return {
        "type": "tosca.nodes.nfv.Vdu.Compute",
        "properties": {
            "name": name,
            "description": name,
            "vdu_profile": {
                "min_number_of_instances": 0,
                "max_number_of_instances": most,
            },
        },
    }


def _policies(initial: int) -> list[Manifest]:
    def policy(kind: str, targets: Sequence[str], **said: Any) -> Manifest:
        told: Manifest = {"type": f"tosca.policies.nfv.{kind}"}
        told["properties"] = said
        if targets:
            told["targets"] = list(targets)
        return {f"{kind}_{'_'.join(targets)}": told}

    def number(size: int) -> Manifest:
        return {"number_of_instances": size}

    def level(size: int) -> Manifest:
        scale = {"webs": {"scale_level": size}}
        return {"description": "a level", "scale_info": scale}

    aspect = {
        "name": "webs",
        "description": "the number of web servers",
        "max_scale_level": 3,
        "step_deltas": ["one"],
    }
    levels = {"none": 0, "one": 1, "two": 2}
    return [
        policy("ScalingAspects", (), aspects={"webs": aspect}),
        policy("VduInitialDelta", ["web"], initial_delta=number(initial)),
        policy("VduInitialDelta", ["db"], initial_delta=number(1)),
        policy(
            "VduScalingAspectDeltas",
            ["web"],
            aspect="webs",
            deltas={"one": number(1)},
        ),
        policy(
            "InstantiationLevels",
            (),
            levels={name: level(size) for name, size in levels.items()},
            default_level="one",
        ),
        policy(
            "VduInstantiationLevels",
            ["web"],
            levels={
                name: number(size + initial) for name, size in levels.items()
            },
        ),
        policy(
            "VduInstantiationLevels",
            ["db"],
            levels={name: number(1) for name in levels},
        ),
    ]


# -- Manifests ----------------------------------------------------------------


def manifest(kind: str, name: str, **fields: Any) -> Manifest:
    group = {"Deployment": "apps/v1", "StatefulSet": "apps/v1"}
    return {
        "apiVersion": group.get(kind, "v1"),
        "kind": kind,
        "metadata": {"name": name},
        **fields,
    }


def config_map(name: str, **data: str) -> Manifest:
    return manifest("ConfigMap", name, data=data)


def _template(name: str, image: str, **spec: Any) -> Manifest:
    container = {"name": "c", "image": image}
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container], **spec},
    }


def web(image: str = "registry.k8s.io/pause:3.9", **spec: Any) -> Manifest:
    """The Deployment; its replicas differ from the VNFD's."""
    return manifest(
        "Deployment",
        "web",
        spec={
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": _template("web", image, **spec),
        },
    )


def db(image: str = "registry.k8s.io/pause:3.9") -> Manifest:
    return manifest(
        "StatefulSet",
        "db",
        spec={
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": _template("db", image),
        },
    )


def never_ready() -> Manifest:
    """A Pod for a Node that is nowhere."""
    container = {"name": "c", "image": "registry.k8s.io/pause:3.9"}
    spec = {"nodeSelector": {"example.org/no": "node"}}
    return manifest("Pod", "never", spec={**spec, "containers": [container]})


def secret(value: str = PLANTED) -> Manifest:
    return manifest("Secret", "password", stringData={"password": value})


FIRST = (web(), db(), secret(), config_map("settings", of="first"))
"""The manifests of a first version."""
