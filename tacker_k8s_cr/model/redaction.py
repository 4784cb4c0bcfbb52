"""Redact the secrets in a server's messages about an object: pure.

Servers and webhooks quote what they refuse: one value, or the whole object
where a part of it cannot be changed. What was sent is known here, so its
secrets are found by their place and taken out of the sentence.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import json
import re
from typing import Any

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""An annotation that holds a whole manifest as text."""

MIN_PIECE = 16
"""So many characters of a secret in a row are not shown either: what is
quoted may be cut, or broken into lines."""

MIN_SECRET = 6
"""A value with fewer characters is taken out only where it stands alone: it
may be a part of any word."""

_NAME = re.compile(
    r"pass(word|wd|phrase|code)$|secret$|token$|credentials?$|kubeconfig$"
    r"|(api|access|auth|private|secret|signing|encryption)[-_.]?key$"
    r"|(user|custom|bootstrap)[-_.]?data$|authorization$|cookie$"
    r"|(dsn|connection[-_.]?string)$"
    # Of a file that Cluster API writes on a machine.
    r"|^content$",
    re.IGNORECASE,
)
"""Names of fields, variables and parameters whose values are secret."""

_USER = re.compile(r"\b[a-z][a-z0-9+.-]*://([^\s/?#@]+)@", re.IGNORECASE)
"""A URL with a user, and perhaps a password, in it."""

_DUMP = re.compile(r"(?:\b\w+\.[A-Z]\w*|\bmap\[\w+\][\w.]*(?: \{\})?)\{")
"""The beginning of an object as Go writes it."""

_DIFF = re.compile(r"\n@@ .*(?:\n(?:[-+@ ].*)?)*")
"""The lines in which a server shows what a change would have changed."""

_QUOTED_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)

_SETTING = re.compile(r"[-\s\"']*([\w.-]+)[\"']?\s*[=:]\s*[\"']?([^\s\"']+)")
"""An argument such as ``--password=...``, or a line of a file."""

_FLAG = re.compile(r"--?([\w.-]+)")
"""One such as ``--password``, with the value in the next argument."""


def redact(message: str, kind: str, body: bytes | None) -> str:
    """A message without the secrets of what was sent for an object."""
    if body is None or not message:
        return message
    message = _without_dumps(_DIFF.sub("", message))
    return remove_secrets(message, known_secrets(kind, json.loads(body)))


def known_secrets(kind: str, *views: Any) -> tuple[str, ...]:
    """The secrets in views of an object, the longest first."""
    found = {value for view in views for value in secrets(kind, view) if value}
    # As they are, and as they stand between quotation marks.
    found |= {json.dumps(value)[1:-1] for value in found}
    found |= {json.dumps(value, ensure_ascii=False)[1:-1] for value in found}
    return tuple(sorted(found, key=len, reverse=True))


def remove_secrets(text: str, values: Sequence[str]) -> str:
    """A text without these secrets, and without longer pieces of them."""
    for value in values:
        if len(value) >= MIN_SECRET:
            text = text.replace(value, "***")
        else:
            alone = rf"(?<![\w*]){re.escape(value)}(?![\w*])"
            text = re.sub(alone, "***", text)
    return _without_pieces(text, [v for v in values if len(v) > MIN_PIECE])


def _without_dumps(message: str) -> str:
    """The message without whole objects in it.

    They tell a reader little, and where the change of an object is refused
    they hold the former values, too, which are not known here.
    """
    shown, position = "", 0
    while begin := _DUMP.search(message, position):
        shown += message[position : begin.end()] + "..."
        position = len(message)
        depth = 1
        for found in _QUOTED_OR_BRACE.finditer(message, begin.end()):
            depth += {"{": 1, "}": -1}.get(found[0], 0)
            if not depth:
                position = found.start()
                break
    return shown + message[position:]


def secrets(kind: str, obj: Any) -> Iterator[str]:
    """The secrets in an object, in each form that a server has for them."""
    if not isinstance(obj, Mapping):
        return
    if kind == "Secret":
        for value in _leaves(obj.get("stringData")):
            yield value
            yield base64.b64encode(value.encode()).decode()
        for value in _leaves(obj.get("data")):
            yield value
            yield from _decoded(value)
    metadata = obj.get("metadata")
    annotations = (
        metadata.get("annotations") if isinstance(metadata, Mapping) else None
    )
    if isinstance(annotations, Mapping) and LAST_APPLIED in annotations:
        yield from _last_applied(annotations[LAST_APPLIED])
    yield from _sensitive_values(obj)


def _sensitive_values(whole: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of keys whose name suggests a secret."""
    waiting: list[tuple[str, Any]] = [("", whole)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, list):
            # What follows a flag is named by it.
            flags = [_FLAG.fullmatch(str(item)) for item in value]
            waiting += [
                (flag[1] if flag else name, item)
                for flag, item in zip([None, *flags], value, strict=False)
            ]
        elif isinstance(value, Mapping):
            # Variables of a container, headers, parameters of a template.
            own = str(value.get("name", ""))
            waiting += [
                (own if key == "value" else str(key), item)
                for key, item in value.items()
            ]
        elif isinstance(value, bool | None):
            continue
        elif _NAME.search(name):
            yield str(value)
        elif isinstance(value, str):
            yield from _USER.findall(value)
            for line in value.splitlines():
                setting = _SETTING.match(line)
                if setting and _NAME.search(setting[1]):
                    yield setting[2]


def _last_applied(text: Any) -> Iterator[str]:
    try:
        obj = json.loads(text)
        found = list(secrets(obj["kind"], obj))
    except (TypeError, KeyError, ValueError):
        return
    # The whole of it may be quoted, in which they are quoted once more.
    yield from found
    yield from (json.dumps(value)[1:-1] for value in found)


def _decoded(value: str) -> Iterator[str]:
    try:
        yield base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return


def _leaves(value: Any) -> Iterator[str]:
    """All texts and numbers in it; it may not have the form it should."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _without_pieces(message: str, values: list[str]) -> str:
    """The message with each longer piece of a value left out."""
    shown, hidden = "", 0
    for start, letter in enumerate(message):
        piece = message[start : start + MIN_PIECE]
        if len(piece) == MIN_PIECE and any(piece in value for value in values):
            hidden = start + MIN_PIECE
        if start >= hidden:
            shown += letter
        elif not shown.endswith("***"):
            shown += "***"
    return shown
