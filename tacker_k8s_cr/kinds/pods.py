"""What runs once, or again and again: pods and the jobs that make them."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import FOREGROUND
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Verdict

POD = GroupKind("", "Pod")

IMAGE_ERRORS = ("ErrImagePull", "ImagePullBackOff")
"""A kubelet shows these two in turn for one trouble: it tries, then waits."""

CONTAINER_ERRORS = (
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ImageInspectError",
    "InvalidImageName",
    "RunContainerError",
)
"""Other reasons for which a kubelet keeps a container waiting and retries."""

MIN_CRASHES = 2
"""Restarts after which a container that is not ready counts as crashing.

While it runs between two crashes, nothing else distinguishes it from one
that has just started.
"""


def pod(obj: Manifest) -> Verdict:
    if verdict := base.common_verdict(obj):
        return verdict
    phase = fields.text(obj, ("status", "phase"))
    if phase == "Succeeded":
        return base.current("Succeeded")
    if phase == "Failed":
        return base.failed(_failure(obj))
    found = fields.conditions(obj)
    ready = found.get("Ready")
    if (
        phase == "Running"
        and ready
        and ready.is_true
        and not ready.is_outdated(obj)
    ):
        return base.current("Ready")
    if trouble := _container_error(obj):
        return trouble
    scheduled = found.get("PodScheduled")
    if scheduled and not scheduled.is_true:
        return base.in_progress(str(scheduled))
    if ready:
        return base.in_progress(f"phase {phase}; {ready}")
    return base.in_progress(f"phase {phase}" if phase else "no phase yet")


def _failure(obj: Manifest) -> str:
    reason = fields.text(obj, ("status", "reason"))
    message = fields.one_line(fields.text(obj, ("status", "message")))
    if reason or message:
        return ": ".join(part for part in ("Failed", reason, message) if part)
    for container in _containers(obj):
        ended = fields.mapping(container, ("state", "terminated"))
        if code := fields.number(ended, ("exitCode",)):
            name = fields.text(container, ("name",))
            return f"Failed: container {name} ended with exit code {code}"
    return "Failed"


def _containers(obj: Manifest) -> tuple[Mapping[str, object], ...]:
    return fields.mappings(
        obj, ("status", "initContainerStatuses")
    ) + fields.mappings(obj, ("status", "containerStatuses"))


def _container_error(obj: Manifest) -> Verdict | None:
    """Return the error of the first container that its kubelet cannot run."""
    for container in _containers(obj):
        waiting = fields.mapping(container, ("state", "waiting"))
        reason = fields.text(waiting, ("reason",))
        message = fields.one_line(fields.text(waiting, ("message",)))
        name = f"container {fields.text(container, ('name',))}"
        error = ": ".join(part for part in (name, reason, message) if part)
        if reason in IMAGE_ERRORS:
            return base.in_progress(error, "ContainersReady/ImagePullBackOff")
        if reason in CONTAINER_ERRORS:
            return base.in_progress(error, f"ContainersReady/{reason}")
        restarts = fields.number(container, ("restartCount",)) or 0
        ready = fields.is_true(container, ("ready",))
        ended = fields.mapping(container, ("lastState", "terminated"))
        code = fields.number(ended, ("exitCode",)) or 0
        crashing = not ready and code != 0 and restarts >= MIN_CRASHES
        if reason == "CrashLoopBackOff" or crashing:
            return base.in_progress(
                f"{name} crashes: exit code {code}, {restarts} restart(s)",
                "ContainersReady/CrashLoopBackOff",
            )
    return None


def job(obj: Manifest) -> Verdict:
    """Current when it is complete, or asked not to run."""
    if verdict := base.common_verdict(obj):
        return verdict
    found = fields.conditions(obj)
    if bad := fields.first_with_status(
        found, ("Failed", "FailureTarget"), "True"
    ):
        return base.failed(str(bad))
    if fields.first_with_status(found, ("Complete",), "True"):
        done = fields.number(obj, ("status", "succeeded")) or 0
        return base.current(f"Complete, {done} pod(s) succeeded")
    if fields.is_true(obj, ("spec", "suspend")):
        return base.current("suspended, as its spec asks")
    if fields.number(obj, ("spec", "parallelism")) == 0:
        return base.current("runs nothing: parallelism is 0")
    active = fields.number(obj, ("status", "active")) or 0
    bad_pods = fields.number(obj, ("status", "failed")) or 0
    return base.in_progress(
        f"not Complete yet, {active} pod(s) active, {bad_pods} failed"
    )


def cron_job(obj: Manifest) -> Verdict:
    """Current once stored: what it makes is judged when the time comes."""
    if verdict := base.common_verdict(obj):
        return verdict
    schedule = fields.text(obj, ("spec", "schedule"))
    if fields.is_true(obj, ("spec", "suspend")):
        return base.current("suspended, as its spec asks")
    return base.current(f"scheduled at {schedule}")


def _pods(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    return fields.selected_children(POD, obj, ("spec", "selector"))


JOB = GroupKind("batch", "Job")


def _time_to_live(obj: Manifest) -> float | None:
    """Return the seconds after which a Job that has ended is deleted."""
    return fields.number(obj, ("spec", "ttlSecondsAfterFinished"))


def _jobs(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    """A CronJob's Jobs have no common label, only owner references."""
    return ((JOB, ""),)


HANDLERS: Mapping[GroupKind, Handler] = {
    POD: Handler(pod, ApplyOrder.WORKLOAD),
    # Its spec defines how many seconds it is kept after it finishes.
    JOB: Handler(
        job,
        ApplyOrder.WORKLOAD,
        child_selectors=_pods,
        ephemeral=True,
        propagation=FOREGROUND,
        time_to_live=_time_to_live,
    ),
    GroupKind("batch", "CronJob"): Handler(
        cron_job,
        ApplyOrder.WORKLOAD,
        child_selectors=_jobs,
        propagation=FOREGROUND,
    ),
}
