"""The directive ``recording``: a terminal as a picture.

``make recordings`` writes the pictures. They have their own
colours in light and dark mode. A narrow window scrolls them.
"""

from __future__ import annotations

from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective


class Recording(SphinxDirective):
    """The picture of a command that a page runs, by its name."""

    required_arguments = 1
    option_spec: ClassVar = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        box = nodes.container(classes=["recording"])
        alt = " ".join(self.options["alt"].split())
        lines = [
            f".. image:: /recordings/{self.arguments[0]}.svg",
            f"   :alt: {alt}",
        ]
        box += self.parse_text_to_nodes("\n".join(lines))
        return [box]


def setup(app):
    """Sphinx calls this."""
    app.add_directive("recording", Recording)
    return {"parallel_read_safe": True}
