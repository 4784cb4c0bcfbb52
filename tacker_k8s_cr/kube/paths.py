"""Build URL paths of objects, lists and sub-resources: pure."""

from __future__ import annotations

from collections.abc import Mapping
import functools
import re
import urllib.parse

from tacker_k8s_cr.model.objects import Resource

_PLAIN = re.compile(r"[a-z0-9][a-z0-9.-]*")
"""Matches nearly every name: no character needs quoting."""


@functools.lru_cache(maxsize=256)
def collection_path(resource: Resource, namespace: str) -> str:
    start = f"/apis/{resource.group}" if resource.group else "/api"
    scope = f"/namespaces/{_quoted(namespace)}" if namespace else ""
    return f"{start}/{resource.version}{scope}/{resource.plural}"


def object_path(
    resource: Resource, namespace: str, name: str, subresource: str = ""
) -> str:
    path = f"{collection_path(resource, namespace)}/{_quoted(name)}"
    return f"{path}/{subresource}" if subresource else path


def query(path: str, parameters: Mapping[str, str | int]) -> str:
    """Return the path with the parameters that are not empty."""
    filled = {name: value for name, value in parameters.items() if value != ""}
    return f"{path}?{urllib.parse.urlencode(filled)}" if filled else path


def resource_name(resource: Resource, subresource: str = "") -> str:
    """Return the authorizer's name: ``deployments.apps/scale``."""
    group = f".{resource.group}" if resource.group else ""
    part = f"/{subresource}" if subresource else ""
    return f"{resource.plural}{group}{part}"


def _quoted(segment: str) -> str:
    if _PLAIN.fullmatch(segment):
        return segment
    # A name may contain a colon (RBAC), never a slash; all else is quoted,
    # so that no name leads to another path. Dots alone would ascend.
    if segment in (".", ".."):
        return segment.replace(".", "%2E")
    return urllib.parse.quote(segment, safe=":")
