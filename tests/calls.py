"""Operations, called with keywords of the request and of their own at once."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
from typing import Any

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm.request import Request

_OF_REQUEST = {field.name for field in dataclasses.fields(Request)}


def call(
    operation: Callable[..., Any],
    cluster: Cluster,
    instance: str,
    *args: Any,
    **given: Any,
) -> Any:
    """Call an operation of ``lcm``."""
    own = {k: v for k, v in given.items() if k not in _OF_REQUEST}
    rest = {k: v for k, v in given.items() if k in _OF_REQUEST}
    return operation(Request(cluster, instance, **rest), *args, **own)
