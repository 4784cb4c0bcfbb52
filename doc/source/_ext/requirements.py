"""The directive ``requirements``: each row with the tests that claim it.

Written from ``tools.requirements``. A test is a link to its source, which
this extension adds to the HTML as pages of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
import re

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.util.docutils import SphinxDirective

from tools.requirements import markers
from tools.requirements import rows
from tools.requirements.markers import Proof
from tools.requirements.rows import Group
from tools.requirements.rows import Row
from tools.suites import published

PAGES = "_tests/"
"""The folder of the pages with the source of tests."""


class Requirements(SphinxDirective):
    """A section for each group of rows, and in it an entry for each row."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # any test may have another marker now
        self.proofs: dict[str, list[Proof]] = {}
        for proof in markers.find():
            for row in proof.rows:
                self.proofs.setdefault(row, []).append(proof)
        groups = rows.read()
        every = [row for group in groups for row in group.rows]
        missing = [row.id for row in rows.without_proof(groups, self.proofs)]
        text = (
            f"{len(every)} requirements: {len(every) - len(missing)} proven, "
            f"{len(missing)} open"
        )
        text += f" ({', '.join(missing)})." if missing else "."
        summary = nodes.paragraph("", text)
        return [summary, *(self._group(group) for group in groups)]

    def _group(self, group: Group) -> nodes.Node:
        name = nodes.make_id(group.title)
        section = nodes.section(ids=[name], names=[name])
        section += nodes.title("", group.title)
        entries = nodes.definition_list()
        entries.extend(self._entry(row) for row in group.rows)
        section += entries
        return section

    def _entry(self, row: Row) -> nodes.Node:
        term = nodes.term("", "", ids=[nodes.make_id(f"row-{row.id}")])
        term += nodes.strong("", row.id)
        term += [nodes.Text(" "), *_inline(row.requirement)]
        body = nodes.definition()
        if row.subject:
            subject = nodes.paragraph("", "Answers: ")
            subject += _inline(row.subject)
            body += subject
        proofs = self.proofs.get(row.id, [])
        if row.open or not proofs:
            body += _open(row)
        tests = nodes.bullet_list()
        for proof in proofs:
            line = nodes.paragraph("", "", self._link(proof))
            line += nodes.Text(f" ({proof.suite}): ")
            line += _inline(proof.fact)
            tests += nodes.list_item("", line)
        if proofs:
            body += tests
        return nodes.definition_list_item("", term, body)

    def _link(self, proof: Proof) -> nodes.Node:
        name = nodes.literal("", proof.test)
        builder = self.env._app.builder
        if builder.format != "html":
            return name
        page = builder.get_relative_uri(
            self.env.current_document.docname, _page(proof.path)
        )
        return nodes.reference(
            "", "", name, refuri=f"{page}#line-{proof.line}", internal=True
        )


class SuiteRuns(SphinxDirective):
    """When the suites outside CI last ran, and on which commit."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(published.FILE))
        lines = [".. list-table::", "   :header-rows: 1", ""]
        for first, *others in [published.HEAD, *published.cells()]:
            lines.append(f"   * - {first}")
            lines += [f"     - {cell}" for cell in others]
        return self.parse_text_to_nodes("\n".join(lines))


def _open(row: Row) -> nodes.Node:
    """Mark a row that no test asserts, or not completely."""
    line = nodes.paragraph("", "", nodes.strong("", "open"))
    if row.open:
        line += [nodes.Text(": "), *_inline(row.open)]
    return line


def _inline(text: str) -> list[nodes.Node]:
    """Literals between one or two backquotes; the rest is plain text."""
    return [
        nodes.literal("", part) if number % 2 else nodes.Text(part)
        for number, part in enumerate(re.split(r"``?([^`]+)``?", text))
        if part
    ]


def _page(path: str) -> str:
    return PAGES + path.removesuffix(".py")


def _collect_pages(app) -> Iterator[tuple[str, dict[str, str], str]]:
    """Add a page for each file with tests that the table links to."""
    formatter = HtmlFormatter(
        cssclass="highlight", lineanchors="line", wrapcode=True
    )
    for path in sorted({proof.path for proof in markers.find()}):
        source = (rows.ROOT / path).read_text(encoding="utf-8")
        body = highlight(source, PythonLexer(), formatter)
        context = {"title": path, "body": f"<h1>{path}</h1>{body}"}
        yield _page(path), context, "page.html"


def setup(app):
    """Sphinx calls this."""
    app.add_directive("requirements", Requirements)
    app.add_directive("suite-runs", SuiteRuns)
    app.connect("html-collect-pages", _collect_pages)
    return {"parallel_read_safe": True}
