"""Objects that are not written yet, why, and the end of the attempts."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import datetime

from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import Outlook
from tacker_k8s_cr.model.objects import ObjectRef

DEADLINE = "deadline"
STALL = "stall timeout"
"""What ends the attempts."""

LINES = 3
"""Maximum number of reasons shown."""


@dataclasses.dataclass(frozen=True)
class Retry:
    """An object that is not written yet.

    :param why: in a few words.
    :param since: when this first was the reason.
    :param until: when the attempts end; both on the clock of the
        operation's deadline.
    :param limit: what ends them: ``deadline`` or ``stall timeout``.
    :param error: the last answer of the server; None for an object that
        waits for another one and was not sent.
    """

    why: str
    since: float
    until: float
    limit: str = DEADLINE
    error: DependencyMissing | None = dataclasses.field(
        default=None, repr=False
    )

    def is_expired(self, now: float) -> bool:
        """Return whether the stall timeout has ended the attempts."""
        return self.limit == STALL and now >= self.until


Retries = Mapping[ObjectRef, Retry]


def update(
    last: Retries,
    refused: Mapping[ObjectRef, DependencyMissing],
    held: Mapping[ObjectRef, str],
    now: float,
    deadline: float,
    stall: Mapping[ObjectRef, float],
) -> dict[ObjectRef, Retry]:
    """Return what is not written after one more round of attempts.

    The stall timeout counts from the first answer of its kind: a webhook
    that was unavailable, and then is not trusted, gets the full time.

    :param refused: what the server did not accept yet.
    :param held: objects that were not sent, with the reason.
    :param stall: seconds of the stall timeout; 0 if no retry can help.
    """
    found = {
        ref: Retry(
            why,
            last[ref].since if ref in last else now,
            deadline,
        )
        for ref, why in held.items()
    }
    for ref, error in refused.items():
        before = last.get(ref)
        same = (
            before is not None
            and before.error is not None
            and before.error.outlook is error.outlook
        )
        since = before.since if before is not None and same else now
        until, limit = deadline, DEADLINE
        if error.outlook is not Outlook.OPEN:
            until, limit = min(deadline, since + stall[ref]), STALL
        found[ref] = Retry(error.brief, since, until, limit, error)
    return found


def find_expired(retries: Retries, now: float) -> tuple[ObjectRef, ...]:
    """Return the objects for which no more attempt is made."""
    return tuple(
        ref for ref, retry in retries.items() if retry.is_expired(now)
    )


def format_count(done: int, written: int, goal: str, retries: Retries) -> str:
    """Return how many objects have reached the goal, and how many wait."""
    count = f"{done} of {written + len(retries)} {goal}"
    return f"{count}; {len(retries)} not written yet" if retries else count


def format_reasons(
    retries: Retries, now: float, clock: datetime.datetime
) -> Iterator[str]:
    """Yield one line for each reason, that of the most objects first.

    :param now: the current time on the clock of the retries.
    :param clock: the current time of day.
    """
    groups: dict[tuple[str, str, bool], list[Retry]] = {}
    for retry in retries.values():
        key = (retry.why, retry.limit, retry.error is None)
        groups.setdefault(key, []).append(retry)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    for (why, limit, held), some in ordered[:LINES]:
        verb = "waiting" if held else "retrying"
        end = format_time(min(retry.until for retry in some), now, clock)
        until = f" until {end} ({limit})" if end else ""
        yield f"{len(some)} not written yet: {why}; {verb}{until}"
    if len(ordered) > LINES:
        rest = sum(len(some) for _, some in ordered[LINES:])
        yield f"{rest} not written yet for other reasons"


def format_time(until: float, now: float, clock: datetime.datetime) -> str:
    """Return a time as time of day; empty for one that is never reached."""
    when = to_datetime(until, now, clock)
    if when is None:
        return ""
    days = f"{when:%Y-%m-%d} " if when.date() != clock.date() else ""
    return f"{days}{when:%H:%M:%S}"


def to_datetime(
    until: float, now: float, clock: datetime.datetime
) -> datetime.datetime | None:
    """Convert a time of the deadline's clock to a date and time.

    It is rounded, so that repeated computations agree. None for a time that
    is never reached.
    """
    if until - now > _LONGEST:
        return None
    return clock + datetime.timedelta(seconds=until - now + 0.5)


_LONGEST = 10 * 365 * 86400.0
"""Seconds; later times count as never."""
