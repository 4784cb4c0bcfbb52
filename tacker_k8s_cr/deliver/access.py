"""Which credential a receiver gets: pure."""

from __future__ import annotations

import dataclasses
import enum

from tacker_k8s_cr.errors import RequestInvalid

SHORTEST = 600
"""Seconds that a token lasts at least: an API server gives no shorter one."""


class Mode(enum.Enum):
    """Whose credential it is."""

    ADMIN = "admin"
    SCOPED = "scoped"


@dataclasses.dataclass(frozen=True)
class Access:
    """The administrator's as it is, or one of an account of its own.

    :param role: ClusterRole of such an account.
    :param expires_after: seconds that its token lasts; 0 for one that lasts
        until it is revoked.
    """

    mode: Mode = Mode.ADMIN
    role: str = "cluster-admin"
    expires_after: int = 0

    def __post_init__(self) -> None:
        if self.mode is Mode.SCOPED and not self.role:
            raise RequestInvalid(
                "webhook: the mode scoped needs the name of a ClusterRole; "
                "found: none"
            )
        if self.expires_after and self.expires_after < SHORTEST:
            raise RequestInvalid(
                f"webhook: a token that lasts {self.expires_after} s is "
                f"wanted, and {SHORTEST} s is the shortest; 0 is for one "
                "that lasts until it is revoked"
            )

    @property
    def scoped(self) -> bool:
        return self.mode is Mode.SCOPED


ADMIN = Access()
