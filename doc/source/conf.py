"""Settings of the documentation; it is built with warnings as errors."""

import importlib.metadata
import pathlib
import sys

from docutils import nodes

_here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(_here / "_ext"), str(_here.parents[1])]

project = "tacker-k8s-cr"
author = "tacker_k8s_cr contributors"
copyright = f"2026, {author}"
release = importlib.metadata.version("tacker-k8s-cr")
version = release.partition(".dev")[0]

extensions = [
    "answers",
    "cliff.sphinxext",
    "diagrams",
    "modules",
    "operators",
    "option_table",
    "oslo_config.sphinxext",
    "recordings",
    "reno.sphinxext",
    "requirements",
    "schemas",
    "sphinx.ext.autodoc",
    "upstream",
]

html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_css_files = ["project.css"]
# The pages are complete without a network: no fonts, no badges, no trackers.
html_theme_options = {
    "top_of_page_buttons": [],
    "navigation_with_keys": True,
}
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}

autoprogram_cliff_application = "tacker-k8s-cr"

# Release notes are generated from the complete history of git: a clone without
# it, or a shallow one, has documentation without that page.
_git = _here.parents[1] / ".git"
if not _git.exists() or (_git / "shallow").exists():
    exclude_patterns = ["releasenotes/*"]
    suppress_warnings = ["toc.excluded"]


def setup(app):
    app.connect("doctree-read", name_version)


def name_version(app, doctree):
    """Replace reno's 0.0.0 by the version, as long as it has no tag."""
    for title in doctree.findall(nodes.title):
        if app.env.docname.startswith("releasenotes/"):
            text = title.astext().replace("0.0.0", version)
            title.children = [nodes.Text(text)]
