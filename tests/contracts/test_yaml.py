"""The reader interprets YAML as kubectl does.

Each row is a value in a manifest. All of them go through kubectl in one call,
which prints what it would send, and through the project's reader.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
import json
import pathlib
from typing import Any

import pytest

from tacker_k8s_cr.package import documents
from tacker_k8s_cr.package import files as package_files

pytestmark = pytest.mark.plane

REFUSED = object()

SCALARS = (
    # Booleans of YAML 1.1, in the spellings that count.
    *("y", "Y", "yes", "Yes", "YES", "yEs", "on", "On", "ON", "oN"),
    *("n", "N", "no", "No", "NO", "nO", "off", "Off", "OFF", "oFF"),
    *("true", "True", "TRUE", "tRue", "false", "False", "FALSE", "t", "f"),
    # Nothing at all.
    *("", "~", "null", "Null", "NULL", "nUll", "none"),
    # Integers, and what only looks like one.
    *("0", "-0", "00", "1", "+1", "-1", "1_000", "1__0", "1_", "_1", "+_1"),
    *("0x1F", "0X1f", "-0x1F", "+0x1F", "0x", "0x_1", "0xg", "-0x0"),
    *("0777", "-0777", "0o777", "0O17", "0o8", "08", "09", "0_7", "019"),
    *("0b11", "-0b11", "+0b11", "0B11", "0b12", "0b", "-0b1_0"),
    *("1:30", "190:20:30", "1,000", "1 000", "1-1", "12e03"),
    # Integers at the edges of 64 bits.
    *("9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "-9223372036854775809"),
    *("12345678901234567890", "18446744073709551615"),
    *("18446744073709551616", "99999999999999999999"),
    *("0xFFFFFFFFFFFFFFFF", "0x1FFFFFFFFFFFFFFFF"),
    *("0777777777777777777777777", "123456789012345678"),
    # Floats.
    *("1.", "1.0", "1.5", "01.5", "-0.0", ".5", "+.5", "-.5", ".5e3", "0."),
    *("1e3", "1E3", "1e+3", "1e-3", "1e", "1e3.5", "e3", ".e5", "."),
    *(".1_0", "1._5", "1.5_0", "1e20", "1e21", "1e-7", "6.02e23", "1e-400"),
    *("1e400", "-1e400", "1234567890123456768.0", "1.2345678901234567e18"),
    *("9.3e18", "0.1", "3.141592653589793", "1e22", "5e-324"),
    *(".inf", ".Inf", ".INF", ".iNF", "+.inf", "-.inf", ".nan", ".NaN"),
    *("inf", "nan", "infinity", "NaN"),
    # Dates.
    *("2001-01-01", "2001-1-1", "2001-01-01T00:00:00Z"),
    *("2001-01-01 00:00:00", "2001-01-01t00:00:00.5+01:00", "2001-13-01"),
    # Signs that YAML gives a meaning to elsewhere.
    *("=", "<<", "+", "-", "- 1", "@a", "`a", "%a", "*", "&a", "!", "|"),
    *("a: b: c", "a #b", "a#b", "v1.35.0", "1.2.3", "10Gi", "500m", "1/2"),
    # Quotes and blocks.
    *('"123"', "'yes'", '""', '"\\u00e9"', '"\\U0001F600"', "'it''s'"),
    *('"\\ud83d\\ude00"', '"a\\nb"', '"open', "'open"),
    *("|\n      a\n       b\n", ">-\n      a\n      b\n\n      c\n"),
    *("|+\n      a\n\n", "a\n      b", "é", "日本"),
    # Tags.
    *("!!str 123", "!!str", "!!str yes", '!!int "3"', "!!int x", "!!int 3.5"),
    *("!!float 3", '!!float "1e3"', "!!float x", '!!bool "yes"', "!!bool x"),
    *('!!null ""', "!!null x", "!!timestamp 2001-01-01", "!!foo 12"),
    *("!foo bar", "!foo 12", "! 12", "!!map {}", "!!seq []", "!foo {a: 1}"),
    *("!!binary aGk=", '!!binary "%%"', "!!set {a, b}", "!!omap [a: 1]"),
)

COLLECTIONS = (
    *("[]", "{}", "[1, [2, {a: 3}]]", "{a b: c, d}", "[a, , b]", "{a: }"),
    "[a, b,]",
    # Keys become strings.
    *("{1: a}", "{0x10: a}", "{1_0: a}", "{yes: a}", "{n: a}", "{!!str 1: a}"),
    *("{1.5: a}", "{1e3: a}", "{0.1: a}", "{0.00001: a}", "{1.10: a}"),
    *("{1234567.0: a}", "{123456.7: a}", "{16777217.0: a}", "{1e39: a}"),
    *("{.inf: a}", "{2001-01-01: a}", "{!!binary aGk=: x}", "{1e-45: a}"),
    *("{null: a}", "{~: a}", "{12345678901234567890: a}", '{"": a}'),
    *("{? [1]: a}", "{? {a: b}: c}", "{? a}", '{"<<": 1}', "{1.25: a}"),
    # Anchors and merges.
    *("[&a 1, *a]", "[&a 1, &a 2, *a]", "&a [*a]", "*unknown", "{*a: b}"),
    "{x: &a k, y1: {*a : v}}",
    "{x: &a {p: 1, q: 2}, y1: {<<: *a, p: 3}}",
    "{x: &a {p: 1, q: 2}, y1: {p: 3, <<: *a}}",
    "{x: &a {p: 1}, z: &b {p: 2, r: 3}, y1: {<<: [*a, *b]}}",
    *("{<<: 1}", "{<<: [1]}", "{<<: {p: 1}}", "{<<: {p: 1}, <<: {r: 1}}"),
    "{<<: {p: 1}, <<: {p: 2}}",
    "{x: &a {<<: {p: 1}}, y1: {<<: *a}}",
)

DOCUMENTS = (
    # A file that begins with a brace may be JSON, several values of it.
    '{"v": 1.0}',
    '{"v": 1e400}',
    '{"v": 12345678901234567890}',
    '{"v": 1E3, "w": -0}',
    '{"v": NaN}',
    '{"v": "\\ud83d\\ude00"}',
    '{"v": "\\ud83d"}',
    '{"v": y}',
    "{v: y, w: 0o17}",
    '\t{"v":\t1}',
    "v: 1 # comment",
    "v: 1\n---   # a comment\n",
    "v: 1\n--- w: 2\n",
    "v: 1\n---w\n",
    "\ufeffv: 1",
    "v: 1\r\nw: 2\r\n",
    "%YAML 1.1\n---\nv: 1\n",
    "v:\t1",
    "\tv: 1",
    "v: \x07",
    "v: [1\nw: 2",
)


TOLERATED = ("v: 1\n--- w: 2\n", "%YAML 1.1\n---\nv: 1\n")
"""What kubectl refuses, and Tacker reads as YAML has it: so do we."""

ENCODED = (
    ("utf-8", codecs.BOM_UTF8),
    ("utf-16-le", codecs.BOM_UTF16_LE),
    ("utf-16-be", codecs.BOM_UTF16_BE),
    # Without a mark it is not UTF-8; of UTF-32 there is no mark.
    ("utf-16-le", b""),
    ("utf-16-be", b""),
    ("utf-32-le", codecs.BOM_UTF32_LE),
)
ENCODED_FROM = len(SCALARS) + len(COLLECTIONS) + len(DOCUMENTS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with one file for each row."""
    folder = tmp_path_factory.mktemp("rows")
    rows = [f"v: {value}" for value in (*SCALARS, *COLLECTIONS)]
    for number, row in enumerate([*rows, *DOCUMENTS]):
        text = _manifest(number, row)
        (folder / f"{number:04}.yaml").write_text(text, newline="")
    for index, (encoding, mark) in enumerate(ENCODED, ENCODED_FROM):
        text = _manifest(index, "v: é\r\nw: |\r\n  日本\r\n")
        data = mark + text.encode(encoding)
        (folder / f"{index:04}.yaml").write_bytes(data)
    return folder


def _manifest(number: int, row: str) -> str:
    """A ConfigMap, since every server has them; kubectl takes any field."""
    name = f"row-{number}"
    head = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
    }
    stripped = row.lstrip("\ufeff\t")
    if stripped.startswith("{"):
        inner = json.dumps(head)[1:-1]
        return row.replace("{", "{" + inner + ", ", 1) + "\n"
    yaml = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"
        f"  name: {name}\n  namespace: default\n"
    )
    if row.startswith("%"):
        return row + yaml
    mark = "\ufeff" if row.startswith("\ufeff") else ""
    return mark + yaml + row.removeprefix("\ufeff") + "\n"


@pytest.fixture(scope="module")
def kubectl_reading(kubectl: Any, files: pathlib.Path) -> dict[str, Any]:
    """By name of the object, what kubectl makes of each file it accepts."""
    done = kubectl.run(
        "create",
        "--dry-run=client",
        "--validate=false",
        "--output=json",
        f"--filename={files}",
    )
    return {
        obj["metadata"]["name"]: obj
        for obj in _stream(done.stdout)
        if "metadata" in obj
    }


def _stream(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(parse_int=_as_sent)
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        value, position = decoder.raw_decode(text, position)
        yield value


def _as_sent(digits: str) -> int | float:
    """kubectl shows a float without a fraction as one would an integer."""
    number = int(digits)
    return number if -(2**63) <= number < 2**63 else float(number)


def _ours(path: pathlib.Path) -> Any:
    try:
        text = package_files.read_named_file(path)
    except package_files.UnreadableFile:
        return REFUSED
    found, problems = documents.read(text, path.name)
    if problems:
        return REFUSED
    return found[0].value


def _same(expected: Any, found: Any) -> bool:
    """Equal, with numbers that are equal and booleans that are none."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(
            _same(expected[key], found[key]) for key in expected
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(_same, expected, found))
    whole = isinstance(expected, int) == isinstance(found, int)
    kind = isinstance(expected, bool) == isinstance(found, bool)
    return kind and whole and bool(expected == found)


@pytest.mark.parametrize("number", range(len(SCALARS) + len(COLLECTIONS)))
def test_value_means_what_kubectl_sends(
    number: int, kubectl_reading: dict[str, Any], files: pathlib.Path
) -> None:
    """A value is read as kubectl reads it, and refused where it refuses."""
    row = (*SCALARS, *COLLECTIONS)[number]
    obj = kubectl_reading.get(f"row-{number}")
    expected = REFUSED if obj is None else obj.get("v", "absent")
    found = _ours(files / f"{number:04}.yaml")
    value = found if found is REFUSED else found.get("v", "absent")

    assert _same(expected, value), (row, expected, value)


@pytest.mark.parametrize("index", range(len(DOCUMENTS)))
def test_document_means_what_kubectl_sends(
    index: int, kubectl_reading: dict[str, Any], files: pathlib.Path
) -> None:
    """So is a whole file, whatever it begins and ends with."""
    number = len(SCALARS) + len(COLLECTIONS) + index
    expected = kubectl_reading.get(f"row-{number}", REFUSED)
    found = _ours(files / f"{number:04}.yaml")
    if DOCUMENTS[index] in TOLERATED:
        assert expected is REFUSED
        expected = found
        assert found is not REFUSED

    assert _same(expected, found), (DOCUMENTS[index], expected, found)


@pytest.mark.parametrize("index", range(len(ENCODED)))
def test_encoding_means_what_kubectl_sends(
    index: int, kubectl_reading: dict[str, Any], files: pathlib.Path
) -> None:
    """A byte order mark names UTF-8 or UTF-16, and nothing else does."""
    number = ENCODED_FROM + index
    expected = kubectl_reading.get(f"row-{number}", REFUSED)
    found = _ours(files / f"{number:04}.yaml")

    assert _same(expected, found), (ENCODED[index], expected, found)
    assert (expected is REFUSED) == (index > 2)
