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
OURS = "tacker_k8s_cr"


def faults(params: Mapping[str, Any], operation: str) -> list[str]:
    """Return a line for each invalid parameter, without its value.

    A value may be a secret under a wrong key, so only the expected value is
    shown.
    """
    found = [
        line
        for error in _validator().iter_errors(params)
        for line in _lines(error)
    ]
    properties = loaded()["properties"]
    ours = params.get(OURS)
    if isinstance(ours, Mapping):
        known, where = properties[OURS]["properties"], f"{ROOT}.{OURS}"
        found += _not_for(ours, known, operation, where)
        found += _endless(ours, where)
    return list(dict.fromkeys(found))


def operations(key: str) -> tuple[str, ...]:
    """Return the operations that read one of Tacker's own keys."""
    return tuple(loaded()["properties"][key]["x-operations"])


@functools.cache
def loaded() -> Mapping[str, Any]:
    """Return the published schema."""
    here = importlib.resources.files(__package__)
    text = here.joinpath("request.schema.json").read_text("utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    # Imported here: Tacker has it loaded, and a command may not need it.
    import jsonschema
    import jsonschema.validators

    kind = jsonschema.validators.extend(
        jsonschema.Draft202012Validator, {"pattern": _pattern}
    )
    return kind(loaded())


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
        known = error.schema["properties"]
        for key in sorted(error.instance.keys() - known.keys(), key=str):
            yield f"{where}.{key}: no such parameter; {_nearest(key, known)}"
    elif error.validator == "required":
        for key in error.validator_value:
            if key not in error.instance:
                wanted = error.schema["properties"][key].get("title", key)
                yield f"{where}.{key}: wanted {_known(wanted)}, found nothing"
    else:
        wanted, found = error.schema["title"], _kind(error.instance)
        yield f"{where}: wanted {wanted}, found {found}"


def _known(wanted: str) -> str:
    return wanted if wanted.startswith(("a ", "an ")) else "a value"


def _where(path: Sequence[str | int]) -> str:
    steps = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return ROOT + "".join(steps)


def _nearest(key: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(str(key), known, n=1)
    there = f"there are {', '.join(known)}"
    return f"is {near[0]} meant? {there}" if near else there


def _not_for(
    said: Mapping[str, Any],
    known: Mapping[str, Any],
    operation: str,
    where: str,
) -> Iterator[str]:
    for key, value in said.items():
        about = known.get(key, {})
        allowed = about.get("x-operations", (operation,))
        if operation not in allowed:
            yield (
                f"{where}.{key}: of no use to {operation}; it is for "
                f"{', '.join(allowed)}"
            )
        elif isinstance(value, Mapping):
            yield from _not_for(
                value, about.get("properties", {}), operation, f"{where}.{key}"
            )


def _endless(said: Mapping[str, Any], where: str) -> Iterator[str]:
    """Reject NaN, which Python's JSON accepts and no limit excludes."""
    for key, value in said.items():
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{where}.{key}: wanted a finite number"
        elif isinstance(value, Mapping):
            yield from _endless(value, f"{where}.{key}")


def _kind(value: Any) -> str:
    """Return the type of a value, without showing it."""
    if value is None:
        return "nothing"
    names = {dict: "a mapping", list: "a list", bool: "a boolean"}
    numbers = {int: "another number", float: "another number"}
    return {**names, **numbers}.get(type(value), "another text")
