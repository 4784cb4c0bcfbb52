"""What a stage has not written yet: told, and given up where that is right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import logging

from tacker_k8s_cr import errors
from tacker_k8s_cr import retries
from tacker_k8s_cr import views
from tacker_k8s_cr.applying.apply import Unwritten
from tacker_k8s_cr.causes import explain
from tacker_k8s_cr.errors import NotYet
from tacker_k8s_cr.errors import Outlook
from tacker_k8s_cr.errors import Unsettled
from tacker_k8s_cr.lcm.operation import Operation
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.objects import State
from tacker_k8s_cr.objects import Verdict
from tacker_k8s_cr.planning.plan import Apply

LOG = logging.getLogger(__name__)

NAMED = 5
"""Objects that a line of the log names."""

NEXT = {
    Outlook.DOUBTFUL: "look whether the caBundle of the webhook and the "
    "certificate of its server fit each other, then run the operation again",
    Outlook.NONE: "give the server of the webhook a certificate for the name "
    "that its configuration calls, then run the operation again",
}
"""What a person can do about a webhook that cannot be called."""


class Retrying:
    """Follows what a stage has left, round by round."""

    def __init__(self, op: Operation, steps: Iterable[Apply]):
        self._op = op
        self._stall = {step.ref: _stall(op, step) for step in steps}
        self._logged: set[str] = set()

    def take(self, unwritten: Unwritten) -> None:
        """Tell what a round has left. Raises Failed when that is the end.

        A webhook whose certificate is for another name has no stall timeout
        when nothing is on its way that could bring another one.
        """
        op = self._op
        now = op.deadline.now
        still = len(op.progress.hopeless(now)) == op.progress.left
        stall = {
            ref: 0.0
            if still and error.outlook is Outlook.NONE
            else self._stall[ref]
            for ref, error in unwritten.refused.items()
        }
        found = retries.updated(
            op.progress.unwritten,
            unwritten.refused,
            unwritten.held,
            now,
            op.deadline.at,
            stall,
        )
        op.listen(dataclasses.replace(op.progress, unwritten=found))
        self._log(unwritten.refused)
        over = retries.hopeless(found, now)
        if op.progress.patient:
            rest = found.keys() - unwritten.held.keys() - set(over)
            over = () if rest or not still else over
        if over:
            raise self._failed(over, unwritten.refused)

    def end(self) -> None:
        """All is written."""
        op = self._op
        if op.progress.unwritten:
            op.listen(dataclasses.replace(op.progress, unwritten={}))

    def late(self, cause: NotYet) -> None:
        """Name what is not current in time, too: the rest may wait for it.

        Raises NotReady or Failed if there is any.
        """
        if self._op.progress.settled:
            return
        try:
            self._op.wait()
        except (errors.NotReady, errors.Failed) as error:
            error.unwritten = cause.unwritten
            raise

    def _log(self, refused: Mapping[ObjectRef, NotYet]) -> None:
        """One line for each reason, when it is new."""
        op = self._op
        groups: dict[str, list[NotYet]] = defaultdict(list)
        for error in refused.values():
            groups[f"{error.hook or error.why} {error.outlook}"].append(error)
        for reason, some in groups.items():
            if reason not in self._logged:
                retry = op.progress.unwritten[some[0].ref]
                LOG.info(
                    "%s: %s: not written yet, %s: %s",
                    op.instance,
                    _named([error.ref for error in some]),
                    _until(op, retry),
                    some[0].why,
                )
        self._logged = set(groups)

    def _failed(
        self, over: Iterable[ObjectRef], refused: Mapping[ObjectRef, NotYet]
    ) -> errors.Failed:
        op = self._op
        now = op.deadline.now
        items = []
        for ref in over:
            error = refused[ref]
            state = State.BLOCKED
            if error.outlook is Outlook.NONE:
                state = State.FAILED
            verdict = Verdict(state, f"not written: {error.why}")
            age = now - op.progress.unwritten[ref].since
            notes = (NEXT[error.outlook],)
            items.append(Unsettled(ref, verdict, age, notes))
        rest = [
            Unsettled(
                ref,
                op.progress.verdict(ref, now),
                now - op.progress.awaited[ref].since,
            )
            for ref in op.progress.unsettled
        ]
        explained = explain.explained(op.cluster, op.registry, rest)
        return errors.Failed((*items, *explained), now - op.begun)


def _stall(op: Operation, step: Apply) -> float:
    own = views.dwell(step.manifest)
    return op.options.dwell if own is None else own


def _until(op: Operation, retry: retries.Retry) -> str:
    now = op.deadline.now
    end = retries.ending(retry.until, now, op.deadline.today)
    return f"retrying until {end} ({retry.limit})" if end else "retrying"


def _named(refs: Iterable[ObjectRef]) -> str:
    listed = sorted(refs)
    named = ", ".join(map(str, listed[:NAMED]))
    more = len(listed) - NAMED
    return f"{named} and {more} more" if more > 0 else named
