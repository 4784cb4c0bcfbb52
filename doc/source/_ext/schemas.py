"""The directive ``schemas``: the properties of what each command prints.

Written from the schemas that are part of the package, so that the page
cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterator
import json
import pathlib

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import tacker_k8s_cr

FOLDER = pathlib.Path(tacker_k8s_cr.__file__).parent / "cli" / "schemas"


class Schemas(SphinxDirective):
    """A section for each command, and one for errors."""

    def run(self) -> list[nodes.Node]:
        lines: list[str] = []
        errors: list[str] = []
        for path in sorted(FOLDER.glob("*.json")):
            self.env.note_dependency(str(path))
            schema = json.loads(path.read_text("utf-8"))
            parts = schema.get("$defs", {})
            name = path.stem
            lines += [name, "=" * len(name), ""]
            lines += [f":download:`{path.name} <{_source(path)}>`", ""]
            lines += table(parts.get("report", schema))
            errors = errors or table(parts["error"]) if parts else errors
        lines += ["Errors", "======", ""]
        lines += [
            "The same for every command but ``check`` and ``adopt``.",
            "",
            *errors,
        ]
        return self.parse_text_to_nodes(
            "\n".join(lines), allow_section_headings=True
        )


def _source(path: pathlib.Path) -> str:
    return f"../../../tacker_k8s_cr/cli/schemas/{path.name}"


def table(schema: dict) -> list[str]:
    """A row for each property, those of items below their list."""
    lines = [".. list-table::", "   :header-rows: 1"]
    lines += ["   :widths: 30 25 45", ""]
    lines += ["   * - Property", "     - Type", "     - Meaning"]
    for path, kind, said in rows(schema, ""):
        lines += [f"   * - ``{path}``", f"     - {kind}", f"     - {said}"]
    return [*lines, ""]


def rows(schema: dict, path: str) -> Iterator[tuple[str, str, str]]:
    """Each property with its path, its type and what it means."""
    if schema.get("type") == "array":
        yield from rows(schema["items"], f"{path}[]")
        return
    for choice in schema.get("anyOf", ()):
        yield from rows(choice, path)
    for name, found in schema.get("properties", {}).items():
        below = f"{path}.{name}" if path else name
        yield below, kind(found), found.get("description", "")
        yield from rows(found, below)


def kind(schema: dict) -> str:
    """The type of a value, or the values that it may have."""
    if "enum" in schema:
        return ", ".join(f"``{value}``" for value in schema["enum"] if value)
    if "const" in schema:
        return f"``{schema['const']}``"
    if "anyOf" in schema:
        return " or ".join(choice["type"] for choice in schema["anyOf"])
    found = schema["type"]
    return " or ".join(found) if isinstance(found, list) else found


def setup(app):
    """Sphinx calls this."""
    app.add_directive("schemas", Schemas)
    return {"parallel_read_safe": True}
