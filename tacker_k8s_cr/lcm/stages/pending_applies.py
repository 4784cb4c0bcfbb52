"""Report the objects of a stage that are not written yet, or give up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr.engine.apply import Unwritten
from tacker_k8s_cr.kinds import observation
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import retries
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import Outlook
from tacker_k8s_cr.model.errors import PendingObject
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.plan.steps import Apply
from tacker_k8s_cr.wait.diagnostics import explain

LOG = logging.getLogger(__name__)

MAX_NAMED = 5
"""Maximum number of objects named in a log line."""

ADVICE = {
    Outlook.DOUBTFUL: "check that the caBundle of the webhook matches the "
    "certificate of its server, then run the operation again",
    Outlook.NONE: "replace the certificate of the webhook's server by one for "
    "the name in the webhook's configuration, then run the operation again",
}
"""Advice about a webhook that cannot be called."""


class PendingApplies:
    """Follows the applies of a stage that are still to be done."""

    def __init__(self, op: Session, steps: Iterable[Apply]):
        self._op = op
        self._stall = {step.ref: _stall(op, step) for step in steps}
        self._logged: set[str] = set()

    def update(self, unwritten: Unwritten) -> None:
        """Report what a round has not written, or give up with ObjectsFailed.

        The stall timeout does not apply to a webhook whose certificate is for
        another name if no other object can still change the certificate.
        """
        op = self._op
        now = op.deadline.now
        settled = (
            len(op.progress.failed_objects(now)) == op.progress.unsettled_count
        )
        is_last = settled and all(
            error.outlook is Outlook.NONE
            for error in unwritten.refused.values()
        )
        stall = {
            ref: 0.0
            if is_last and error.outlook is Outlook.NONE
            else self._stall[ref]
            for ref, error in unwritten.refused.items()
        }
        found = retries.update(
            op.progress.unwritten,
            unwritten.refused,
            unwritten.held,
            now,
            op.deadline.at,
            stall,
        )
        op.on_progress(dataclasses.replace(op.progress, unwritten=found))
        self._log(unwritten.refused)
        expired = retries.find_expired(found, now)
        if op.progress.wait_all:
            pending = found.keys() - unwritten.held.keys() - set(expired)
            expired = () if pending or not settled else expired
        if expired:
            raise self._failed(expired, unwritten.refused)

    def clear(self) -> None:
        """Report that all objects are written."""
        op = self._op
        if op.progress.unwritten:
            op.on_progress(dataclasses.replace(op.progress, unwritten={}))

    def raise_not_current(self, cause: DependencyMissing) -> None:
        """Raise an error if objects are not current at the deadline.

        The unwritten objects may wait for them, so both are in one error.

        :raises ReadinessTimeout, ObjectsFailed: as at the end of a wait.
        """
        if self._op.progress.is_settled:
            return
        try:
            self._op.wait()
        except (errors.ReadinessTimeout, errors.ObjectsFailed) as error:
            error.unwritten = cause.unwritten
            raise

    def _log(self, refused: Mapping[ObjectRef, DependencyMissing]) -> None:
        """Log one line for each reason, when it is new."""
        op = self._op
        groups: dict[str, list[ObjectRef]] = defaultdict(list)
        for ref, error in refused.items():
            groups[f"{error.webhook or error.why} {error.outlook}"].append(ref)
        for reason, refs in groups.items():
            if reason not in self._logged:
                LOG.info(
                    "%s: %s: not written yet, %s: %s",
                    op.instance,
                    _list(refs),
                    _format_end(op, op.progress.unwritten[refs[0]]),
                    refused[refs[0]].why,
                )
        self._logged = set(groups)

    def _failed(
        self,
        expired: Iterable[ObjectRef],
        refused: Mapping[ObjectRef, DependencyMissing],
    ) -> errors.ObjectsFailed:
        op = self._op
        now = op.deadline.now
        items = []
        for ref in expired:
            error = refused[ref]
            state = State.BLOCKED
            if error.outlook is Outlook.NONE:
                state = State.FAILED
            verdict = Verdict(state, f"not written: {error.why}")
            age = now - op.progress.unwritten[ref].since
            notes = (ADVICE[error.outlook],)
            items.append(PendingObject(ref, verdict, age, notes))
        pending = [
            PendingObject(
                ref,
                op.progress.verdict(ref, now),
                now - op.progress.awaited[ref].since,
            )
            for ref in op.progress.unsettled
        ]
        explained = explain.with_explanations(op.cluster, op.registry, pending)
        return errors.ObjectsFailed((*items, *explained), now - op.begun)


def _stall(op: Session, step: Apply) -> float:
    handler = op.registry.handler_for(step.ref)
    own_timeout = observation.stall_timeout(step.manifest, handler)
    return op.options.stall_timeout if own_timeout is None else own_timeout


def _format_end(op: Session, retry: retries.Retry) -> str:
    now = op.deadline.now
    end = retries.format_time(retry.until, now, op.deadline.local_time)
    return f"retrying until {end} ({retry.limit})" if end else "retrying"


def _list(refs: Iterable[ObjectRef]) -> str:
    ordered = sorted(refs)
    named = ", ".join(map(str, ordered[:MAX_NAMED]))
    omitted = len(ordered) - MAX_NAMED
    return f"{named} and {omitted} more" if omitted > 0 else named
