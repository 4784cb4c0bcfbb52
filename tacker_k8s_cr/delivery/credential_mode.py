"""Which credential a receiver gets: pure."""

from __future__ import annotations

import dataclasses
import enum

from tacker_k8s_cr.model.errors import RequestInvalid

SHORTEST = 600
"""Seconds that a token lasts at least: an API server gives no shorter one."""


class CredentialKind(enum.Enum):
    """Whose credential it is."""

    ADMIN = "admin"
    SCOPED = "scoped"


@dataclasses.dataclass(frozen=True)
class CredentialMode:
    """The administrator's as it is, or one of an account of its own.

    :param role: ClusterRole of such an account.
    :param expires_after: seconds that its token lasts; 0 for one that lasts
        until it is revoked.
    """

    credential: CredentialKind = CredentialKind.ADMIN
    role: str = "cluster-admin"
    expires_after: int = 0

    def __post_init__(self) -> None:
        if self.credential is CredentialKind.SCOPED and not self.role:
            raise RequestInvalid(
                "webhook: the scoped credential needs the name of a "
                "ClusterRole; found: none"
            )
        if self.expires_after and self.expires_after < SHORTEST:
            raise RequestInvalid(
                "webhook: expires_after must be 0 (until revoked) or at least "
                f"{SHORTEST} s, got {self.expires_after}"
            )

    @property
    def scoped(self) -> bool:
        return self.credential is CredentialKind.SCOPED


ADMIN = CredentialMode()
