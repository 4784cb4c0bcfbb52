"""The directive ``option-table``: every option and where it can be set.

Written from the table that the places are generated from, so that the page
cannot differ. Its argument is ``all``, or ``requests`` for a short table of
the parameters of requests.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tacker_k8s_cr.model import option_table
from tacker_k8s_cr.model.option_table import option as options


class OptionTable(SphinxDirective):
    """One row or section for each option."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(option_table.__file__)
        if self.arguments[0] == "requests":
            return self.parse_text_to_nodes("\n".join(requests()))
        lines = [line for row in option_table.ROWS for line in entry(row)]
        return self.parse_text_to_nodes("\n".join(lines))


def requests() -> list[str]:
    """The table of the parameters of requests."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 34 33 33"]
    lines += ["", "   * - Key", "     - Operations", "     - Option"]
    for row in option_table.request_options():
        if row.root:
            continue
        every = row.request == options.OPERATIONS
        lines += [
            f"   * - ``{row.name}``",
            f"     - {'all' if every else ', '.join(row.request)}",
            f"     - {f'``{row.conf_name}``' if row.conf else ''}",
        ]
    return [*lines, ""]


def entry(row: options.Option) -> list[str]:
    """What one option means, its values, and where it is set."""
    lines = [f"``{row.name}``", f"    {sentence(row)}", ""]
    for value, meant in (*row.values.items(), *row.command_values.items()):
        lines += [f"    * ``{value}``: {meant}"]
    lines += [""] * bool(row.values)
    if row.conf:
        default = "none" if row.default is None else repr(row.default)
        shown = default.strip("'") or "empty"
        lines += [
            f"    :tacker.conf: ``{row.conf_name}``, default ``{shown}``"
        ]
    if row.request:
        lines += [f"    :Request: ``{key(row)}``: {', '.join(row.request)}"]
    if row.commands:
        lines += [
            f"    :Command line: ``{row.command_flag}``: "
            f"{', '.join(row.commands)}"
        ]
    return [*lines, ""]


def sentence(row: options.Option) -> str:
    """The help as a sentence, and the note."""
    return f"{row.help[:1].upper()}{row.help[1:]}. {row.note}".strip()


def key(row: options.Option) -> str:
    """The place in additionalParams."""
    return row.name if row.root else f"tacker_k8s_cr.{row.name}"


def setup(app):
    """Sphinx calls this."""
    app.add_directive("option-table", OptionTable)
    return {"parallel_read_safe": True}
