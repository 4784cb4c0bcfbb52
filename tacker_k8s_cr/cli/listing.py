"""Commands with rows: a table that fits the screen, and stable formats."""

from __future__ import annotations

import abc
import argparse
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import os
import shutil
from typing import Any, TextIO

from cliff import columns as cliff_columns
from cliff import lister
from cliff.formatters import base

from tacker_k8s_cr.cli import layout
from tacker_k8s_cr.cli.layout import Column
from tacker_k8s_cr.cli.layout import Shape
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef

TABLE = "table"

SHAPES = {
    **dict.fromkeys(("Kind", "Action", "State", "Drift"), Shape.WHOLE),
    **dict.fromkeys(("Forecast", "Level", "UID"), Shape.WHOLE),
    **dict.fromkeys(("Namespace", "Name", "Subject"), Shape.NAME),
    "Seconds": Shape.NUMBER,
}
"""By title; the others are texts."""


class Kind(cliff_columns.FormattableColumn):  # type: ignore[misc]
    """A kind: with its group, or in a table as briefly as rows allow.

    :param brief: how it is shown in a table that is not wide.
    """

    def __init__(self, kind: GroupKind, brief: str):
        super().__init__(kind)
        self.brief = brief

    def human_readable(self) -> str:
        return self.brief

    def machine_readable(self) -> str:
        return str(self._value)


def kinds(refs: Iterable[ObjectRef]) -> dict[GroupKind, Kind]:
    """Return the cells of kinds: the group is shown where two share a name."""
    found = {ref.group_kind for ref in refs}
    names = [kind.kind for kind in found]
    return {
        kind: Kind(
            kind, str(kind) if names.count(kind.kind) > 1 else kind.kind
        )
        for kind in found
    }


def order(ref: ObjectRef) -> tuple[str, str, str, str]:
    """Sort by what a row shows: kind, namespace, name."""
    return ref.kind, ref.group, ref.namespace, ref.name


class Listing(lister.Lister, metaclass=abc.ABCMeta):  # type: ignore[misc]
    """A command whose result has rows.

    ``columns`` are those of a table; ``all_columns`` those of ``--wide``,
    ``-c`` and the other formats, and begin with the same.
    """

    columns: tuple[str, ...]
    further_columns: tuple[str, ...] = ()

    @property
    def all_columns(self) -> tuple[str, ...]:
        return (*self.columns, *self.further_columns)

    def _load_formatter_plugins(self) -> Any:
        found = super()._load_formatter_plugins()
        found[TABLE].obj = Table(len(self.columns))
        return found


class Table(base.ListFormatter):  # type: ignore[misc]
    """cliff's table breaks words, and draws lines around them.

    :param usual: how many of the columns are shown unless ``--wide`` is set.
    """

    def __init__(self, usual: int):
        self._usual = usual

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group("table formatter")
        group.add_argument(
            "--wide",
            action="store_true",
            help="all columns, kinds with their groups, and nothing shortened",
        )
        group.add_argument(
            "--max-width",
            metavar="N",
            type=int,
            default=0,
            help="width of the table [that of the terminal; unlimited where "
            "standard output is not a terminal and COLUMNS is not set]",
        )
        group.add_argument(
            "--print-empty",
            action="store_true",
            help="print the header also if there are no rows",
        )

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        wide = parsed_args.wide
        rows = [[_text(value, wide) for value in row] for row in data]
        names = list(column_names)
        if not (wide or parsed_args.columns):
            names = names[: self._usual]
            rows = [row[: self._usual] for row in rows]
        if not rows and not parsed_args.print_empty:
            return
        columns = [Column(n, SHAPES.get(n, Shape.TEXT)) for n in names]
        width = parsed_args.max_width or screen_width(stdout, os.environ)
        for line in layout.format_table(columns, rows, 0 if wide else width):
            stdout.write(f"{_encodable(line, stdout)}\n")


def screen_width(stream: TextIO, environ: Mapping[str, str]) -> int:
    """Return the columns of a terminal, or the value of COLUMNS; else 0."""
    if stream.isatty() or environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return 0


def _text(value: Any, wide: bool) -> str:
    if isinstance(value, cliff_columns.FormattableColumn):
        shown = value.machine_readable() if wide else value.human_readable()
        return str(shown)
    return str(value)


def _encodable(text: str, stream: TextIO) -> str:
    """Replace characters that the stream cannot encode."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)
