"""Translate a server's message about a manifest for its author: pure.

The response to a server-side apply of a manifest that does not fit the schema
of its kind has code 500 and the message of the library that merges fields.
"""

from __future__ import annotations

import re

_PREFIXES = (
    # Of structured-merge-diff, with the object and its kind in brackets.
    re.compile(r"^failed to create typed patch object \([^)]*\): "),
    re.compile(
        r"^failed to convert new object \([^)]*\) to proper version: "
        r"(?:unable to convert unstructured object to [^:]*: )?"
        r"(?:error decoding from json: )?"
    ),
    # Of a create or update with strict validation.
    re.compile(r"^.* cannot be handled as an? .*: strict decoding error: "),
    # The caller that shows the message names the object.
    re.compile(r'^\S+ "[^"]*" is invalid: '),
)
_SEVERAL = "errors:\n"
_FIELD = re.compile(r"\.(\S+): (.*)", re.DOTALL)
UNDECLARED = "field not declared in schema"
REPEATED = re.compile(r"duplicate entries for key (\[.*\])")
_DUMPED = re.compile(r", got &.*", re.DOTALL)
"""A value as Go prints a pointer to it; it may be a secret, too."""

_NO_TEXT = re.compile(r"expected string, got &[\w.]*\{Value:(?!map\[|\[)")
_QUOTES = "; put the value in quotes"

_STRICT = re.compile(r'unknown field "([^"]*)"')


def fields(message: str) -> tuple[tuple[str, str], ...]:
    """Return the fields that do not fit, each with the reason.

    A path is that of the library: ``.spec.containers[name="c"].foo``.
    """
    found = (_FIELD.fullmatch(line) for line in _lines(message))
    return tuple((f".{match[1]}", match[2]) for match in found if match)


def plain_text(message: str) -> str:
    """Return a message without redundant or unusable parts.

    ``.spec.foo: field not declared in schema`` is an unknown field
    ``spec.foo``.
    """
    lines = [_one(line) for line in _lines(message)]
    if len(lines) > 1:
        return "; ".join(lines)
    return _STRICT.sub(r"unknown field \1", lines[0])


def _lines(message: str) -> list[str]:
    """Return the message for each field, without its prefix."""
    for prefix in _PREFIXES:
        message = prefix.sub("", message) or message
    if not message.startswith(_SEVERAL):
        return [message]
    lines = message.removeprefix(_SEVERAL).splitlines()
    return [line.strip() for line in lines]


def _one(text: str) -> str:
    found = _FIELD.fullmatch(text)
    if not found:
        return text
    path, why = found.groups()
    if why == UNDECLARED:
        return f"unknown field {path}"
    advice = _QUOTES if _NO_TEXT.match(why) else ""
    return f"field {path}: {_DUMPED.sub('', why)}{advice}"
