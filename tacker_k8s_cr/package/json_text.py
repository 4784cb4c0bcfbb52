"""A stream of JSON values, one after the other, as kubectl takes them."""

from __future__ import annotations

from collections.abc import Iterator
import functools
import json
from typing import Any

from tacker_k8s_cr.package import yaml_scalars
from tacker_k8s_cr.package import yaml_text
from tacker_k8s_cr.package.yaml_loader import MAX_DEPTH
from tacker_k8s_cr.package.yaml_loader import YamlError


class JsonSyntaxError(Exception):
    """The text begins with a brace but is not JSON; it may be YAML."""


class _Refused(Exception):
    """Is JSON, and means nothing to a server."""


def read(
    text: str, repeated: list[str] | None = None
) -> Iterator[tuple[Any, int]]:
    """Yield the values with their lines.

    :param repeated: receives the sentence about a repeated key, of which the
        last one then counts; without it, a repeated key is a fault.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=functools.partial(_pairs, repeated),
        parse_constant=_refuse_constant,
        parse_float=_number,
        parse_int=_number,
    )
    position = 0
    while (position := _skip_space(text, position)) < len(text):
        line = text.count("\n", 0, position)
        try:
            value, end = decoder.raw_decode(text, position)
        except _Refused as error:
            raise _error_at(text[position:], str(error), line) from error
        except RecursionError as error:
            raise YamlError("nested too deeply", line, 0) from error
        except ValueError as error:
            raise JsonSyntaxError from error
        _check_depth(value, line)
        yield value, line
        position = end


def _number(digits: str) -> Any:
    """As in YAML, which keeps as text what is too large for a number."""
    value = yaml_scalars.to_json_number(yaml_scalars.plain_value(digits))
    if isinstance(value, str):
        raise _Refused("a number is too large")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _pairs(
    repeated: list[str] | None, pairs: list[tuple[str, Any]]
) -> dict[str, Any]:
    built: dict[str, Any] = {}
    for name, value in pairs:
        if name in built and repeated is None:
            raise _Refused(yaml_text.duplicate_key_message(name))
        if name in built and repeated is not None:
            repeated.append(
                f"{yaml_text.duplicate_key_message(name)}; "
                f"{yaml_text.LAST_WINS}"
            )
        built[_whole(name)] = _whole(value)
    return built


def _whole(value: Any) -> Any:
    """Half of a surrogate pair cannot be sent; Go puts U+FFFD there."""
    if isinstance(value, str) and not value.isascii():
        return yaml_text.SURROGATE.sub("\ufffd", value)
    return value


def _error_at(text: str, what: str, line: int) -> YamlError:
    """JSON's decoder does not say where; as YAML the text may tell."""
    try:
        yaml_text.read(text)
    except YamlError as fault:
        if fault.what == what:
            return YamlError(what, fault.line + line, fault.column)
    return YamlError(what, line, 0)


def _check_depth(value: Any, line: int) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for container in level
            for item in _children(container)
            if isinstance(item, dict | list)
        ]
        if not level:
            return
    raise YamlError("nested too deeply", line, 0)


def _children(container: Any) -> list[Any]:
    if isinstance(container, dict):
        return list(container.values())
    return container if isinstance(container, list) else []


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
