"""Errors, in the operator's terms.

An error contains data and formats its message last. "Not current yet" is a
verdict, never an error: an error is raised for what waiting does not change,
or did not change before the deadline. No message contains a credential or a
value of a Secret. One class stands for one situation; a root class is only
caught.
"""

from tacker_k8s_cr.model.errors.base import ClusterError
from tacker_k8s_cr.model.errors.base import Error
from tacker_k8s_cr.model.errors.connection import TokenRequestFailed
from tacker_k8s_cr.model.errors.connection import Unauthenticated
from tacker_k8s_cr.model.errors.connection import Unavailable
from tacker_k8s_cr.model.errors.connection import Unreachable
from tacker_k8s_cr.model.errors.credentials import DeliveryFailed
from tacker_k8s_cr.model.errors.credentials import KubeconfigInvalid
from tacker_k8s_cr.model.errors.instances import AttemptUnverified
from tacker_k8s_cr.model.errors.instances import HandlerFailed
from tacker_k8s_cr.model.errors.instances import InstanceConflict
from tacker_k8s_cr.model.errors.instances import InstanceElsewhere
from tacker_k8s_cr.model.errors.instances import InstanceExists
from tacker_k8s_cr.model.errors.instances import InstanceNotFound
from tacker_k8s_cr.model.errors.instances import InstanceStateConflict
from tacker_k8s_cr.model.errors.instances import LockLost
from tacker_k8s_cr.model.errors.instances import OperationInProgress
from tacker_k8s_cr.model.errors.instances import PluginInvalid
from tacker_k8s_cr.model.errors.instances import PreviousPackageMissing
from tacker_k8s_cr.model.errors.instances import RecordInvalid
from tacker_k8s_cr.model.errors.instances import RecordMissing
from tacker_k8s_cr.model.errors.missing_dependencies import DependencyMissing
from tacker_k8s_cr.model.errors.missing_dependencies import Outlook
from tacker_k8s_cr.model.errors.permissions import Forbidden
from tacker_k8s_cr.model.errors.permissions import PermissionsMissing
from tacker_k8s_cr.model.errors.problems import Problem
from tacker_k8s_cr.model.errors.rejections import Conflict
from tacker_k8s_cr.model.errors.rejections import DryRunFailed
from tacker_k8s_cr.model.errors.rejections import FieldConflict
from tacker_k8s_cr.model.errors.rejections import Rejected
from tacker_k8s_cr.model.errors.request import NOT_RESTORED
from tacker_k8s_cr.model.errors.request import AutoscalerConflict
from tacker_k8s_cr.model.errors.request import ForeignObjects
from tacker_k8s_cr.model.errors.request import KindNotServed
from tacker_k8s_cr.model.errors.request import MachineSelectionInvalid
from tacker_k8s_cr.model.errors.request import NamespaceNotFound
from tacker_k8s_cr.model.errors.request import NotHealable
from tacker_k8s_cr.model.errors.request import NotScalable
from tacker_k8s_cr.model.errors.request import NotSupported
from tacker_k8s_cr.model.errors.request import OwnedByOther
from tacker_k8s_cr.model.errors.request import PackageInvalid
from tacker_k8s_cr.model.errors.request import RequestInvalid
from tacker_k8s_cr.model.errors.request import RetentionImpossible
from tacker_k8s_cr.model.errors.request import RollbackIncomplete
from tacker_k8s_cr.model.errors.request import RolloutRefused
from tacker_k8s_cr.model.errors.results import CleanupFailed
from tacker_k8s_cr.model.errors.results import DeletionTimeout
from tacker_k8s_cr.model.errors.results import ObjectsFailed
from tacker_k8s_cr.model.errors.results import PendingObject
from tacker_k8s_cr.model.errors.results import ReadinessTimeout

__all__ = [
    "NOT_RESTORED",
    "AttemptUnverified",
    "AutoscalerConflict",
    "CleanupFailed",
    "ClusterError",
    "Conflict",
    "DeletionTimeout",
    "DeliveryFailed",
    "DependencyMissing",
    "DryRunFailed",
    "Error",
    "FieldConflict",
    "Forbidden",
    "ForeignObjects",
    "HandlerFailed",
    "InstanceConflict",
    "InstanceElsewhere",
    "InstanceExists",
    "InstanceNotFound",
    "InstanceStateConflict",
    "KindNotServed",
    "KubeconfigInvalid",
    "LockLost",
    "MachineSelectionInvalid",
    "NamespaceNotFound",
    "NotHealable",
    "NotScalable",
    "NotSupported",
    "ObjectsFailed",
    "OperationInProgress",
    "Outlook",
    "OwnedByOther",
    "PackageInvalid",
    "PendingObject",
    "PermissionsMissing",
    "PluginInvalid",
    "PreviousPackageMissing",
    "Problem",
    "ReadinessTimeout",
    "RecordInvalid",
    "RecordMissing",
    "Rejected",
    "RequestInvalid",
    "RetentionImpossible",
    "RollbackIncomplete",
    "RolloutRefused",
    "TokenRequestFailed",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
]
