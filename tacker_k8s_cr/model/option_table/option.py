"""An option as a value, with the places where a user can set it."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

YEAR = 365 * 24 * 3600
"""Seconds; the longest time that an option accepts."""

CHANGES = ("instantiate", "change")
APPLIES = ("instantiate", "change", "heal")
WAITS = ("instantiate", "change", "scale", "heal")
OPERATIONS = (*WAITS, "terminate")
"""The operations of Tacker whose requests have parameters."""

PACKAGES = ("instantiate", "change", "forecast")
COMMANDS = (
    *PACKAGES,
    "scale",
    "heal",
    "rollback",
    "terminate",
    "status",
    "drift",
)
"""The commands on an instance."""


class Type(enum.Enum):
    """What an option accepts."""

    FLAG = "true or false"
    INTEGER = "an integer"
    COUNT = "a non-negative integer"
    SECONDS = "a number of seconds"
    LIFETIME = "a number of seconds, 600 or more"
    CHOICE = "one of the values"
    CHOICES = "a list of the values"
    TEXT = "a string"
    SECRET = "a secret string"
    URL = "a URL of https or http without a user"
    ROLE = "a name of a ClusterRole"
    NAMESPACE = "a name of a namespace"
    FILES = "a list of names of files in the package"
    KINDS = "a list of kinds"
    EXPECTED_KINDS = "a list of kinds that may be cluster-scoped"
    OBJECTS = "a list of objects"
    SUBJECTS = "a list of kinds and objects"
    MACHINES = "a list of Machines"
    TRANSFERS = "a mapping of VNF instances to lists of objects"
    VDUS = "a mapping of VDUs to objects"
    READINESS = "a list of mappings"
    GROUP = "a mapping"
    ANY = "any value"
    CONSTANT = "no value"

    @property
    def repeatable(self) -> bool:
        """Whether the command line accepts the option several times."""
        return self in _REPEATABLE


_REPEATABLE = frozenset(
    {
        Type.CHOICES,
        Type.FILES,
        Type.KINDS,
        Type.EXPECTED_KINDS,
        Type.OBJECTS,
        Type.SUBJECTS,
        Type.MACHINES,
        Type.TRANSFERS,
        Type.VDUS,
    }
)


@dataclasses.dataclass(frozen=True)
class Option:
    """A row of the table.

    An option has one name. Its places write it differently: ``prune.allow``
    is ``prune_allow`` in tacker.conf, a key in a mapping in a request, and
    ``machines_to_delete`` is ``--machines-to-delete`` on the command line.

    :param name: the name; dots lead into mappings of a request.
    :param help: a noun phrase.
    :param values: of a choice: each value, and what it means.
    :param note: sentences for tacker.conf and requests, after the help.
    :param default: None if nothing is set.
    :param conf: whether tacker.conf has it.
    :param conf_values: of a choice: the values that tacker.conf accepts, if
        not all.
    :param request: operations of Tacker whose requests have it.
    :param commands: commands that have it.
    :param section: the heading in the help of a command.
    :param flag: the name on the command line, if not the option's own.
    :param metavar: what stands for its value on the command line.
    :param constant: what the command line sets, of a type without a value.
    :param command_values: of a choice: further values of the command line.
    :param inherited: the command line has no default: a manifest, a policy
        or the package decides.
    :param shown_default: the default in help texts, if not the value itself.
    :param exclusive_group: options of one name cannot be combined.
    :param root: it is a key of Tacker's own, beside ``tacker_k8s_cr``.
    :param minimum: of an integer.
    :param maximum: of an integer.
    """

    name: str
    type: Type
    help: str
    values: Mapping[str, str] = dataclasses.field(default_factory=dict)
    note: str = ""
    default: Any = None
    conf: bool = False
    conf_values: tuple[str, ...] = ()
    request: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    section: str = ""
    flag: str = ""
    metavar: str = ""
    constant: tuple[str, Any] = ("", None)
    command_values: Mapping[str, str] = dataclasses.field(default_factory=dict)
    inherited: bool = False
    shown_default: str = ""
    exclusive_group: str = ""
    root: bool = False
    minimum: int | None = None
    maximum: int | None = None

    @property
    def conf_name(self) -> str:
        return self.name.replace(".", "_")

    @property
    def key(self) -> str:
        """The last part of the name: the key in its mapping."""
        return self.name.rpartition(".")[2]

    @property
    def parent(self) -> str:
        """The mapping that holds the key; empty for the outermost one."""
        return self.name.rpartition(".")[0]

    @property
    def command_flag(self) -> str:
        """How it is written on the command line."""
        if self.flag:
            return self.flag
        hyphens = self.key.replace("_", "-")
        off = self.type is Type.FLAG and self.default
        return f"--no-{hyphens}" if off else f"--{hyphens}"

    @property
    def dest(self) -> str:
        """The attribute that holds what the command line sets."""
        return self.constant[0] or self.key.replace("-", "_")
