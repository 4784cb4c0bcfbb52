"""The operations of a VNF instance's life: each is a plan, carried out."""

from tacker_k8s_cr.lcm.adopt import adopt
from tacker_k8s_cr.lcm.adopt_changes import adopt_changes
from tacker_k8s_cr.lcm.bring import instantiate
from tacker_k8s_cr.lcm.changing import change
from tacker_k8s_cr.lcm.changing import forecast
from tacker_k8s_cr.lcm.drifting import drift
from tacker_k8s_cr.lcm.end import terminate
from tacker_k8s_cr.lcm.mend import heal
from tacker_k8s_cr.lcm.resize import scale
from tacker_k8s_cr.lcm.rollback import roll_back
from tacker_k8s_cr.lcm.standing import status

__all__ = [
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
