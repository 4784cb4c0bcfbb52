"""The directive ``operators``: kinds that report in a way of their own.

Written from the table that judges them, so that the page cannot differ.
"""

import pathlib

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tacker_k8s_cr.kinds import operators
from tacker_k8s_cr.kinds.operators.kind_rules import KindRules


class Operators(SphinxDirective):
    """One row for each row of the table, in the order of groups."""

    def run(self) -> list[nodes.Node]:
        folder = pathlib.Path(operators.__file__).parent
        for path in sorted(folder.glob("*.py")):
            self.env.note_dependency(str(path))
        lines = [".. list-table::", "   :header-rows: 1"]
        lines += ["   :widths: 30 40 30", ""]
        lines += ["   * - Kinds", "     - Current, or failed, when"]
        lines += ["     - Source"]
        for row in sorted(operators.ROWS, key=lambda row: row.group):
            kinds = ", ".join(row.names) or "any kind"
            lines += [
                f"   * - {kinds} of ``{row.group}``",
                f"     - {said(row)}",
                f"     - {row.source}".replace("*", "\\*"),
            ]
        return self.parse_text_to_nodes("\n".join(lines))


def said(row: KindRules) -> str:
    """The rules of a row in words."""
    if not (row.ready_when or row.failed_when):
        return "stored: no controller reports on it"
    parts = [" and ".join(f"``{rule}``" for rule in row.ready_when)]
    if row.failed_when:
        failed = " or ".join(f"``{rule}``" for rule in row.failed_when)
        parts.append(f"failed: {failed}")
    return "; ".join(part for part in parts if part)


def setup(app):
    """Sphinx calls this."""
    app.add_directive("operators", Operators)
    return {"parallel_read_safe": True}
