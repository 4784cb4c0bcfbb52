"""What can go wrong, in the operator's words.

An error carries data and writes its sentence last. "Not current yet" is a
verdict, never an error: errors are for what will not mend by waiting, or
did not in the time that was given. No sentence holds a credential or a
value of a Secret.

Each module has the errors of one situation; all are offered here.
"""

from tacker_k8s_cr.errors.asked import NOT_RESTORED
from tacker_k8s_cr.errors.asked import KindUnknown
from tacker_k8s_cr.errors.asked import NamespaceAbsent
from tacker_k8s_cr.errors.asked import NotHealable
from tacker_k8s_cr.errors.asked import NotKept
from tacker_k8s_cr.errors.asked import NotRestored
from tacker_k8s_cr.errors.asked import NotScalable
from tacker_k8s_cr.errors.asked import NotSupported
from tacker_k8s_cr.errors.asked import Owned
from tacker_k8s_cr.errors.asked import PackageInvalid
from tacker_k8s_cr.errors.asked import RequestInvalid
from tacker_k8s_cr.errors.asked import WouldBeLost
from tacker_k8s_cr.errors.asked import WouldReplace
from tacker_k8s_cr.errors.credentials import KubeconfigInvalid
from tacker_k8s_cr.errors.credentials import NotDelivered
from tacker_k8s_cr.errors.instances import Busy
from tacker_k8s_cr.errors.instances import HandlerFailed
from tacker_k8s_cr.errors.instances import InstanceExists
from tacker_k8s_cr.errors.instances import InstanceUnknown
from tacker_k8s_cr.errors.instances import LockLost
from tacker_k8s_cr.errors.instances import PluginInvalid
from tacker_k8s_cr.errors.outcome import Failed
from tacker_k8s_cr.errors.outcome import NotCleared
from tacker_k8s_cr.errors.outcome import NotGone
from tacker_k8s_cr.errors.outcome import NotReady
from tacker_k8s_cr.errors.outcome import Unsettled
from tacker_k8s_cr.errors.problems import Problem
from tacker_k8s_cr.errors.root import Error
from tacker_k8s_cr.errors.server import ClusterError
from tacker_k8s_cr.errors.server import Conflict
from tacker_k8s_cr.errors.server import Forbidden
from tacker_k8s_cr.errors.server import NoToken
from tacker_k8s_cr.errors.server import NotYet
from tacker_k8s_cr.errors.server import Outdated
from tacker_k8s_cr.errors.server import Outlook
from tacker_k8s_cr.errors.server import Refused
from tacker_k8s_cr.errors.server import Rejected
from tacker_k8s_cr.errors.server import RightsLacking
from tacker_k8s_cr.errors.server import Unauthenticated
from tacker_k8s_cr.errors.server import Unavailable
from tacker_k8s_cr.errors.server import Unreachable

__all__ = [
    "NOT_RESTORED",
    "Busy",
    "ClusterError",
    "Conflict",
    "Error",
    "Failed",
    "Forbidden",
    "HandlerFailed",
    "InstanceExists",
    "InstanceUnknown",
    "KindUnknown",
    "KubeconfigInvalid",
    "LockLost",
    "NamespaceAbsent",
    "NoToken",
    "NotCleared",
    "NotDelivered",
    "NotGone",
    "NotHealable",
    "NotKept",
    "NotReady",
    "NotRestored",
    "NotScalable",
    "NotSupported",
    "NotYet",
    "Outdated",
    "Outlook",
    "Owned",
    "PackageInvalid",
    "PluginInvalid",
    "Problem",
    "Refused",
    "Rejected",
    "RequestInvalid",
    "RightsLacking",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "Unsettled",
    "WouldBeLost",
    "WouldReplace",
]
