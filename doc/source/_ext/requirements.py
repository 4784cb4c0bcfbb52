"""The directive ``requirements``: what is wanted, and the tests that prove it.

Written by ``tools.proofs``; a row without a proof says why.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tools import proofs


class Requirements(SphinxDirective):
    """One table for each list of rows."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(proofs.ROWS))
        named: dict[str, list[proofs.Proof]] = {}
        for proof in proofs.proofs():
            for row in proof.rows:
                named.setdefault(row, []).append(proof)
        lines = []
        for title, rows in proofs.rows().items():
            lines += [f".. list-table:: {title}", "   :header-rows: 1"]
            lines += ["   :widths: 8 42 50", ""]
            lines += ["   * - Row", "     - Wanted", "     - Shown by"]
            for row in rows:
                lines += [f"   * - {row.id}", f"     - {row.wanted}"]
                shown = [
                    f"| {proof.room}: ``{proof.test}``"
                    for proof in named.get(row.id, ())
                ]
                if row.open:
                    shown.append(f"| *open*: {row.open}")
                first, *more = shown or ["nothing yet"]
                lines.append(f"     - {first}")
                lines += [f"       {line}" for line in more]
            lines.append("")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app):
    """Sphinx calls this."""
    app.add_directive("requirements", Requirements)
    return {"parallel_read_safe": True}
