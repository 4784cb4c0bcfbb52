"""Directives on Tacker's own tests: suites, options, expectations.

Written from the tables of ``tools.upstream``, so that the page cannot differ.
"""

from collections.abc import Iterable
from collections.abc import Sequence

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tools.upstream import columns
from tools.upstream import expected
from tools.upstream import suites

Cells = Iterable[Sequence[str]]


class UpstreamSuites(SphinxDirective):
    """The suites, in the order in which they run."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(suites.__file__)
        rows = [(f"``{one.name}``", one.title) for one in suites.SUITES]
        return _table(self, ("Suite", "Tests of"), rows, (20, 80))


class UpstreamOptions(SphinxDirective):
    """The compatibility options, with the reason for each."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(columns.__file__)
        rows = [
            (f"``{one.name}``", f"``{one.value}``", one.reason)
            for one in columns.COMPATIBILITY
        ]
        head = ("Option", "Value", "Reason")
        return _table(self, head, rows, (30, 30, 40))


class UpstreamExpected(SphinxDirective):
    """The tests that do not pass, with the reason for each."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(expected.FOLDER / "expected.yaml"))
        rows = [
            (_name(test), ", ".join(one.columns), one.reason)
            for one in expected.load().outcomes
            for test in one.tests
        ]
        return _table(self, ("Test", "Columns", "Reason"), rows, (40, 15, 45))


class UpstreamCauses(SphinxDirective):
    """The operations that tests let fail on purpose."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(expected.FOLDER / "causes.yaml"))
        rows = [
            (_name(one.test), one.operation, one.cause)
            for one in expected.load().causes
        ]
        return _table(self, ("Test", "Operation", "Cause"), rows, (45, 20, 35))


def _name(test: str) -> str:
    file, _, name = test.partition("::")
    return f"``{file}`` ``{name.rpartition('::')[2]}``"


def _table(
    directive: SphinxDirective,
    head: Sequence[str],
    rows: Cells,
    widths: Sequence[int],
) -> list[nodes.Node]:
    lines = [".. list-table::", "   :header-rows: 1"]
    lines += [f"   :widths: {' '.join(map(str, widths))}", ""]
    for first, *others in [head, *rows]:
        lines.append(f"   * - {first}")
        lines += [f"     - {cell}" for cell in others]
    return directive.parse_text_to_nodes("\n".join(lines))


def setup(app):
    """Sphinx calls this."""
    app.add_directive("upstream-suites", UpstreamSuites)
    app.add_directive("upstream-options", UpstreamOptions)
    app.add_directive("upstream-expected", UpstreamExpected)
    app.add_directive("upstream-causes", UpstreamCauses)
    return {"parallel_read_safe": True}
