"""Finalizers of an object that is asked to go, and whether they will go."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import enum

from tacker_k8s_cr.objects import ObjectRef


class Remover(enum.Enum):
    """What is known of the controller that removes a finalizer."""

    RUNS = "it runs"
    AWAY = "it does not run"
    NONE = "there is none"
    UNKNOWN = "nothing is known of it"


@dataclasses.dataclass(frozen=True)
class Hold:
    """One finalizer.

    :param said: who removes it, in words.
    """

    finalizer: str
    said: str
    remover: Remover

    @property
    def stays(self) -> bool:
        """Whether it stays for as long as the cluster is as it is."""
        return self.remover in (Remover.AWAY, Remover.NONE)

    def __str__(self) -> str:
        return f"finalizer {self.finalizer}: {self.said}"


def notes(ref: ObjectRef, holds: Iterable[Hold]) -> Iterator[str]:
    """A line for each finalizer, and one on how to do without."""
    found = tuple(holds)
    yield from map(str, found)
    if any(hold.remover is not Remover.RUNS for hold in found):
        yield remedy(ref)


def remedy(ref: ObjectRef) -> str:
    """How an object goes that nothing else lets go."""
    return (
        "to delete it without its controller, terminate again with "
        f"--remove-finalizers {ref} (remove_finalizers of a request); what "
        "the controller would have cleaned up is left behind"
    )
