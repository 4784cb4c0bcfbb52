"""The directive ``modules``: the modules of a package, with what each is for.

Written from their docstrings, so that the page cannot differ.
"""

import ast
import pathlib

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Modules(SphinxDirective):
    """One row for each module and folder of the package that is named."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        folder = ROOT.joinpath(*self.arguments[0].split("."))
        found = {}
        for path in sorted(folder.iterdir()):
            source = path / "__init__.py" if path.is_dir() else path
            if source.suffix != ".py" or not source.exists():
                continue
            if source == folder / "__init__.py":
                continue
            self.env.note_dependency(str(source))
            name = f"{path.name}/" if path.is_dir() else path.name
            found[name] = summary(source)
        if not found:
            raise self.error(f"{self.arguments[0]} has no modules")
        lines = [".. list-table::", "   :widths: 34 66", ""]
        for name, text in found.items():
            lines += [f"   * - ``{name}``", f"     - {text}"]
        return self.parse_text_to_nodes("\n".join(lines))


def summary(source: pathlib.Path) -> str:
    """Return the first sentence of a module's docstring, without its end."""
    text = ast.get_docstring(ast.parse(source.read_text())) or ""
    return text.split("\n\n")[0].replace("\n", " ").removesuffix(".")


def setup(app):
    """Sphinx calls this."""
    app.add_directive("modules", Modules)
    return {"parallel_read_safe": True}
