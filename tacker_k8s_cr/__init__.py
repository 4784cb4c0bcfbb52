"""VNF packages of Kubernetes manifests, through the whole ETSI life cycle.

From a Python prompt::

    import tacker_k8s_cr as k8s_cr

    cluster = k8s_cr.connect()
    package = k8s_cr.load("samples/vnf_packages/custom_resource")
    report = k8s_cr.instantiate(
        cluster, "demo", package, deadline=k8s_cr.Deadline.after(300)
    )

Every name is brought in at its first use, so that importing the package
costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacker_k8s_cr.cluster import connect
    from tacker_k8s_cr.deadline import Deadline
    from tacker_k8s_cr.lcm import change
    from tacker_k8s_cr.lcm import drift
    from tacker_k8s_cr.lcm import forecast
    from tacker_k8s_cr.lcm import heal
    from tacker_k8s_cr.lcm import instantiate
    from tacker_k8s_cr.lcm import roll_back
    from tacker_k8s_cr.lcm import scale
    from tacker_k8s_cr.lcm import status
    from tacker_k8s_cr.lcm import terminate
    from tacker_k8s_cr.objects import ObjectRef
    from tacker_k8s_cr.options import Options
    from tacker_k8s_cr.package import load
    from tacker_k8s_cr.policy import Policy

_HOMES = {
    "Deadline": "deadline",
    "ObjectRef": "objects",
    "Options": "options",
    "Policy": "policy",
    "change": "lcm",
    "connect": "cluster",
    "drift": "lcm",
    "forecast": "lcm",
    "heal": "lcm",
    "instantiate": "lcm",
    "load": "package",
    "roll_back": "lcm",
    "scale": "lcm",
    "status": "lcm",
    "terminate": "lcm",
}

__all__ = [
    "Deadline",
    "ObjectRef",
    "Options",
    "Policy",
    "change",
    "connect",
    "drift",
    "forecast",
    "heal",
    "instantiate",
    "load",
    "roll_back",
    "scale",
    "status",
    "terminate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    return getattr(module, name)
