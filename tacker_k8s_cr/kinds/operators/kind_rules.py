"""A row of the table: kinds of one group, and the rules that judge them."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind


@dataclasses.dataclass(frozen=True)
class KindRules:
    """Kinds of one group that are judged alike.

    :param names: of the kinds; none for any kind of the group. A name or
        group that begins with a star stands for all that end so.
    :param source: where it is said what they report.
    :param ready_when: rules, all of which an object that is current meets.
    :param failed_when: rules, any of which an object that has failed meets.
        Without either, no controller reports on these kinds.
    :param ephemeral: the controller deletes an object once it is done.
    """

    group: str
    names: tuple[str, ...]
    source: str
    ready_when: tuple[str, ...] = ()
    failed_when: tuple[str, ...] = ()
    ephemeral: bool = False

    @property
    def handler(self) -> Handler:
        """Raises RequestInvalid for an invalid rule."""
        if not (self.ready_when or self.failed_when):
            return generic.STORED
        found = generic.from_rules(self.ready_when, self.failed_when)
        return dataclasses.replace(found, ephemeral=self.ephemeral)

    @property
    def is_pattern(self) -> bool:
        """Whether it covers groups or kinds that cannot be listed."""
        return "*" in self.group or not self.names

    def matches(self, group_kind: GroupKind) -> bool:
        return _matches(self.group, group_kind.group) and (
            not self.names or group_kind.kind in self.names
        )


def _matches(pattern: str, text: str) -> bool:
    if pattern.startswith("*"):
        return text.endswith(pattern[1:])
    return text == pattern
