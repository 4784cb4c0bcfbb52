"""Scalars mean what Kubernetes reads, in all that can be written."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.package import documents
from tacker_k8s_cr.package import yaml_scalars

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    # Beyond 2^53 a float becomes the integer that Go writes for it.
    | st.floats(-(2.0**53), 2.0**53)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs", "Cc"])),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y", True),
        ("Off", False),
        ("~", None),
        ("", None),
        ("2001-01-01", "2001-01-01"),
        ("1:30", "1:30"),
        ("0777", 511),
        ("0o17", 15),
        ("1e3", 1000.0),
        ("08", 8.0),
        ("=", "="),
        ("<<", "<<"),
        ("1_000", 1000),
        ("1e400", "1e400"),
    ],
)
def test_plain_scalar_is_read_as_kubernetes_reads_it(
    text: str, expected: yaml_scalars.Scalar
) -> None:
    """A scalar without quotes has the type that go-yaml 2 gives it."""
    value = yaml_scalars.plain_value(text)

    assert (type(expected), expected) == (type(value), value)


def test_integer_beyond_64_bits_becomes_a_float() -> None:
    """A server gets such a number with the digits that a float keeps."""
    assert 1.2345678901234567e19 == yaml_scalars.to_json_number(
        12345678901234567890
    )
    assert isinstance(yaml_scalars.to_json_number(2**63), float)
    assert isinstance(yaml_scalars.to_json_number(2**63 - 1), int)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_infinity_is_refused(value: float) -> None:
    """JSON has no number for it, so nothing could be sent."""
    with pytest.raises(ValueError, match="JSON"):
        yaml_scalars.to_json_number(value)


def test_key_of_any_type_becomes_a_name() -> None:
    """A key that is a number or a boolean is shown as Go shows it."""
    keys = [
        yaml_scalars.field_name(value)
        for value in (True, 16, 1.1, 1234567.0, "a")
    ]

    assert ["true", "16", "1.1", "1.234567e+06", "a"] == keys


@pytest.mark.parametrize("value", [None, 2**63])
def test_key_without_a_name_is_refused(value: yaml_scalars.Scalar) -> None:
    """Kubernetes has no name for a null key, nor for one of 64 bits."""
    with pytest.raises(ValueError, match="key"):
        yaml_scalars.field_name(value)


@given(st.text())
def test_any_text_is_a_scalar(text: str) -> None:
    """Every text without quotes has a value, and it can be a key or not."""
    value = yaml_scalars.plain_value(text)

    assert isinstance(value, str | int | float | None)
    try:
        yaml_scalars.field_name(value)
        json.dumps(yaml_scalars.to_json_number(value), allow_nan=False)
    except ValueError:
        assert value is None or not isinstance(value, str)


@given(st.from_regex(r"[-+]?[0-9_.eExobXOB:a-fA-F]{1,40}", fullmatch=True))
def test_anything_like_a_number_is_a_number_or_text(text: str) -> None:
    """What looks like a number is one, or stays as it was written."""
    value = yaml_scalars.plain_value(text)

    assert value == text or not isinstance(value, str)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_keeps_its_value(value: float) -> None:
    """Turning a float without a fraction into an integer changes nothing.

    Above 2^53 an integer has digits that the float does not know; Go writes
    zeros there, which read back as the same float.
    """
    found = yaml_scalars.to_json_number(value)

    assert value == float(found)  # type: ignore[arg-type]


@given(JSON)
def test_json_is_read_as_it_is(value: object) -> None:
    """A JSON document has the value that JSON gives it."""
    found, problems = documents.read(json.dumps({"v": value}), "a.json")

    assert ([], 1) == (problems, len(found))
    assert {"v": value} == found[0].value


@given(JSON)
def test_json_in_yaml_is_read_as_it_is(value: object) -> None:
    """So has JSON instead of a YAML value."""
    text = "v: " + json.dumps(value, ensure_ascii=False)
    found, problems = documents.read(text, "a.yaml")

    assert ([], [{"v": value}]) == (problems, [item.value for item in found])
