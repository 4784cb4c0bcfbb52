"""What all errors of ours have in common."""

from __future__ import annotations

from collections.abc import Sequence

from tacker_k8s_cr.objects import ObjectRef


class Error(Exception):
    """The root of all errors of ours.

    ``written`` names what the operation had written when it stopped and is
    still there. ``begun`` says whether it had written or deleted anything
    that it did not undo: if not, every object is as it was. The operation
    sets both, since who raises cannot know.
    """

    written: tuple[ObjectRef, ...] = ()
    begun: bool = False

    def sentence(self) -> str:
        """What went wrong, without what was written before."""
        return super().__str__()

    def __str__(self) -> str:
        if not self.written:
            return self.sentence()
        return f"{self.sentence()}\n{_left_behind(self.written)}"


def _left_behind(written: Sequence[ObjectRef]) -> str:
    shown = ", ".join(str(ref) for ref in written[:5])
    more = f" and {len(written) - 5} more" if len(written) > 5 else ""
    return (
        f"Written before that, and still there: {len(written)} object(s): "
        f"{shown}{more}"
    )
