"""What a server says about a manifest, for a reader of that file: pure.

A server-side apply of a manifest that does not fit the schema of its kind
is answered with code 500 and the words of the library that merges fields.
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
    # The object is named by whoever shows the message.
    re.compile(r'^\S+ "[^"]*" is invalid: '),
)
_SEVERAL = "errors:\n"
_FIELD = re.compile(r"\.(\S+): (.*)", re.DOTALL)
_UNDECLARED = "field not declared in schema"
_DUMPED = re.compile(r", got &.*", re.DOTALL)
"""A value as Go prints a pointer to it; it may be a secret, too."""

_STRICT = re.compile(r'unknown field "([^"]*)"')


def plain(message: str) -> str:
    """Return a message without what the reader knows, or cannot use.

    ``.spec.foo: field not declared in schema`` is an unknown field
    ``spec.foo``.
    """
    for prefix in _PREFIXES:
        message = prefix.sub("", message) or message
    if not message.startswith(_SEVERAL):
        return _STRICT.sub(r"unknown field \1", _one(message))
    lines = message.removeprefix(_SEVERAL).splitlines()
    return "; ".join(_one(line.strip()) for line in lines)


def _one(text: str) -> str:
    found = _FIELD.fullmatch(text)
    if not found:
        return text
    path, why = found.groups()
    if why == _UNDECLARED:
        return f"unknown field {path}"
    return f"field {path}: {_DUMPED.sub('', why)}"
