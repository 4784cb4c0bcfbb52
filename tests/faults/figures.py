"""What a row of the table of faults says."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    """What came of one kind of fault.

    :param tried: operations upon which it was brought.
    :param finished: of these, such as came to their end all the same, or
        were finished by the next run.
    :param recovered: of these, such as were taken back to what was before.
    :param lost: objects that should have been there, and were not.
    :param orphaned: objects that were there, and should not have been.
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


def table(rows: Iterable[Row]) -> list[str]:
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
