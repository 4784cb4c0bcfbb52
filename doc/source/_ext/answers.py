"""The directive ``answers``: what becomes of a request, by the answer.

Written from the table that decides it, so that the page cannot differ.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tacker_k8s_cr.kube.http import response_rules


class Answers(SphinxDirective):
    """One row for each answer, in the order in which they are tried."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(response_rules.__file__)
        lines = [".. list-table::", "   :header-rows: 1"]
        lines += ["   :widths: 40 20 40", ""]
        lines += ["   * - Answer", "     - The request is", "     - Why"]
        for row in response_rules.ROWS:
            lines += [
                f"   * - {row.when}",
                f"     - {row.outcome.value}",
                f"     - {row.why}",
            ]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app):
    """Sphinx calls this."""
    app.add_directive("answers", Answers)
    return {"parallel_read_safe": True}
