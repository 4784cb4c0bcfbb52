"""Settings of the documentation; it is built with warnings as errors."""

import importlib.metadata
import pathlib
import sys

_here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(_here / "_ext"), str(_here.parents[1])]

project = "tacker-k8s-cr"
author = "tacker_k8s_cr contributors"
copyright = f"2026, {author}"
release = importlib.metadata.version("tacker-k8s-cr")

extensions = [
    "answers",
    "cliff.sphinxext",
    "openstackdocstheme",
    "operators",
    "oslo_config.sphinxext",
    "reno.sphinxext",
    "requirements",
    "schemas",
    "sphinx.ext.autodoc",
    "upstream",
]

html_theme = "openstackdocs"
html_theme_options = {
    # Pages that somebody builds at home report to nobody.
    "analytics_tracking_code": "",
    "display_badge": False,
    "root_title": project,
    "sidebar_dropdown": "",
    "sidebar_mode": "toc",
}
openstackdocs_auto_name = False
openstackdocs_auto_version = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}

autoprogram_cliff_application = "tacker-k8s-cr"

# Release notes are told from the history of git, all of it: a clone without
# one, or with a shallow one, has documentation without that page.
_git = _here.parents[1] / ".git"
if not _git.exists() or (_git / "shallow").exists():
    exclude_patterns = ["releasenotes/*"]
    suppress_warnings = ["toc.excluded"]
