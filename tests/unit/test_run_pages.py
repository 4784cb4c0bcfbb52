"""Blocks of pages that are run, and the comparison of their output."""

from __future__ import annotations

import os
import pathlib

import pytest

from tools.pages import blocks
from tools.pages import compare
from tools.pages import picture
from tools.pages import rewrite
from tools.pages import run
from tools.pages import terminal

PAGE = """\
A page.

.. code-block:: yaml
   :caption: shop/a.yaml

   kind: ConfigMap
   data: {a: b}

.. code-block:: console
   :class: not-run

   $ make plane

.. code-block:: console
   :class: fails record-list

   $ cat shop/a.yaml; \\
   > false
   old output
   $ false

The end.
"""


@pytest.fixture
def page(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "page.rst"
    path.write_text(PAGE)
    return path


def test_a_page_has_files_and_commands(page: pathlib.Path) -> None:
    """In their order; a command may have several lines."""
    file, first, second = blocks.read(page)

    assert blocks.File("shop/a.yaml", "kind: ConfigMap\ndata: {a: b}\n") == (
        file
    )
    assert isinstance(first, blocks.Command)
    assert "cat shop/a.yaml; \\\nfalse" == first.text
    assert ("old output",) == first.output
    assert ("list", True) == (first.picture, first.fails)
    assert isinstance(second, blocks.Command)
    assert () == second.output


def test_output_that_differs_is_replaced(
    page: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The rest of the page stays, and a second run replaces nothing."""
    done = list(run.run(page, os.environ, tmp_path))
    assert [False, False] == [each.wrong for each in done]
    assert 1 == rewrite.rewrite(page, done)

    expected = PAGE.replace(
        "   old output\n", "   kind: ConfigMap\n   data: {a: b}\n"
    )
    assert expected == page.read_text()
    done = list(run.run(page, os.environ, tmp_path))
    assert 0 == rewrite.rewrite(page, done)


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (
            ["done in 1.5 s with 29 requests"],
            ["done in 12.0 s with 8 requests"],
        ),
        (
            ["shop-7fd9f4c7db-nrddv   1/1  3s"],
            ["shop-d485d74fb-dchzl  1/1  2m1s"],
        ),
        (["ClusterIP 10.96.219.2"], ["ClusterIP 10.96.0.17"]),
        (["a long", "  line"], ["a long line"]),
        (
            [
                "0/3 nodes are available: 3 node(s) didn't match; preemption:",
                "  3 Preemption is not helpful for scheduling.",
            ],
            [
                "0/4 nodes are available: 1 node(s) were unschedulable, "
                "3 node(s) didn't match; preemption: 4 Preemption is not "
                "helpful for scheduling.",
            ],
        ),
        (["first", "...", "last"], ["first", "second", "third", "last"]),
    ],
)
def test_what_differs_between_two_runs_is_equal(
    shown: list[str], found: list[str]
) -> None:
    """Durations, numbers of requests and nodes, random names, breaks."""
    assert compare.is_same_output(shown, found)


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (["3 replica(s) available"], ["2 replica(s) available"]),
        (["objects: 2 created"], ["objects: 2 deleted"]),
        (["first"], ["first", "second"]),
        (["shop  current"], ["settings  current"]),
    ],
)
def test_what_a_command_did_is_compared(
    shown: list[str], found: list[str]
) -> None:
    """A page whose text is out of date is noticed."""
    assert not compare.is_same_output(shown, found)


def test_a_picture_has_what_the_screen_shows(tmp_path: pathlib.Path) -> None:
    """What was drawn over is not in it, and nothing is loaded for it."""
    command = r"printf 'drawn\r\033[2K\033[32mcurrent\033[0m\n'"
    shown = terminal.run(command, os.environ, tmp_path)

    made = picture.svg("status site-a", shown.screen, "status")

    assert ["current"] == shown.lines
    assert "current" in made
    assert "drawn" not in made
    assert "url(http" not in made
