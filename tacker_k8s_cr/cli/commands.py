"""The commands of the program by name, and suggestions for other words."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
import difflib
from typing import Any

from cliff import commandmanager


class UnknownCommand(ValueError):
    """The arguments do not begin with the name of a command."""


class Commands(commandmanager.CommandManager):  # type: ignore[misc]
    """Commands that are found by their full names only.

    cliff also accepts unique prefixes: ``t`` would delete an instance, and a
    prefix would change its meaning when a command is added.
    """

    def find_command(self, argv: Sequence[str]) -> tuple[Any, str, list[str]]:
        words = list(argv)
        for end in range(self._get_last_possible_command_index(words), 0, -1):
            name = " ".join(words[:end])
            if name in self.commands:
                return self.commands[name].load(), name, words[end:]
        raise UnknownCommand(describe_unknown(words[0], self.commands))


def describe_unknown(word: str, names: Collection[str]) -> str:
    """Return the message about a word that is not a command."""
    if word.startswith("-"):
        return f"unknown option {word}; see tacker-k8s-cr --help"
    if found := find_nearest(word, names):
        meant = f"did you mean {' or '.join(found)}?"
    else:
        meant = f"the commands are {', '.join(sorted(names))}"
    return f"{word!r} is not a command; {meant}"


def find_nearest(word: str, names: Collection[str]) -> list[str]:
    """Return the names that a word abbreviates, else the most similar ones."""
    completions = sorted(name for name in names if name.startswith(word))
    return completions or difflib.get_close_matches(word, sorted(names))
