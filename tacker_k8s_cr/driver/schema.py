"""Validate the parameters of a request by their published schema.

The documentation shows the same schema. ``title`` is the expected value, and
``x-operations`` lists the operations that use a parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import difflib
import functools
import importlib.resources
import json
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jsonschema

ROOT = "additionalParams"
OWN_KEY = "tacker_k8s_cr"
FILES = "lcm-kubernetes-def-files"


def find_problems(params: Mapping[str, Any], operation: str) -> list[str]:
    """Return a line for each invalid parameter, without its value.

    A value may be a secret under a wrong key, so only the expected value is
    shown.
    """
    lines = [
        line
        for error in _validator().iter_errors(params)
        for line in _lines(error)
    ]
    properties = load()["properties"]
    own = params.get(OWN_KEY)
    if isinstance(own, Mapping):
        own_properties, where = (
            properties[OWN_KEY]["properties"],
            f"{ROOT}.{OWN_KEY}",
        )
        lines += _check_operations(own, own_properties, operation, where)
        lines += _check_finite(own, where)
    return list(dict.fromkeys(lines))


def operations(key: str) -> tuple[str, ...]:
    """Return the operations that read one of Tacker's own keys."""
    return tuple(load()["properties"][key]["x-operations"])


@functools.cache
def load() -> Mapping[str, Any]:
    """Return the published schema."""
    package = importlib.resources.files(__package__)
    text = package.joinpath("request.schema.json").read_text("utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    # Imported here: Tacker has it loaded, and a command may not need it.
    import jsonschema
    import jsonschema.validators

    kind = jsonschema.validators.extend(
        jsonschema.Draft202012Validator, {"pattern": _pattern}
    )
    return kind(load())


def _pattern(
    _: Any, pattern: str, value: Any, __: Any
) -> Iterator[jsonschema.ValidationError]:
    """Match as other languages do: Python's ``$`` accepts a line break."""
    import jsonschema

    if isinstance(value, str) and not re.fullmatch(pattern, value):
        yield jsonschema.ValidationError("another text")


def _lines(error: jsonschema.ValidationError) -> Iterator[str]:
    where = _where(error.absolute_path)
    if error.validator == "additionalProperties":
        allowed = error.schema["properties"]
        for key in sorted(error.instance.keys() - allowed.keys(), key=str):
            yield f"{where}.{key}: no such parameter; {_nearest(key, allowed)}"
    elif error.validator == "required":
        for key in error.validator_value:
            if key not in error.instance:
                expected = error.schema["properties"][key].get("title", key)
                yield (
                    f"{where}.{key}: wanted {_known(expected)}, found nothing"
                )
    else:
        expected, actual = error.schema["title"], _kind(error.instance)
        yield f"{where}: wanted {expected}, found {actual}"


def _known(title: str) -> str:
    return title if title.startswith(("a ", "an ")) else "a value"


def _where(path: Sequence[str | int]) -> str:
    steps = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return ROOT + "".join(steps)


def _nearest(key: str, allowed: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(str(key), allowed, n=1)
    listed = f"there are {', '.join(allowed)}"
    return f"is {near[0]} meant? {listed}" if near else listed


def _check_operations(
    params: Mapping[str, Any],
    properties: Mapping[str, Any],
    operation: str,
    where: str,
) -> Iterator[str]:
    for key, value in params.items():
        about = properties.get(key, {})
        allowed = about.get("x-operations", (operation,))
        if operation not in allowed:
            yield (
                f"{where}.{key}: of no use to {operation}; it is for "
                f"{', '.join(allowed)}"
            )
        elif isinstance(value, Mapping):
            yield from _check_operations(
                value, about.get("properties", {}), operation, f"{where}.{key}"
            )


def _check_finite(params: Mapping[str, Any], where: str) -> Iterator[str]:
    """Reject NaN, which Python's JSON accepts and no limit excludes."""
    for key, value in params.items():
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{where}.{key}: wanted a finite number"
        elif isinstance(value, Mapping):
            yield from _check_finite(value, f"{where}.{key}")


def _kind(value: Any) -> str:
    """Return the type of a value, without showing it."""
    if value is None:
        return "nothing"
    names = {dict: "a mapping", list: "a list", bool: "a boolean"}
    numbers = {int: "another number", float: "another number"}
    return {**names, **numbers}.get(type(value), "another text")
