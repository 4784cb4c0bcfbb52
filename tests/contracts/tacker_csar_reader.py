"""Reads CSARs with Tacker's own code and prints, as JSON, what it found.

A program of its own, since Tacker's reader logs in a way that pytest takes
for an error, and sets options for the whole process.
"""

from __future__ import annotations

import json
import sys
import tempfile

from tacker.common import csar_utils
import tacker.conf
from tacker.sol_refactored.common import vnfd_utils
from tacker.tosca import utils as tosca_utils
from tacker.vnflcm import utils
from toscaparser import tosca_template

FLAVOUR = "simple"


def _v1(path: str, folder: str) -> dict[str, object]:
    """As the v1 API does at upload, and then at an operation."""
    tacker.conf.CONF.set_override(
        "vnf_package_csar_path", folder, group="vnf_package"
    )
    data, flavours, artifacts = csar_utils.load_csar_data(None, "p", path)
    vnfd = utils._get_flavour_based_vnfd(f"{folder}/p", FLAVOUR)
    vnfd["topology_template"]["substitution_mappings"].pop("requirements")
    parsed = tosca_template.ToscaTemplate(
        parsed_params={},
        a_file=False,
        yaml_dict_tpl=vnfd,
        local_defs=tosca_utils.tosca_tmpl_local_defs(),
    )
    policies = utils.get_extract_policy_infos(parsed)
    vnf = vnfd["topology_template"]["node_templates"]["VNF"]
    return {
        "id": data["descriptor_id"],
        "flavours": [flavour["flavour_id"] for flavour in flavours],
        "artifacts": sorted(artifact["Source"] for artifact in artifacts),
        "levels": policies["inst_level_dict"],
        "default": policies["default_inst_level_id"],
        "most": policies["aspect_max_level_dict"],
        "initial": policies["vdu_delta_dict"],
        "hooks": vnf.get("interfaces", {}).get("Vnflcm", {}),
        "files": {
            name: artifact["file"]
            for name, artifact in vnf.get("artifacts", {}).items()
        },
    }


def _v2(folder: str) -> dict[str, object]:
    vnfd = vnfd_utils.Vnfd("id")
    vnfd.init_from_csar_dir(folder)
    level = vnfd.get_default_instantiation_level(FLAVOUR)
    return {
        "default": level,
        "numbers": {
            vdu: vnfd.get_vdu_num(FLAVOUR, vdu, level)
            for vdu in vnfd.get_vdu_nodes(FLAVOUR)
        },
        "artifacts": sorted(vnfd.get_vnf_artifact_files()),
    }


if __name__ == "__main__":
    found = {}
    for path in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            v1 = _v1(path, folder)
            found[path] = {"v1": v1, "v2": _v2(f"{folder}/p")}
    json.dump(found, sys.stdout)
