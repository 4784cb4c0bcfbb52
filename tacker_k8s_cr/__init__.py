"""VNF packages of Kubernetes manifests, through the whole ETSI life cycle.

From a Python prompt::

    import tacker_k8s_cr as k8s_cr

    cluster = k8s_cr.connect()
    package = k8s_cr.load("samples/vnf_packages/custom_resource")
    request = k8s_cr.Request(
        cluster, "demo", deadline=k8s_cr.Deadline.after(300)
    )
    report = k8s_cr.instantiate(request, package)

Every name is brought in at its first use, so that importing the package
costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacker_k8s_cr.kinds.policy import Policy
    from tacker_k8s_cr.kube import connect
    from tacker_k8s_cr.lcm.api import Request
    from tacker_k8s_cr.lcm.api import change
    from tacker_k8s_cr.lcm.api import drift
    from tacker_k8s_cr.lcm.api import forecast
    from tacker_k8s_cr.lcm.api import heal
    from tacker_k8s_cr.lcm.api import instantiate
    from tacker_k8s_cr.lcm.api import roll_back
    from tacker_k8s_cr.lcm.api import scale
    from tacker_k8s_cr.lcm.api import status
    from tacker_k8s_cr.lcm.api import terminate
    from tacker_k8s_cr.model.deadline import Deadline
    from tacker_k8s_cr.model.objects import ObjectRef
    from tacker_k8s_cr.package import load
    from tacker_k8s_cr.plan.options import Options

_HOMES = {
    "Deadline": "model.deadline",
    "ObjectRef": "model.objects",
    "Options": "plan.options",
    "Policy": "kinds.policy",
    "Request": "lcm.api",
    "change": "lcm.api",
    "connect": "kube",
    "drift": "lcm.api",
    "forecast": "lcm.api",
    "heal": "lcm.api",
    "instantiate": "lcm.api",
    "load": "package",
    "roll_back": "lcm.api",
    "scale": "lcm.api",
    "status": "lcm.api",
    "terminate": "lcm.api",
}

__all__ = [
    "Deadline",
    "ObjectRef",
    "Options",
    "Policy",
    "Request",
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
