"""Rules of a package for when an object is current, or has failed.

A rule names a condition or a field, and what it must be::

    condition=Ready
    condition=Degraded=False
    status.phase=Running|Completed
    status.readyReplicas=.spec.replicas
    status.endpoint

Several are separated by commas or line breaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re
from typing import Any

from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Path

STATUSES = ("True", "False", "Unknown")

MAX_SHOWN = 80
"""Characters of a value that is shown where it only has to be set."""

_TYPE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_./-]*[A-Za-z0-9])?")
_KEY = re.compile(r"(?:\\.|[^\\.\s=!|,\"'{}\[\]()*?$@])+")
_QUOTED = re.compile(r'"[^"]*"')
_CLAUSE = re.compile(r"(?P<left>[^=!]*)(?P<sign>==|=|!=)(?P<right>.*)", re.S)


@dataclasses.dataclass(frozen=True)
class FieldPath:
    """A value that is found at a path of the object."""

    path: Path

    def __str__(self) -> str:
        return "." + format_path(self.path)


@dataclasses.dataclass(frozen=True)
class Rule:
    """A condition or a field, and what it must be.

    :param condition: type of a condition; else the rule is about the path.
    :param expected: any of these will do; none asks that the field be set.
    :param negated: none of them will do.
    """

    path: Path = ()
    condition: str = ""
    expected: tuple[str | FieldPath, ...] = ()
    negated: bool = False

    def __str__(self) -> str:
        name = (
            f"condition={self.condition}"
            if self.condition
            else format_path(self.path)
        )
        if not self.expected:
            return name
        sign = "!=" if self.negated else "="
        return name + sign + "|".join(str(value) for value in self.expected)

    def is_met(self, obj: Manifest) -> bool:
        if self.condition:
            found = fields.conditions(obj).get(self.condition)
            if found is None or found.is_outdated(obj):
                return False
            return (found.status in self._texts(obj)) is not self.negated
        value = get(obj, self.path)
        if not self.expected:
            return value not in (None, "", [], {}, False)
        text = to_text(value)
        if text is None:
            return False
        return (text in self._texts(obj)) is not self.negated

    def describe_value(self, obj: Manifest) -> str:
        """What the object has where the rule looks, for people."""
        if self.condition:
            found = fields.conditions(obj).get(self.condition)
            if found is None:
                return f"condition {self.condition} is not reported"
            if found.is_outdated(obj):
                return f"{found} (for an older generation)"
            return str(found)
        text = to_text(get(obj, self.path))
        where = format_path(self.path)
        long = text is None or len(text) > MAX_SHOWN
        if long and not self.expected and self.is_met(obj):
            return f"{where} is set"
        if text is None:
            return f"{where} is not reported"
        return f"{where} is {fields.one_line(text) or 'empty'}"

    def _texts(self, obj: Manifest) -> tuple[str | None, ...]:
        return tuple(
            to_text(get(obj, value.path))
            if isinstance(value, FieldPath)
            else value
            for value in self.expected
        )


def get(obj: Any, path: Path) -> Any:
    """What is at a path; a number in it picks an item of a list."""
    for key in path:
        if isinstance(obj, Mapping):
            obj = obj.get(key)
        elif isinstance(obj, list | tuple) and key.isdecimal():
            obj = obj[int(key)] if int(key) < len(obj) else None
        else:
            return None
    return obj


def to_text(value: Any) -> str | None:
    """A scalar as JSON spells it, text as it is; None for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    return None


def format_path(path: Path) -> str:
    return ".".join(key.replace(".", "\\.") for key in path)


def parse(source: str) -> tuple[Rule, ...]:
    """The rules of a text. Raises RequestInvalid for what is none."""
    found = tuple(_clause(part) for part in _split(source))
    if not found:
        raise errors.RequestInvalid("no rule is given")
    return found


def from_values(
    values: Sequence[Rule | str | Mapping[str, Any]],
) -> tuple[Rule, ...]:
    """Rules as values, texts, or mappings of the same words.

    A mapping has ``condition`` and, if not True, ``status``; or ``path``
    and, if more is asked than that it be set, ``value``. A status or value
    may be a list.
    """
    found: list[Rule] = []
    for item in values:
        if isinstance(item, Rule):
            found.append(item)
        elif isinstance(item, str):
            found.extend(parse(item))
        elif isinstance(item, Mapping):
            found.append(_from_mapping(item))
        else:
            raise errors.RequestInvalid(f"{item!r} is not a rule")
    return tuple(found)


def _split(source: str) -> Iterator[str]:
    """Split at commas and line breaks that are not within quotes."""
    masked = _QUOTED.sub(lambda found: "\0" * len(found.group()), source)
    start = 0
    for found in re.finditer(r"[,\n]|$", masked):
        part = source[start : found.start()].strip()
        start = found.end()
        if part:
            yield part


def _clause(clause: str) -> Rule:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        return Rule(_path(clause, clause))
    left, sign, right = (part.strip() for part in match.groups())
    if left == "condition":
        return _condition(clause, sign, right)
    values = tuple(_value(part.strip(), clause) for part in right.split("|"))
    return Rule(_path(left, clause), expected=values, negated=sign == "!=")


def _condition(clause: str, sign: str, right: str) -> Rule:
    inner = _CLAUSE.fullmatch(right)
    name, negated, status = right, False, "True"
    if inner:
        name, status = inner["left"].strip(), inner["right"].strip()
        negated = inner["sign"] == "!="
    if sign == "!=" or not _TYPE.fullmatch(name):
        raise errors.RequestInvalid(
            f"rule {clause!r}: {name!r} is not a condition type; write "
            "condition=TYPE or condition=TYPE=STATUS"
        )
    return Rule(
        condition=name,
        expected=tuple(_status(part, clause) for part in status.split("|")),
        negated=negated,
    )


def _status(source: str, clause: str) -> str:
    found = source.strip().capitalize()
    if found not in STATUSES:
        raise errors.RequestInvalid(
            f"rule {clause!r}: a condition is True, False or Unknown, "
            f"not {source.strip()!r}"
        )
    return found


def _value(source: str, clause: str) -> str | FieldPath:
    if _QUOTED.fullmatch(source):
        return source[1:-1]
    if source.startswith(".") and source != ".":
        return FieldPath(_path(source, clause))
    if not source or '"' in source or "=" in source:
        raise errors.RequestInvalid(
            f"rule {clause!r}: {source!r} is not a value; put text with "
            'other characters between " and "'
        )
    return source


def _path(source: str, clause: str) -> Path:
    keys = re.split(r"(?<!\\)\.", source.removeprefix("."))
    if not all(_KEY.fullmatch(key) for key in keys):
        raise errors.RequestInvalid(
            f"rule {clause!r}: {source!r} is not a path; write keys with a "
            "dot between them, such as status.phase or status.items.0.state, "
            "and a dot within a key as \\."
        )
    return tuple(re.sub(r"\\(.)", r"\1", key) for key in keys)


def _from_mapping(values: Mapping[str, Any]) -> Rule:
    known = (
        {"condition", "status"} if "condition" in values else {"path", "value"}
    )
    unknown = sorted(str(key) for key in values.keys() - known)
    if unknown or not ({"condition", "path"} & values.keys()):
        raise errors.RequestInvalid(
            f"rule {dict(values)!r}: it needs path and value, or condition "
            f"and status{'; ' if unknown else ''}"
            + (f"unknown: {', '.join(unknown)}" if unknown else "")
        )
    shown = repr(dict(values))
    if "condition" in values:
        name = values["condition"]
        if not isinstance(name, str) or not _TYPE.fullmatch(name):
            raise errors.RequestInvalid(
                f"rule {shown}: {name!r} is not a condition type"
            )
        expected = _read_values(values.get("status", "True"), shown)
        statuses = tuple(_status(str(item), shown) for item in expected)
        return Rule(condition=name, expected=statuses)
    path = values["path"]
    if not isinstance(path, str):
        raise errors.RequestInvalid(f"rule {shown}: {path!r} is not a path")
    return Rule(
        _path(path, shown),
        expected=_read_values(values["value"], shown)
        if "value" in values
        else (),
    )


def _read_values(value: Any, shown: str) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    found = tuple(to_text(item) for item in values)
    if not found or None in found:
        raise errors.RequestInvalid(
            f"rule {shown}: {value!r} is neither text, a number, true or "
            "false, nor a list of these"
        )
    return tuple(item for item in found if item is not None)
