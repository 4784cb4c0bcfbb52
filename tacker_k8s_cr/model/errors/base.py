"""The root classes of errors, and the parts that all messages have."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import types

from tacker_k8s_cr.model.errors import problems
from tacker_k8s_cr.model.errors.problems import Problem
from tacker_k8s_cr.model.objects import ObjectRef


class Error(Exception):
    """The root of all errors of this project.

    A message has four parts: what failed and why (``sentence``), what has
    been written (``written``, ``undone``), and what to do next
    (``next_step``). A front end adds the names of its own options.

    ``written`` names what the operation had written when it stopped and still
    exists. ``has_written`` is whether it had written or deleted anything that
    it did not undo: if not, every object is as it was. ``in_operation`` means
    that an operation raised it which may write, so that the message states
    what was written; a front end sets it. ``remedy`` is the next step where it
    does not depend on the fields. ``places`` has the document of each object
    of the package. The operation sets them, since the code that raises cannot
    know them. ``deadline_passed`` means that the deadline of the operation
    ended the attempts; the code that ended them sets it. ``undone`` counts the
    objects that the operation had created and has deleted again.
    """

    written: tuple[ObjectRef, ...] = ()
    has_written: bool = False
    in_operation: bool = False
    deadline_passed: bool = False
    undone: int = 0
    remedy: str = ""
    places: Mapping[ObjectRef, str] = types.MappingProxyType({})

    def causes(self) -> Sequence[Problem]:
        """Return what is wrong, one by one, where there may be several."""
        return ()

    @property
    def details(self) -> tuple[Problem, ...]:
        """All causes with their documents; a sentence names a few."""
        return problems.with_documents(self.causes(), self.places)

    def sentence(self) -> str:
        """Return what failed and why, without what has been written."""
        return problems.sentence(self.details) or super().__str__()

    def full_sentence(self) -> str:
        """Return the sentence with every object."""
        return self.sentence()

    def summary(self) -> str:
        """Return the sentence, and whether the deadline passed."""
        return self._with_deadline(self.sentence())

    def next_step(self) -> str:
        """Return what to do next; names no option of a front end."""
        return self.remedy

    def outcome(self) -> str:
        """Return what failed and why, and what has been written."""
        return self._with_state(self.summary())

    def full(self) -> str:
        """Return the message with every object, for a log."""
        sentence = self._with_deadline(self.full_sentence())
        return _lines(self._with_state(sentence), self.next_step())

    def __str__(self) -> str:
        return _lines(self.outcome(), self.next_step())

    def _with_deadline(self, sentence: str) -> str:
        if not self.deadline_passed or "the deadline passed" in sentence:
            return sentence
        if "\n" in sentence:
            return f"{sentence}\nThe deadline passed."
        return f"{sentence}; the deadline passed"

    def _with_state(self, sentence: str) -> str:
        """Return the sentence with what has been written."""
        return _lines(
            sentence,
            _deleted_again(self.undone) if self.undone else "",
            _still_there(self.written) if self.written else "",
            "" if self.written or self.undone else self._unlisted(),
        )

    def _unlisted(self) -> str:
        """Return what is known where no object is listed as written."""
        if not self.in_operation:
            return ""
        return _UNCERTAIN if self.has_written else _NOTHING


class ClusterError(Error):
    """The root of errors of the API server, or the connection to it."""


_NOTHING = "No object was written or deleted."

_UNCERTAIN = (
    "Objects may have been changed or deleted before that; the status of the "
    "instance lists what exists."
)


def _lines(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def _still_there(written: Sequence[ObjectRef]) -> str:
    return (
        f"Written before that, and still there: {len(written)} object(s): "
        f"{problems.join_first(written, 5)}"
    )


def _deleted_again(count: int) -> str:
    return f"Created before that, and deleted again: {count} object(s)"
