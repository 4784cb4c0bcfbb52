"""What all errors of ours have in common."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import types

from tacker_k8s_cr.errors import problems
from tacker_k8s_cr.errors.problems import Problem
from tacker_k8s_cr.objects import ObjectRef


class Error(Exception):
    """The root of all errors of this project.

    ``written`` names what the operation had written when it stopped and is
    still there. ``begun`` says whether it had written or deleted anything
    that it did not undo: if not, every object is as it was. ``places`` has
    the document of each object of the package. The operation sets them,
    since the code that raises cannot know them. ``late`` means that the
    deadline of the operation ended the attempts; the code that ended them
    sets it. ``undone``
    counts the objects that the operation had created and has deleted again.
    """

    written: tuple[ObjectRef, ...] = ()
    begun: bool = False
    late: bool = False
    undone: int = 0
    places: Mapping[ObjectRef, str] = types.MappingProxyType({})

    def causes(self) -> Sequence[Problem]:
        """Return what is wrong, one by one, where there may be several."""
        return ()

    @property
    def details(self) -> tuple[Problem, ...]:
        """All causes with their documents; a sentence names a few."""
        return problems.located(self.causes(), self.places)

    def sentence(self) -> str:
        """What went wrong, without what was written before."""
        return problems.sentence(self.details) or super().__str__()

    def full_sentence(self) -> str:
        """The sentence with every object, if the error names only some."""
        return self.sentence()

    def summary(self) -> str:
        """The sentence, and that the deadline passed, if it did."""
        return self._with_deadline(self.sentence())

    def full(self) -> str:
        """The message with every object, for a log."""
        return self._with_written(self._with_deadline(self.full_sentence()))

    def __str__(self) -> str:
        return self._with_written(self.summary())

    def _with_deadline(self, said: str) -> str:
        if not self.late or "the deadline passed" in said:
            return said
        if "\n" in said:
            return f"{said}\nThe deadline passed."
        return f"{said}; the deadline passed"

    def _with_written(self, said: str) -> str:
        if self.undone:
            said = f"{said}\n{_taken_back(self.undone)}"
        if not self.written:
            return said
        return f"{said}\n{_left_behind(self.written)}"


def _left_behind(written: Sequence[ObjectRef]) -> str:
    return (
        f"Written before that, and still there: {len(written)} object(s): "
        f"{problems.listed(written, 5)}"
    )


def _taken_back(count: int) -> str:
    return f"Created before that, and deleted again: {count} object(s)"
