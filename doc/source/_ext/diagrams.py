"""The directive ``diagram``: drawings from lines of text.

Kinds: ``flow`` (``Title: text``), ``sequence`` (``A -> B: text``), ``states``
(the same, and ``State: text``), and ``layers``, which shows the contract of
imports and takes no lines. Written as SVG into the page, with the theme's
colours; other formats get the lines.
"""

from __future__ import annotations

import configparser
import re
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
import drawing
import modules
from sphinx.util.docutils import SphinxDirective

_EDGE = re.compile(r"(?P<a>.+?) -> (?P<b>.+?): (?P<text>.+)")
_STEP = re.compile(r"(?P<title>[^:]+): (?P<text>.+)")


class Diagram(SphinxDirective):
    """A drawing, with its text for those who cannot see it."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"title": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        kind = self.arguments[0]
        lines = [line for line in self.content if line.strip()]
        if kind == "layers":
            self.env.note_dependency(str(modules.ROOT / ".importlinter"))
            lines = layers()
            made = drawing.layers(map(_row, lines))
        elif kind == "flow":
            made = drawing.layers([self._step(line)] for line in lines)
        elif kind == "sequence":
            edges = [self._edge(line) for line in lines]
            actors = dict.fromkeys(a for edge in edges for a in edge[:2])
            made = drawing.sequence(list(actors), edges)
        elif kind == "states":
            edges = [self._edge(line) for line in lines if " -> " in line]
            notes = [self._step(line) for line in lines if " -> " not in line]
            made = drawing.states(edges, dict(notes))
        else:
            raise self.error(f"{kind} is not a kind of diagram")
        title = self.options.get("title", kind)
        figure = nodes.raw("", made.svg(title), format="html")
        text = nodes.literal_block("", "\n".join(lines))
        only = nodes.container(classes=["diagram-text"])
        only += text
        return [figure, only]

    def _edge(self, line: str) -> tuple[str, str, str]:
        match = _EDGE.fullmatch(line)
        if match is None:
            raise self.error(f"{line}: expected A -> B: text")
        return match["a"], match["b"], match["text"]

    def _step(self, line: str) -> tuple[str, str]:
        match = _STEP.fullmatch(line)
        if match is None:
            raise self.error(f"{line}: expected Title: text")
        return match["title"], match["text"]


def layers() -> list[str]:
    """The layers of the package, from the contract that is checked."""
    contract = configparser.ConfigParser()
    contract.read(modules.ROOT / ".importlinter")
    text = contract["importlinter:contract:layers"]["layers"]
    return [line.strip() for line in text.splitlines() if line.strip()]


def _row(line: str) -> list[tuple[str, str]]:
    folder = modules.ROOT / "tacker_k8s_cr"
    names = [name.strip() for name in line.split("|")]
    return [
        (name, modules.summary(folder / name / "__init__.py"))
        for name in names
    ]


def setup(app):
    """Sphinx calls this."""
    app.add_directive("diagram", Diagram)
    return {"parallel_read_safe": True}
