"""The operations of the VNF life cycle."""

from tacker_k8s_cr.lcm.adopt import adopt
from tacker_k8s_cr.lcm.adopt_changes import adopt_changes
from tacker_k8s_cr.lcm.change import change
from tacker_k8s_cr.lcm.change import forecast
from tacker_k8s_cr.lcm.drift import drift
from tacker_k8s_cr.lcm.heal import heal
from tacker_k8s_cr.lcm.instantiate import instantiate
from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.rollback import roll_back
from tacker_k8s_cr.lcm.scale import scale
from tacker_k8s_cr.lcm.status import status
from tacker_k8s_cr.lcm.terminate import terminate

__all__ = [
    "Request",
    "adopt",
    "adopt_changes",
    "change",
    "drift",
    "forecast",
    "heal",
    "instantiate",
    "roll_back",
    "scale",
    "status",
    "terminate",
]
