"""The contents of a row of the table of faults."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    """What came of one kind of fault.

    :param tried: operations during which it was caused.
    :param finished: of these, those that succeeded anyway, or were finished by
        the next run.
    :param recovered: of these, those that were rolled back to the former
        state.
    :param lost: objects that should have existed, and did not.
    :param orphaned: objects that existed, and should not have.
    :param requests: that one such operation sends, undisturbed.
    """

    case: str
    tried: int
    finished: int
    recovered: int
    lost: int
    orphaned: int
    requests: int = 0
    seconds: float = 0.0


def format_table(rows: Iterable[Row]) -> list[str]:
    """The rows as lines of text, under their names."""
    names = [field.name for field in dataclasses.fields(Row)]
    texts = [names]
    for row in rows:
        values = dataclasses.astuple(row)
        texts.append([*map(str, values[:-1]), f"{row.seconds:.0f}"])
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if not place else text.rjust(width)
            for place, (text, width) in enumerate(
                zip(line, widths, strict=True)
            )
        )
        for line in texts
    ]
