"""The parameter ``vdu_mapping``, reduced to the VDUs of a package: pure.

Tacker's own driver demands an entry for every VDU, also for those whose
object is not among the manifests that the request selects, and ignores
entries for VDUs that do not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses

from tacker_k8s_cr.driver.additional_params import RequestParams
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.package import vdu_mapping

_WORKLOADS = ("DaemonSet", "Deployment", "Pod", "ReplicaSet", "StatefulSet")
"""Kinds whose objects must all be mapped in Tacker's own driver."""


def drop_unmapped(
    params: RequestParams, package: Package
) -> tuple[RequestParams, Package]:
    """Return the entries that have a VDU and an object.

    The package gets a warning for each of the others. If an object that may
    be a VDU is in no entry, a name is probably misspelt: the entries stay,
    and the operation refuses those without an object.
    """
    mapping = params.vdu_mapping
    if package.vnfd is None or not mapping:
        return params, package
    warnings = []
    kept = {}
    lenient = not any(_unmapped(params, package))
    for vdu, name in mapping.items():
        if vdu not in package.vnfd.vdus:
            has = ", ".join(package.vnfd.vdus) or "none"
            warnings.append(
                f"vdu_mapping: the VNFD does not have the VDU {vdu}, which "
                f"is ignored; its VDUs are: {has}"
            )
        elif lenient and not vdu_mapping.is_named(package, name):
            warnings.append(
                f"vdu_mapping: {name}, the object of VDU {vdu}, is not among "
                "the selected manifests; the VDU has no VNFC and is not scaled"
            )
        else:
            kept[vdu] = name
    warned = dataclasses.replace(
        package, warnings=(*package.warnings, *warnings)
    )
    return dataclasses.replace(params, vdu_mapping=kept), warned


def _unmapped(params: RequestParams, package: Package) -> Iterator[str]:
    """Yield workloads that the mapping does not name."""
    mapped = set(params.vdu_mapping.values())
    for manifest in package.manifests:
        name = f"{manifest['kind']}/{manifest['metadata'].get('name')}"
        if manifest["kind"] in _WORKLOADS and name not in mapped:
            yield name
