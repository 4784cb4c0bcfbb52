"""From a text to its documents, and where its faults are."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.package import documents
from tacker_k8s_cr.package import yaml_doubts
from tacker_k8s_cr.package import yaml_loader


def _values(text: str) -> list[object]:
    found, problems = documents.read(text, "a.yaml")
    assert [] == problems
    return [item.value for item in found]


def _problem(text: str) -> Problem:
    _, problems = documents.read(text, "a.yaml")
    (problem,) = problems
    return problem


def test_file_has_several_documents() -> None:
    """Lines of three dashes separate documents."""
    assert [{"a": 1}, {"b": 2}] == _values("a: 1\n---\nb: 2\n")


def test_empty_documents_are_skipped() -> None:
    """Nothing, a comment or null is not a document, but it is counted."""
    found, _ = documents.read("# x\n---\na: 1\n---\n---\n# y\n---\nb: 1", "a")

    assert [1, 4] == [item.number for item in found]
    assert [3, 8] == [item.line for item in found]


def test_separator_inside_a_block_is_text() -> None:
    """Dashes that are indented belong to the text of a block."""
    assert [{"a": "x\n---\ny\n"}] == _values("a: |\n  x\n  ---\n  y\n")


def test_a_document_may_begin_on_the_line_of_its_separator() -> None:
    """YAML allows it, and Tacker reads it."""
    text = "--- {a: 1}\n--- # no\nb: 2\n--- |\n  c\n"

    assert [{"a": 1}, {"b": 2}, "c\n"] == _values(text)


def test_a_file_may_name_the_version_of_yaml() -> None:
    """The line stands before the first document."""
    assert [{"a": 1}] == _values("# x\n%YAML 1.2\n---\na: 1\n")


@pytest.mark.requirement("CR-16")
def test_json_values_follow_each_other() -> None:
    """A JSON stream needs no separators."""
    assert [{"a": 1}, {"b": [2]}] == _values('{"a": 1}{"b": [2]}\n')


def test_flow_mapping_is_yaml() -> None:
    """What begins with a brace and is not JSON is read as YAML."""
    assert [{"a": True}] == _values("{a: yes}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: b: c", Problem("a.yaml, line 1, column 5", "mapping values")),
        ("x: 1\n---\na: [1", Problem("a.yaml, line 3, column 4", "did not")),
        ("a: 1\n b: 2", Problem("a.yaml, line 2, column 3", "mapping")),
        ("a: 1\na: 2", Problem("a.yaml, line 2, column 1", "'a' is there")),
        ("a: {b: 1, b: 2}", Problem("a.yaml, line 1, column 11", "'b' is")),
        (
            "n: a\nno: b",
            Problem("a.yaml, line 2, column 1", "key 'no', which"),
        ),
        ("1: a\n'1': b", Problem("a.yaml, line 2, column 1", "'1' is there")),
        ('{"a": 1,\n "a": 2}', Problem("a.yaml, line 2, column 2", "'a' is")),
        ("a: *b", Problem("a.yaml, line 1, column 4", "is not known")),
        ("a: &b [*b]", Problem("a.yaml, line 1, column 8", "contains itself")),
        ("a: .inf", Problem("a.yaml, line 1, column 4", "infinity")),
        ("a: !!int x", Problem("a.yaml, line 1, column 4", "type int")),
        ("a: !!binary x", Problem("a.yaml, line 1, column 4", "base64")),
        ("? [a]\n: b", Problem("a.yaml, line 1, column 3", "a key is")),
        ("~: a", Problem("a.yaml, line 1, column 1", "null")),
        ("a: {<<: 1}", Problem("a.yaml, line 1, column 9", "<< takes")),
        ("a: \x07", Problem("a.yaml, line 1, column 4", "control")),
        ("a: 1\n---b: 2", Problem("a.yaml, line 2, column 4", "separator")),
        ("a: 1\n--- [b", Problem("a.yaml, line 2, column 5", "did not")),
        ("a: 1\n...\nb: 2", Problem("a.yaml, line 3, column 1", "")),
    ],
)
def test_fault_has_its_line_and_column(text: str, expected: Problem) -> None:
    """What does not parse is reported with file, line and column."""
    problem = _problem(text)

    assert expected.where == problem.where
    assert expected.what in problem.what


def _warned(text: str, *, lenient: bool = False) -> tuple[Any, list[str]]:
    warnings: list[Problem] = []
    (found,), problems = documents.read(
        text, "a.yaml", lenient=lenient, warnings=warnings
    )
    assert [] == problems
    return found.value, [str(warning) for warning in warnings]


@pytest.mark.parametrize(
    ("text", "value", "place"),
    [
        ("a: 1\na: 2", {"a": 2}, "line 2, column 1"),
        ("x:\n  {b: 1, b: 2}", {"x": {"b": 2}}, "line 2, column 10"),
        ("n: a\nno: b", {"false": "b"}, "line 2, column 1"),
        ('{"a": 1,\n "a": 2}', {"a": 2}, "line 1, column 1"),
    ],
)
def test_the_last_one_of_two_equal_keys_may_count(
    text: str, value: object, place: str
) -> None:
    """So PyYAML reads it, and with it Tacker."""
    found, warnings = _warned(text, lenient=True)

    assert value == found
    assert warnings[-1].startswith(f"a.yaml, {place}: the key")
    assert warnings[-1].endswith("; the last one counts")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: y", "line 1, column 4: is read as true"),
        ("a: [N]", "line 1, column 5: is read as false"),
        ("n: b", "line 1, column 1: is read as false"),
        ("a: 08", "is read as a number"),
        ("a: 1e3", "is read as a number"),
        ("a: 0o17", "is read as a number"),
        ("a: 1\n<<: {a: 2, b: 3}", "<< replaces the value of 'a'"),
    ],
)
def test_what_tacker_reads_otherwise_is_a_warning(
    text: str, said: str
) -> None:
    """PyYAML has a string there, and keeps what stands before a merge."""
    (warning,) = _warned(text)[1]

    assert said in warning
    assert "Tacker's own driver" in warning


@pytest.mark.parametrize(
    "text",
    [
        "a: yes",
        "a: 'y'",
        "a: 80",
        "a: 0777",
        "a: 1.5",
        "a: 1.5e+3",
        "a: ~",
        "a:",
        "a: 2001-01-01",
        "a: 1:30",
        "<<: {a: 2}\na: 1",
        "a: 1\n<<: {a: 1, b: 3}",
        '{"a": 1e3}',
    ],
)
def test_values_that_tacker_reads_alike_cause_no_warning(text: str) -> None:
    """Or what a server would refuse from Tacker's own driver."""
    assert [] == _warned(text)[1]


@given(st.text("0123456789abcdef+-._", min_size=6))
def test_a_warning_shows_no_number(text: str) -> None:
    """It may be a password without quotes."""
    assert text not in yaml_doubts.scalar_warning(text, 1000)


def test_faults_of_all_documents_are_reported() -> None:
    """A document that does not parse does not hide the ones behind it."""
    found, problems = documents.read("a: [\n---\nb: 1\n---\nc: d: e", "f")

    assert ([{"b": 1}], 2) == ([item.value for item in found], len(problems))


@pytest.mark.parametrize(
    "value",
    [
        "hunter2: x",
        "*hunter2",
        "&a [*a, hunter2]",
        "@hunter2",
        "%hunter2",
        "`hunter2",
        "!hunter2!x y",
        "!!int hunter2",
        "!!binary hunter2",
        '"hunter2',
        '"\\hunter2"',
        "'hunter2' hunter2",
        "[hunter2",
        "{a: hunter2, b",
        "|hunter2",
        "hunter2\n  \thunter2: x",
        "hunter2\x07",
        "1\nhunter2",
    ],
)
def test_fault_does_not_show_the_text(value: str) -> None:
    """A manifest may hold a secret, so a fault names only the place."""
    problem = _problem(f"kind: Secret\nstringData:\n  password: {value}\n")

    assert "hunter2" not in str(problem)
    assert re.match(r"a\.yaml, line \d, column \d", problem.where)


def test_merge_wins_over_keys_before_it() -> None:
    """As in Kubernetes, and unlike in YAML 1.1 (kubectl 1.36)."""
    text = "a: &a {p: 1, q: 2}\nb: {p: 3, <<: *a}\nc: {<<: *a, p: 3}"
    (value,) = _values(text)

    assert isinstance(value, dict)
    assert ({"p": 1, "q": 2}, {"p": 3, "q": 2}) == (value["b"], value["c"])


def test_alias_is_a_copy() -> None:
    """Changing what an alias stands for leaves its origin alone."""
    (value,) = _values("a: &a {b: [1]}\nc: *a")

    assert isinstance(value, dict)
    assert value["a"] == value["c"]
    assert value["a"]["b"] is not value["c"]["b"]


def test_an_anchor_can_be_defined_again() -> None:
    """An alias stands for the last definition before it, as in kubectl."""
    text = "a: &x {n: 1}\nb: *x\nc: &x [2]\nd: *x"

    assert [
        {"a": {"false": 1}, "b": {"false": 1}, "c": [2], "d": [2]}
    ] == _values(text)
    assert "hunter2" not in str(_problem(f"{text}\ne: *hunter2"))


@pytest.mark.parametrize("text", ["! 12", "! '12'", "&x ! 12", "! &x 12"])
def test_a_tag_without_a_name_makes_a_string(text: str) -> None:
    """As in kubectl."""
    assert [{"a": "12"}] == _values(f"a: {text}")
    assert [["12", 1]] == _values(f"[{text}, 1]")


def test_a_warning_about_an_anchor_is_given_once() -> None:
    """Its aliases have the same places."""
    assert 1 == len(_warned("a: &x {b: n}\nc: *x\nd: *x")[1])


def test_aliases_are_bounded() -> None:
    """Nine lines that stand for a thousand million values are refused."""
    lines = ["l0: &l0 [a, a, a, a, a, a, a, a, a]"]
    for n in range(1, 9):
        lines.append(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]")

    assert "aliases stand for" in _problem("\n".join(lines)).what


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", '{"a":'])
def test_depth_is_bounded(opening: str) -> None:
    """A text of nothing but beginnings is refused, and ends nothing."""
    assert "nested too deeply" == _problem(opening * 100_000).what


def test_depth_that_is_in_use_is_accepted() -> None:
    """A hundred levels are twice what the largest definitions have."""
    assert 1 == len(_values("{a: " * 100 + "1" + "}" * 100))
    assert 100 < yaml_loader.MAX_DEPTH


def test_number_of_thousands_of_digits_is_refused_or_text() -> None:
    """It is not a number to Kubernetes; YAML keeps it as text."""
    digits = "9" * 5000

    assert [{"a": digits}] == _values(f"a: {digits}")
    assert "too large" in _problem(f'{{"a": {digits}}}').what


def test_half_a_surrogate_pair_is_replaced() -> None:
    """An invalid character cannot be sent; Go replaces it too."""
    assert [{"a": "\ufffd"}] == _values('{"a": "\\ud800"}')


@given(st.text(alphabet="ab:-[]{}&*<'\"!|>?#%@,\n\t .1~", max_size=60))
def test_any_text_is_documents_or_faults(text: str) -> None:
    """Whatever the text, there is an answer and no exception."""
    found, problems = documents.read(text, "a")

    assert all(item.value is not None for item in found)
    assert all(problem.where.startswith("a, line ") for problem in problems)
