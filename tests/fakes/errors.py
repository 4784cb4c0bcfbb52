"""One real instance of every error, for tests that go over all of them."""

from __future__ import annotations

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

WEB = ObjectRef("apps", "Deployment", "edge", "web")
_PENDING = errors.PendingObject(
    WEB, Verdict(State.IN_PROGRESS, "0/1 available"), 9.0
)
_SERVER = "https://192.0.2.1:6443"
_REJECTED = errors.Rejected(WEB, 422, "Invalid", "spec.replicas: Invalid")

ROOTS = (errors.Error, errors.ClusterError, errors.InstanceConflict)
"""Classes that are only caught."""

ONE_OF_EACH: tuple[errors.Error, ...] = (
    errors.AttemptUnverified("one", "namespace edge of VIM a", "no answer"),
    errors.AutoscalerConflict(WEB, "its replicas are managed by Cluster/a"),
    errors.CleanupFailed(WEB, "it has no kubeconfig"),
    errors.Conflict(WEB, "the object has been modified"),
    errors.DeletionTimeout([_PENDING], 60.0),
    errors.DeliveryFailed("https://receiver", 0, "no answer in time"),
    errors.DependencyMissing(WEB, "namespace edge not found"),
    errors.DryRunFailed([_REJECTED]),
    errors.FieldConflict(WEB, {".spec.replicas": "kubectl"}),
    errors.Forbidden("get", "secrets", "edge", "forbidden"),
    errors.ForeignObjects({WEB: "it is in Namespace/edge"}),
    errors.HandlerFailed("media", WEB, "assess raised KeyError"),
    errors.InstanceElsewhere("one", "namespace a", "namespace b"),
    errors.InstanceExists("one", "instantiated"),
    errors.InstanceNotFound("one", "edge"),
    errors.InstanceStateConflict("one", "terminating", ["instantiated"]),
    errors.KindNotServed(GroupKind("example.org", "Router"), "v1"),
    errors.KubeconfigInvalid("Secret/edge/kubeconfig", "it has no key value"),
    errors.LockLost("one", "not renewed for 16 s"),
    errors.MachineSelectionInvalid(WEB, "m-1: not Machines of it"),
    errors.NamespaceNotFound({"edge": ["a.yaml"]}, "edge"),
    errors.NotHealable({WEB: "no controller recreates it"}),
    errors.NotScalable(WEB, "has no replica count"),
    errors.NotSupported("scale", "one", ["heal"], WEB),
    errors.ObjectsFailed([_PENDING], 60.0),
    errors.OperationInProgress("one", "conductor-1"),
    errors.OwnedByOther({WEB: "a Helm release"}),
    errors.PackageInvalid([errors.Problem("a.yaml", "missing kind")]),
    errors.PermissionsMissing(_SERVER, ["get secrets"]),
    errors.PluginInvalid("media", "it cannot be loaded"),
    errors.PreviousPackageMissing("one"),
    errors.ReadinessTimeout([_PENDING], 60.0),
    errors.RecordInvalid("one", "it is damaged"),
    errors.RecordMissing("one", [WEB]),
    _REJECTED,
    errors.RequestInvalid("level: expected 0 to 3, got 4"),
    errors.RetentionImpossible({WEB: WEB}),
    errors.RollbackIncomplete({WEB: "it belongs to another instance"}),
    errors.RolloutRefused({WEB: "spec.version"}),
    errors.TokenRequestFailed(_SERVER, "invalid_grant"),
    errors.Unauthenticated(_SERVER),
    errors.Unavailable("get /version", 503, "busy"),
    errors.Unreachable(_SERVER, "Connection refused"),
)

VARIANTS: tuple[errors.Error, ...] = (
    errors.AutoscalerConflict(
        WEB, "an autoscaler keeps it", is_adjustable=True
    ),
    errors.DeliveryFailed("https://receiver", 301, "it points elsewhere"),
    errors.DeliveryFailed("https://receiver", 401, "who are you"),
    errors.DeliveryFailed("https://receiver", 500, "no"),
    errors.DependencyMissing(
        WEB, "no answer", webhook="conversion webhook of Router.example.org"
    ),
    errors.DependencyMissing(WEB, "not found", missing=("Namespace", "edge")),
    errors.DryRunFailed([errors.Unreachable(_SERVER, "no answer")]),
    errors.KindNotServed(GroupKind("apps", "Deployment"), "v1beta1", ["v1"]),
    errors.NamespaceNotFound({"edge": ["a.yaml"]}),
    errors.OperationInProgress("one"),
    errors.PermissionsMissing(
        _SERVER, ["delete pods"], "Grant them, or retain the claims"
    ),
    errors.Rejected(WEB, 403, "Forbidden", "denied", by_admission=True),
    errors.TokenRequestFailed(
        _SERVER, "its certificate is not trusted: self-signed"
    ),
    errors.Unavailable.not_sent("get /version"),
    errors.Unreachable(_SERVER, "its certificate is not trusted: expired"),
)
"""Errors whose next step depends on their fields."""
