"""The commands of the tutorial and the task pages do what the pages show."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from tools.pages import run

pytestmark = pytest.mark.plane


def _param(page: pathlib.Path) -> Any:
    """A page whose package is of Cluster API needs it in the cluster."""
    marks = [pytest.mark.capi] if "/capi_" in page.read_text() else []
    return pytest.param(page, marks=marks, id=page.stem)


@pytest.mark.parametrize("page", [_param(each) for each in run.pages()])
def test_the_commands_of_a_page_show_what_the_page_shows(
    page: pathlib.Path, kubectl, kubeconfig, tmp_path
) -> None:
    """Each ends as expected, with the output that is in the page."""
    environ = run.environment(kubeconfig, kubectl.program)
    with run.namespaces(page, kubectl):
        done = list(run.run(page, environ, tmp_path))

    assert [] == [
        (each.command.text, each.shown.code, each.shown.lines)
        for each in done
        if each.wrong or each.changed
    ]
