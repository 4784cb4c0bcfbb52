"""The objects of an instance as a tree by kind, for a terminal."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from tacker_k8s_cr.cli import layout
from tacker_k8s_cr.cli.rich_progress import STYLES
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import ObjectResult
from tacker_k8s_cr.model.report import Report

_TAKEN = 25
"""Columns for the lines of the tree and for the state."""


def build_tree(report: Report, width: int = 80) -> Tree:
    """Return the objects of an instance below their kinds.

    :param width: of the terminal; names are shortened to fit, words are not
        broken.
    """
    summary = f"[bold]{escape(report.instance)}[/]  {escape(report.phase)}"
    root = Tree(summary)
    room = max(width - _TAKEN, layout.SHORTEST_NAME)
    kinds: dict[str, list[ObjectResult]] = {}
    for row in report.objects:
        kinds.setdefault(str(row.ref.group_kind), []).append(row)
    for kind, rows in sorted(kinds.items()):
        branch = root.add(f"[bold]{escape(kind)}[/]")
        for row in sorted(rows, key=lambda row: row.ref):
            where = f"{row.ref.namespace}/" if row.ref.namespace else ""
            state = (row.verdict.state.value, STYLES[row.verdict.state])
            if row.action is Action.DELETED:
                state = ("deleted", "green")
            leaf = branch.add(
                Text.assemble(
                    layout.shorten(f"{where}{row.ref.name}", room),
                    "  ",
                    state,
                    f"  {_words(row.verdict.reason, room)}",
                )
            )
            for note in row.notes:
                leaf.add(Text(_words(note, room)))
    return root


def _words(text: str, room: int) -> str:
    """Return the text with long words shortened, so that none is broken."""
    return "\n".join(
        " ".join(layout.shorten(word, room) for word in line.split(" "))
        for line in layout.printable(text).split("\n")
    )


def show_tree(report: Report, stream: TextIO) -> None:
    console = Console(file=stream)
    console.print(build_tree(report, console.width))
