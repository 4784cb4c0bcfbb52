"""A table fits the screen without a broken word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.cli import layout
from tacker_k8s_cr.cli.layout import Column
from tacker_k8s_cr.cli.layout import Shape

COLUMNS = (
    Column("Kind", Shape.WHOLE),
    Column("Name", Shape.NAME),
    Column("State", Shape.WHOLE),
    Column("Reason", Shape.TEXT),
)


def table(width, *rows):
    return layout.format_table(COLUMNS, rows, width)


def test_a_table_that_fits_is_shown_as_it_is():
    """Nothing at the end of a line, and the columns below each other."""
    assert [
        "Kind       Name  State    Reason",
        "ConfigMap  a     current  stored",
    ] == table(40, ("ConfigMap", "a", "current", "stored"))


def test_a_long_reason_is_wrapped_between_words():
    """In its column, where that is wide enough."""
    assert [
        "Kind       Name  State    Reason",
        "ConfigMap  a     current  one two three four five",
        "                          six seven",
    ] == table(
        52, ("ConfigMap", "a", "current", "one two three four five six seven")
    )


def test_a_reason_without_room_is_below_its_row():
    """Before a name is shortened: names are copied into other commands."""
    assert [
        "Kind       Name                    State",
        "ConfigMap  a-name-of-many-letters  current",
        "  one two three four five six seven eight",
        "  nine",
    ] == table(
        42,
        (
            "ConfigMap",
            "a-name-of-many-letters",
            "current",
            "one two three four five six seven eight nine",
        ),
    )


def test_a_name_is_shortened_in_the_middle():
    """Both ends tell it from others."""
    assert [
        "Kind       Name            State",
        "ConfigMap  a-name-…etters  current",
    ] == table(34, ("ConfigMap", "a-name-of-many-letters", "current", ""))


def test_where_nothing_helps_a_row_is_a_block():
    """A kind is never shortened; the lines have their titles."""
    assert [
        "Kind    KubeadmControlPlaneTemplate",
        "Name    a-name-o…-letters",
        "State   current",
        "Reason  one two three",
        "        four",
        "",
        "Kind    ConfigMap",
        "Name    b",
        "State   failed",
        "Reason",
    ] == table(
        25,
        (
            "KubeadmControlPlaneTemplate",
            "a-name-of-many-letters",
            "current",
            "one two three four",
        ),
        ("ConfigMap", "b", "failed", ""),
    )


def test_characters_that_move_a_cursor_are_blanks():
    """The words of a server cannot draw on the terminal."""
    assert "ConfigMap  a     current  x [2Jy z" in table(
        80, ("ConfigMap", "a", "current", "x\x1b[2Jy\tz")
    )


def test_without_a_width_nothing_is_shortened():
    """Such as in a pipe."""
    name = "n" * 300

    assert name in table(0, ("ConfigMap", name, "current", ""))[1]


@pytest.mark.parametrize(
    ("name", "width", "expected"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "ab…ef"),
        ("abcdef", 4, "ab…f"),
        ("abcdef", 1, "…"),
    ],
)
def test_a_shortened_name_has_its_width(name, width, expected):
    """One character stands for all that is left out."""
    assert expected == layout.shorten(name, width)


WORDS = st.text("abcdef-", min_size=1, max_size=70)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)
ROWS = st.lists(
    st.tuples(
        st.text("KLM", min_size=1, max_size=63),
        st.text("nop", min_size=1, max_size=253),
        st.sampled_from(["current", "in progress", "terminating"]),
        TEXTS,
    ),
    max_size=4,
)


@given(ROWS, st.integers(80, 200))
def test_no_word_is_broken_and_no_line_too_long(rows, width):
    """Whatever the rows are, at 80 columns and more."""
    lines = layout.format_table(COLUMNS, rows, width)
    shown = " ".join(lines).split()
    whole = {word for row in rows for cell in row for word in cell.split()}
    titles = {column.title for column in COLUMNS}

    assert all(len(line) <= width for line in lines)
    for kind, _, state, _ in rows:
        assert kind in shown
        assert any(state in line for line in lines)
    for word in shown:
        head, cut, tail = word.partition(layout.ELLIPSIS)
        assert word in whole | titles or (
            cut and any(w.startswith(head) and w.endswith(tail) for w in whole)
        )
