"""Finalizers of an object that is being deleted, and their controllers."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import enum

from tacker_k8s_cr.model.objects import ObjectRef


class Remover(enum.Enum):
    """State of the controller that removes a finalizer."""

    RUNNING = "it runs"
    DOWN = "it does not run"
    MISSING = "there is none"
    UNKNOWN = "it is unknown whether it runs"


@dataclasses.dataclass(frozen=True)
class BlockingFinalizer:
    """A finalizer that Kubernetes itself does not remove.

    :param controller: the controller that removes it, and whether it runs.
    """

    name: str
    controller: str
    remover: Remover

    @property
    def is_permanent(self) -> bool:
        """Whether nothing in the cluster removes it at present."""
        return self.remover in (Remover.DOWN, Remover.MISSING)

    def __str__(self) -> str:
        return f"finalizer {self.name}: {self.controller}"


def describe(
    ref: ObjectRef, finalizers: Iterable[BlockingFinalizer]
) -> Iterator[str]:
    """Return a line for each, and one on how to delete the object anyway."""
    listed = tuple(finalizers)
    yield from map(str, listed)
    if any(finalizer.remover is not Remover.RUNNING for finalizer in listed):
        yield describe_remedy(ref)


def describe_remedy(ref: ObjectRef) -> str:
    """Return how to delete an object whose controller does not run."""
    return (
        "to delete it without its controller, terminate again with "
        f"--remove-finalizers {ref} (remove_finalizers of a request); "
        "external resources that the controller would delete may remain"
    )
