"""The meaning of a YAML scalar in Kubernetes, which differs from PyYAML's.

kubectl reads YAML with go-yaml 2 and turns it into JSON on the way. So
``y`` is true, a date is a string, ``1:30`` is a string, and an integer that
needs more than 64 bits loses its last digits. The rules here are those of
go-yaml's resolver and of Go's JSON; a contract test compares them with
kubectl.
"""

from __future__ import annotations

import base64
import binascii
import decimal
import math
import re
import struct

Scalar = str | int | float | bool | None

_STANDARD = "tag:yaml.org,2002:"

_TYPES: dict[type, str] = {
    bool: "bool",
    float: "float",
    int: "int",
    str: "str",
    type(None): "null",
}

_NAMED: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "y", "Y"), True),
    **dict.fromkeys(("yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "n", "N"), False),
    **dict.fromkeys(("no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF"), math.inf),
    **dict.fromkeys(("+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}

_BASES = (
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+"), 16),
    (re.compile(r"[-+]?0[bB][01]+"), 2),
    (re.compile(r"[-+]?0[oO]?[0-7]+"), 8),
    # Python refuses to convert thousands of decimal digits; 64 bits hold 20.
    (re.compile(r"[-+]?(0|[1-9][0-9]{0,19})"), 10),
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_GROUPED = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?")

_SMALLEST = -(2**63)
_LARGEST = 2**63 - 1
_LARGEST_UNSIGNED = 2**64 - 1


def plain_value(text: str) -> Scalar:
    """The value of a scalar without quotes and without a tag.

    Integers that do not fit are still exact, and floats still floats; see
    `to_json_number` for what becomes of them.
    """
    if text in _NAMED:
        return _NAMED[text]
    first = text[0]
    if first in "+-0123456789":
        return _number(text.replace("_", ""), text)
    if first == "." and _GROUPED.fullmatch(text):
        return _float(text.replace("_", ""), text)
    return text


def _number(digits: str, text: str) -> Scalar:
    for pattern, base in _BASES:
        if pattern.fullmatch(digits):
            value = int(_unprefixed(digits, base), base)
            if _SMALLEST <= value <= _LARGEST_UNSIGNED:
                return value
            break
    if _FLOAT.fullmatch(digits):
        return _float(digits, text)
    return text


def _unprefixed(digits: str, base: int) -> str:
    if base == 10:
        return digits
    sign = "-" if digits.startswith("-") else ""
    unsigned = digits.lstrip("+-")
    return sign + (unsigned[2:] if unsigned[1:2].isalpha() else unsigned)


def _float(digits: str, text: str) -> Scalar:
    """Go's ParseFloat reports an overflow; the text then stays a string."""
    value = float(digits)
    return text if math.isinf(value) else value


def tagged_value(tag: str, text: str) -> Scalar:
    """The value of a scalar with an explicit tag.

    :raises ValueError: the text is not of the tag's type.
    """
    name = tag.removeprefix(_STANDARD)
    if name == "binary":
        return _binary(text)
    if name not in _TYPES.values():
        return text
    if name == "str":
        return text
    value = plain_value(text)
    found = _TYPES[type(value)]
    if name == "float" and found == "int":
        return float(value)  # type: ignore[arg-type]
    if found != name:
        raise ValueError(f"the value is not of the type {name} of its tag")
    return value


def _binary(text: str) -> str:
    packed = text.replace("\n", "").replace("\r", "")
    try:
        return base64.b64decode(packed, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("the !!binary value is not base64 text") from error


def to_json_number(value: Scalar) -> Scalar:
    """The scalar as it is after Go's JSON: what a server would receive.

    A float without a fraction is an integer where 64 bits hold it, and an
    integer that they do not hold is a float.

    :raises ValueError: infinity and "not a number" have no JSON.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("infinity and NaN cannot be written as JSON")
        return _whole(value)
    if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
        return float(value)
    return value


def _whole(value: float) -> int | float:
    # Go writes a float with the fewest digits that tell it from others and
    # fills up with zeros below 1e21; its reader then takes an integer.
    if not value.is_integer() or abs(value) >= 1e21:
        return value
    written = int(decimal.Decimal(repr(value)))
    return written if _SMALLEST <= written <= _LARGEST else value


def field_name(value: Scalar) -> str:
    """The name of a field from a key that may be no string.

    :raises ValueError: the key is null or an integer beyond 64 bits.
    """
    if isinstance(value, str):
        return value
    if value is None:
        raise ValueError("a key is null")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_key(value)
    if value > _LARGEST:
        raise ValueError("a key is an integer that needs more than 64 bits")
    return str(value)


def _float_key(value: float) -> str:
    """With the fewest digits that 32 bits need, as Go's 'g' format does."""
    if math.isnan(value):
        return ".nan"
    try:
        short: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:  # beyond 32 bits
        short = math.copysign(math.inf, value)
    if math.isinf(short):
        return ".inf" if short > 0 else "-.inf"
    for decimals in range(9):
        shown = f"{short:.{decimals}e}"
        if struct.pack("f", float(shown)) == struct.pack("f", short):
            break
    exponent = int(shown.partition("e")[2])
    if -4 <= exponent < 6:
        return f"{short:.{max(decimals - exponent, 0)}f}"
    return shown
