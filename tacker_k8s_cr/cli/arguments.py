"""Define and parse the arguments of commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import re
from typing import Any

from tacker_k8s_cr.model import option_table
from tacker_k8s_cr.model.option_table.option import Option
from tacker_k8s_cr.model.option_table.option import Type

_UNITS = {"s": 1, "m": 60, "h": 3600}


def seconds(text: str) -> float:
    """Parse a duration above zero: ``90``, ``90s``, ``5m``, ``1h30m``."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smh])", text)
    if re.fullmatch(r"\d+(\.\d+)?", text):
        total = float(text)
    elif parts and "".join(map("".join, parts)) == text:
        total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    else:
        total = 0.0
    if not total:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration; expected seconds, or a form such as "
            "90s, 5m or 1h30m"
        )
    return total


def count(text: str) -> int:
    """Parse a non-negative integer."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a non-negative integer"
        )
    return int(text)


def add_instance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="name of the instance: lower case letters, digits, '-' and '.', "
        "at most 63 characters",
    )


def add_package(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="a CSAR (zip or folder), or files and folders of manifests; - "
        "for manifests on standard input",
    )


def assignment(text: str) -> tuple[str, str]:
    """Parse ``NAME=VALUE``."""
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise argparse.ArgumentTypeError(f"{text!r}: expected VDU=KIND/NAME")
    return name, value


def transfer_argument(text: str) -> tuple[str, str]:
    """Parse ``INSTANCE=KIND/NAME``: the other instance and the object."""
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected INSTANCE=KIND/NAMESPACE/NAME"
        )
    return name, value


def add_options(
    parser: argparse.ArgumentParser,
    command: str,
    defaults: Mapping[str, str] | None = None,
) -> None:
    """Add the options of a command from the option table.

    :param defaults: by option, a default other than that of the table.
    """
    sections: dict[str, argparse._ActionsContainer] = {"": parser}
    rivals: dict[str, argparse._ActionsContainer] = {}
    for option in option_table.command_options(command):
        if option.section not in sections:
            found = parser.add_argument_group(option.section)
            sections[option.section] = found
        group = sections[option.section]
        if option.exclusive_group:
            if option.exclusive_group not in rivals:
                found = group.add_mutually_exclusive_group()
                rivals[option.exclusive_group] = found
            group = rivals[option.exclusive_group]
        if changed := (defaults or {}).get(option.name):
            option = dataclasses.replace(option, default=changed)
        group.add_argument(
            *_SHORT.get(option.name, ()), option.command_flag, **_form(option)
        )


_SHORT = {"namespace": ("-n",)}


def _form(option: Option) -> dict[str, Any]:
    """Return the keywords of argparse."""
    form: dict[str, Any] = {"dest": option.dest, "help": _help(option)}
    if option.type is Type.FLAG:
        action = "store_false" if option.default else "store_true"
        return {**form, "action": action}
    if option.type is Type.CONSTANT:
        constant = option.constant[1]
        return {**form, "action": "store_const", "const": constant}
    if option.type in (Type.CHOICE, Type.CHOICES):
        form["choices"] = (*option.values, *option.command_values)
    if option.type.repeatable:
        form |= {"action": "append", "default": []}
    elif option.inherited:
        form["default"] = ""
    elif option.type is Type.SECONDS:
        form["default"] = seconds(str(option.default))
    else:
        form["default"] = option.default
    if option.metavar:
        form["metavar"] = option.metavar
    if option.type in _READ:
        form["type"] = _READ[option.type]
    return form


_READ: dict[Type, Callable[[str], Any]] = {
    Type.SECONDS: seconds,
    Type.COUNT: count,
    Type.INTEGER: int,
    Type.VDUS: assignment,
    Type.TRANSFERS: transfer_argument,
}


def _help(option: Option) -> str:
    """Return the noun phrase, the values and, in brackets, the default."""
    text = option.help
    if option.type is Type.FLAG and option.default:
        text = f"no {text}"
    values = {**option.values, **option.command_values}
    if values:
        meant = ", ".join(
            f"{value} ({what.split('. ')[0].rstrip('.')})"
            for value, what in values.items()
        )
        text = f"{text}: {meant}"
    if option.type.repeatable:
        text = f"{text}; repeatable"
    shown = option.shown_default or (
        "" if option.type is Type.FLAG else str(option.default or "")
    )
    text = f"{text} [{shown}]" if shown else text
    return text.replace("%", "%%")
