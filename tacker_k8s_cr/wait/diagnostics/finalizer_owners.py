"""Controllers that must remove an object's finalizers, and their health."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib

from tacker_k8s_cr.engine import owner_references
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.wait.diagnostics import blocking_finalizers
from tacker_k8s_cr.wait.diagnostics.blocking_finalizers import Remover
from tacker_k8s_cr.wait.diagnostics.controllers import COMMON_NAMES
from tacker_k8s_cr.wait.diagnostics.controllers import Controllers

FOREGROUND = "foregroundDeletion"

BUILT_IN_FINALIZERS = {
    FOREGROUND: "the garbage collector removes it when all dependents "
    "are deleted",
    "orphan": "the garbage collector removes it when all dependents are "
    "orphaned",
    "kubernetes.io/pvc-protection": "Kubernetes removes it when no Pod on a "
    "node uses the claim",
    "kubernetes.io/pv-protection": "Kubernetes removes it when the volume is "
    "not bound to a claim",
    "service.kubernetes.io/load-balancer-cleanup": "the controller of the "
    "cloud's load balancers removes it",
    "batch.kubernetes.io/job-tracking": "the controller of Jobs removes it",
    "customresourcecleanup.apiextensions.k8s.io": "the API server removes it "
    "when no object of the kind exists",
}
"""Finalizers of Kubernetes: which component removes them, and when."""


class FinalizerDiagnosis:
    """Finds the controllers of finalizers; reads the cluster once.

    :param include_bare_pods: also consider Pods that no workload created.
    """

    def __init__(self, cluster: Cluster, include_bare_pods: bool = False):
        self._cluster = cluster
        self._controllers = Controllers(cluster, include_bare_pods)

    def describe(self, obj: Manifest) -> Iterator[str]:
        """Yield for each finalizer its controller, and whether that runs."""
        ref = ObjectRef.of(obj)
        for name in objects.field(obj, ("metadata", "finalizers"), ()):
            if name in BUILT_IN_FINALIZERS:
                yield f"finalizer {name}: {BUILT_IN_FINALIZERS[name]}"
                if name == FOREGROUND:
                    yield from self._describe_dependents(obj)
        yield from blocking_finalizers.describe(ref, self.find_blocking(obj))

    def find_blocking(
        self, obj: Manifest
    ) -> Iterator[blocking_finalizers.BlockingFinalizer]:
        """Yield the finalizers that are not Kubernetes' own."""
        ref = ObjectRef.of(obj)
        for name in objects.field(obj, ("metadata", "finalizers"), ()):
            if name in BUILT_IN_FINALIZERS:
                continue
            managers = finalizer_managers(obj, name)
            names = {*managers, name.rpartition("/")[2]} - COMMON_NAMES
            workloads = list(self._controllers.find(ref, names))
            states = [
                self._controllers.describe_state(workload)
                for workload in workloads
            ]
            runs = any(remover is Remover.RUNNING for _, remover in states)
            for state, _ in states:
                # It is sufficient if one of several runs.
                remover = Remover.RUNNING if runs else Remover.DOWN
                yield blocking_finalizers.BlockingFinalizer(
                    name, state, remover
                )
            if not workloads:
                yield self._describe_missing(obj, name, managers)

    def _describe_missing(
        self, obj: Manifest, name: str, managers: list[str]
    ) -> blocking_finalizers.BlockingFinalizer:
        """Return a finalizer whose controller was not found."""
        if self._controllers.is_incomplete:
            unknown = (
                "cannot tell whether its controller runs: the workloads or "
                "roles of the cluster could not be listed"
            )
            return blocking_finalizers.BlockingFinalizer(
                name, unknown, Remover.UNKNOWN
            )
        remover = Remover.MISSING
        if managers and _is_built_in(GroupKind.of(obj)):
            # A finalizer that a cloud adds to built-in kinds, such as
            # Services, is often removed from outside the cluster.
            remover = Remover.UNKNOWN
        names = {*managers, name.rpartition("/")[2]} - COMMON_NAMES
        if _have_written_since_deletion(
            obj, managers
        ) or self._controllers.has_renewed_lease(names):
            remover = Remover.UNKNOWN
        return blocking_finalizers.BlockingFinalizer(
            name, _describe_unknown(obj, managers), remover
        )

    def _describe_dependents(self, obj: Manifest) -> Iterator[str]:
        """Yield dependents that are to be deleted before the object is."""
        namespace = ObjectRef.of(obj).namespace
        kinds = [
            resource.group_kind
            for resource in self._cluster.resources()
            if {"list", "delete"} <= resource.verbs
            and (resource.namespaced or not namespace)
        ]
        listed = self._cluster.map_parallel(
            lambda kind: tuple(self._cluster.list_metadata(kind, namespace)),
            kinds,
        )
        with contextlib.closing(listed) as outcomes:
            for _, found in outcomes:
                for child in () if isinstance(found, errors.Error) else found:
                    if objects.uid(obj) in owner_references.owners(child):
                        yield _describe_dependent(child)


# -- From the object alone ---------------------------------------------------


def finalizer_managers(obj: Manifest, finalizer: str) -> list[str]:
    """Return the field managers that have set a finalizer."""
    path = ("f:metadata", "f:finalizers", f'v:"{finalizer}"')
    return [
        str(entry.get("manager"))
        for entry in objects.field(obj, ("metadata", "managedFields"), ())
        if objects.field(entry.get("fieldsV1"), path) is not None
        and not str(entry.get("manager")).startswith(objects.MANAGER)
    ]


def _have_written_since_deletion(obj: Manifest, managers: list[str]) -> bool:
    """Return whether one of these wrote after the deletion was requested."""
    since = str(objects.field(obj, ("metadata", "deletionTimestamp"), ""))
    entries = objects.field(obj, ("metadata", "managedFields"), ())
    return any(
        entry.get("manager") in managers and str(entry.get("time", "")) > since
        for entry in entries
    )


def _is_built_in(kind: GroupKind) -> bool:
    """Return whether a kind is from Kubernetes or one of its projects."""
    return "." not in kind.group or kind.group.endswith(".k8s.io")


def _describe_dependent(child: Manifest) -> str:
    names = objects.field(child, ("metadata", "finalizers"), ())
    blocked = f", held by {', '.join(names)}" if names else ""
    return f"it owns {ObjectRef.of(child)}, which still exists{blocked}"


def _describe_unknown(obj: Manifest, managers: list[str]) -> str:
    if not managers:
        return (
            "no workload in this cluster is known to remove it: the manifest "
            "sets it, or its controller is not installed"
        )
    entries = objects.field(obj, ("metadata", "managedFields"), ())
    times = [
        str(entry["time"])
        for entry in entries
        if entry.get("manager") in managers and "time" in entry
    ]
    last = f", which last wrote to the object at {max(times)}" if times else ""
    return (
        f"set by {', '.join(sorted(set(managers)))}{last}; no workload of "
        "this cluster is known by that name"
    )


def deletion_conditions(obj: Manifest) -> Iterator[str]:
    """Yield the conditions by which an object reports on its deletion."""
    if objects.field(obj, ("spec", "paused")) is True or objects.field(
        obj, ("metadata", "annotations", "cluster.x-k8s.io/paused")
    ):
        yield "it is paused: its controllers do not reconcile it"
    is_relevant: Callable[[str, str], bool] = _reports_failure
    if GroupKind.of(obj) == placement.NAMESPACE:
        is_relevant = _reports_remaining
    conditions = objects.conditions(obj).items()
    for name, condition in conditions:
        status, message = (
            str(condition.get("status")),
            condition.get("message"),
        )
        if message and is_relevant(name, status):
            yield f"{name} is {status}: {message}"


def _reports_remaining(name: str, status: str) -> bool:
    return name.startswith("Namespace") and status == "True"


def _reports_failure(name: str, status: str) -> bool:
    if name in ("Deleting", "Stalled", "Failed", "Degraded"):
        return status == "True"
    return name in ("Ready", "Synced", "Reconciled") and status == "False"
