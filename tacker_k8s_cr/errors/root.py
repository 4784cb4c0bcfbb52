"""What all errors of ours have in common."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import types

from tacker_k8s_cr.errors import problems
from tacker_k8s_cr.errors.problems import Problem
from tacker_k8s_cr.objects import ObjectRef


class Error(Exception):
    """The root of all errors of ours.

    ``written`` names what the operation had written when it stopped and is
    still there. ``begun`` says whether it had written or deleted anything
    that it did not undo: if not, every object is as it was. ``places`` has
    the document of each object of the package. The operation sets them,
    since who raises cannot know. ``late`` says that the deadline of the
    operation ended the attempts; the code that gave up sets it.
    """

    written: tuple[ObjectRef, ...] = ()
    begun: bool = False
    late: bool = False
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

    def summary(self) -> str:
        """The sentence, and that the deadline passed where it did."""
        said = self.sentence()
        if not self.late or "the deadline passed" in said:
            return said
        if "\n" in said:
            return f"{said}\nThe deadline passed."
        return f"{said}; the deadline passed"

    def __str__(self) -> str:
        if not self.written:
            return self.summary()
        return f"{self.summary()}\n{_left_behind(self.written)}"


def _left_behind(written: Sequence[ObjectRef]) -> str:
    return (
        f"Written before that, and still there: {len(written)} object(s): "
        f"{problems.listed(written, 5)}"
    )
