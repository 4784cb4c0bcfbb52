"""Where objects refer to templates, in both versions of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.kinds.capi import templates
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Path

Where = tuple[str | int, ...]
"""Where a reference stands: keys, and the numbers of items of lists."""

EACH = "*"
"""In a path, every item of a list."""

_IN_TEMPLATE: tuple[Path, ...] = (
    ("spec", "template", "spec", "infrastructureRef"),
    ("spec", "template", "spec", "bootstrap", "configRef"),
)

_CLASS: Path = ("spec",)
_CLASS_DEPLOYMENT: Path = ("spec", "workers", "machineDeployments", EACH)
_CLASS_POOL: Path = ("spec", "workers", "machinePools", EACH)
_TOPOLOGY: Path = ("spec", "topology")
_TOPOLOGY_DEPLOYMENT: Path = (
    *_TOPOLOGY,
    "workers",
    "machineDeployments",
    EACH,
)

# What remediates unhealthy machines, below where a health check is said.
_REMEDIATION: tuple[Path, ...] = (
    ("machineHealthCheck", "remediationTemplate"),
    ("healthCheck", "remediation", "templateRef"),
)


def _below(start: Path, *ends: Path) -> tuple[Path, ...]:
    return tuple((*start, *end) for end in ends)


def _of_class(*parts: Path) -> tuple[Path, ...]:
    """v1beta1 has ``ref``, and for workers below ``template``."""
    return tuple(
        (*part, name) for part in parts for name in ("ref", "templateRef")
    )


PATHS: Mapping[str, tuple[Path, ...]] = {
    "MachineDeployment": _IN_TEMPLATE,
    "MachineSet": _IN_TEMPLATE,
    "MachinePool": _IN_TEMPLATE,
    "MachineHealthCheck": (
        ("spec", "remediationTemplate"),
        ("spec", "remediation", "templateRef"),
    ),
    "ClusterClass": (
        *_of_class(
            ("spec", "infrastructure"),
            ("spec", "controlPlane"),
            ("spec", "controlPlane", "machineInfrastructure"),
            *(
                (*worker, *template, part)
                for worker in (_CLASS_DEPLOYMENT, _CLASS_POOL)
                for template in (("template",), ())
                for part in ("bootstrap", "infrastructure")
            ),
        ),
        *_below((*_CLASS, "controlPlane"), *_REMEDIATION),
        *_below(_CLASS_DEPLOYMENT, *_REMEDIATION),
    ),
    "Cluster": (
        *_below((*_TOPOLOGY, "controlPlane"), *_REMEDIATION),
        *_below(_TOPOLOGY_DEPLOYMENT, *_REMEDIATION),
    ),
}
"""Of the kinds of the core group."""

CONTROL_PLANE: tuple[Path, ...] = (
    ("spec", "machineTemplate", "infrastructureRef"),
    ("spec", "machineTemplate", "spec", "infrastructureRef"),
)
"""Of every control plane: v1beta1, then v1beta2."""


def template_refs(
    manifest: Manifest,
) -> tuple[tuple[Where, GroupKind, str], ...]:
    """References to templates: where each stands, and what it names."""
    return tuple(
        (where, group_kind, name)
        for path in _paths(GroupKind.of(manifest))
        for where, ref in _matches(manifest, path)
        if (group_kind := _template_kind(ref))
        and (name := fields.text(ref, ("name",)))
    )


def with_renamed(
    manifest: Manifest, names: Mapping[tuple[GroupKind, str], str]
) -> Manifest:
    """The manifest with references to these templates led to new names."""
    for where, group_kind, name in template_refs(manifest):
        if new := names.get((group_kind, name)):
            manifest = _with_value(manifest, (*where, "name"), new)
    return manifest


def _paths(group_kind: GroupKind) -> tuple[Path, ...]:
    if group_kind.group == contract.GROUP:
        return PATHS.get(group_kind.kind, ())
    if group_kind.group == contract.CONTROL_PLANE_GROUP:
        return CONTROL_PLANE
    return ()


def _template_kind(ref: Mapping[str, Any]) -> GroupKind | None:
    """The kind that a reference names, when it is a template's.

    In other kinds the same fields name clusters and machines, which are not
    renamed.
    """
    found = GroupKind(contract.group_of(ref), fields.text(ref, ("kind",)))
    return found if templates.is_template(found) else None


def _matches(
    obj: Any, path: Path, here: Where = ()
) -> Iterator[tuple[Where, Mapping[str, Any]]]:
    if not path:
        if isinstance(obj, Mapping):
            yield here, obj
    elif path[0] != EACH:
        if isinstance(obj, Mapping):
            yield from _matches(obj.get(path[0]), path[1:], (*here, path[0]))
    elif isinstance(obj, list | tuple):
        for number, item in enumerate(obj):
            yield from _matches(item, path[1:], (*here, number))


def _with_value(obj: Any, where: Where, value: str) -> Any:
    """A copy that differs at one place; the rest is shared."""
    if not where:
        return value
    key, rest = where[0], where[1:]
    if isinstance(key, int):
        return [
            _with_value(item, rest, value) if number == key else item
            for number, item in enumerate(obj)
        ]
    return {**obj, key: _with_value(obj.get(key), rest, value)}
