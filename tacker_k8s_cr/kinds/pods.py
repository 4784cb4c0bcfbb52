"""What runs once, or again and again: pods and the jobs that make them."""

from __future__ import annotations

from collections.abc import Mapping

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import reading
from tacker_k8s_cr.kinds.base import FOREGROUND
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Rank
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import Verdict

POD = GroupKind("", "Pod")

IMAGE = ("ErrImagePull", "ImagePullBackOff")
"""A kubelet shows these two in turn for one trouble: it tries, then waits."""

WRONG = (
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ImageInspectError",
    "InvalidImageName",
    "RunContainerError",
)
"""Other reasons for which a kubelet keeps a container waiting and retries."""

CRASHED = 2
"""Restarts after which a container that is not ready counts as crashing.

While it runs between two crashes, nothing else tells it from one that has
just started.
"""


def pod(obj: Manifest) -> Verdict:
    if verdict := base.shared(obj):
        return verdict
    phase = reading.text(obj, ("status", "phase"))
    if phase == "Succeeded":
        return base.current("Succeeded")
    if phase == "Failed":
        return base.failed(_failure(obj))
    found = reading.conditions(obj)
    ready = found.get("Ready")
    if phase == "Running" and ready and ready.true and not ready.behind(obj):
        return base.current("Ready")
    if trouble := _trouble(obj):
        return trouble
    scheduled = found.get("PodScheduled")
    if scheduled and not scheduled.true:
        return base.in_progress(str(scheduled))
    if ready:
        return base.in_progress(f"phase {phase}; {ready}")
    return base.in_progress(f"phase {phase}" if phase else "no phase yet")


def _failure(obj: Manifest) -> str:
    reason = reading.text(obj, ("status", "reason"))
    message = reading.one_line(reading.text(obj, ("status", "message")))
    if reason or message:
        return ": ".join(part for part in ("Failed", reason, message) if part)
    for container in _containers(obj):
        ended = reading.mapping(container, ("state", "terminated"))
        if code := reading.number(ended, ("exitCode",)):
            name = reading.text(container, ("name",))
            return f"Failed: container {name} ended with exit code {code}"
    return "Failed"


def _containers(obj: Manifest) -> tuple[Mapping[str, object], ...]:
    return reading.items(
        obj, ("status", "initContainerStatuses")
    ) + reading.items(obj, ("status", "containerStatuses"))


def _trouble(obj: Manifest) -> Verdict | None:
    """The first container that its kubelet tries in vain to run."""
    for container in _containers(obj):
        waiting = reading.mapping(container, ("state", "waiting"))
        reason = reading.text(waiting, ("reason",))
        message = reading.one_line(reading.text(waiting, ("message",)))
        name = f"container {reading.text(container, ('name',))}"
        told = ": ".join(part for part in (name, reason, message) if part)
        if reason in IMAGE:
            return base.in_progress(told, "ContainersReady/ImagePullBackOff")
        if reason in WRONG:
            return base.in_progress(told, f"ContainersReady/{reason}")
        restarts = reading.number(container, ("restartCount",)) or 0
        ready = reading.true(container, ("ready",))
        ended = reading.mapping(container, ("lastState", "terminated"))
        code = reading.number(ended, ("exitCode",)) or 0
        crashing = not ready and code != 0 and restarts >= CRASHED
        if reason == "CrashLoopBackOff" or crashing:
            return base.in_progress(
                f"{name} crashes: exit code {code}, {restarts} restart(s)",
                "ContainersReady/CrashLoopBackOff",
            )
    return None


def job(obj: Manifest) -> Verdict:
    """Current when it is complete, or asked not to run."""
    if verdict := base.shared(obj):
        return verdict
    found = reading.conditions(obj)
    if bad := reading.first(found, ("Failed", "FailureTarget"), "True"):
        return base.failed(str(bad))
    if reading.first(found, ("Complete",), "True"):
        done = reading.number(obj, ("status", "succeeded")) or 0
        return base.current(f"Complete, {done} pod(s) succeeded")
    if reading.true(obj, ("spec", "suspend")):
        return base.current("suspended, as its spec asks")
    if reading.number(obj, ("spec", "parallelism")) == 0:
        return base.current("runs nothing: parallelism is 0")
    active = reading.number(obj, ("status", "active")) or 0
    bad_pods = reading.number(obj, ("status", "failed")) or 0
    return base.in_progress(
        f"not Complete yet, {active} pod(s) active, {bad_pods} failed"
    )


def cron_job(obj: Manifest) -> Verdict:
    """Current once stored: what it makes is judged when the time comes."""
    if verdict := base.shared(obj):
        return verdict
    schedule = reading.text(obj, ("spec", "schedule"))
    if reading.true(obj, ("spec", "suspend")):
        return base.current("suspended, as its spec asks")
    return base.current(f"scheduled at {schedule}")


def _pods(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    return reading.selected(POD, obj, ("spec", "selector"))


JOB = GroupKind("batch", "Job")


def _jobs(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
    """No label tells a CronJob's Jobs: their owner references do."""
    return ((JOB, ""),)


HANDLERS: Mapping[GroupKind, Handler] = {
    POD: Handler(pod, Rank.WORKLOAD),
    # Its spec says how many seconds it stays when it is finished.
    JOB: Handler(
        job,
        Rank.WORKLOAD,
        made=_pods,
        fleeting=True,
        propagation=FOREGROUND,
    ),
    GroupKind("batch", "CronJob"): Handler(
        cron_job, Rank.WORKLOAD, made=_jobs, propagation=FOREGROUND
    ),
}
