"""The credential that a receiver gets: pure."""

from __future__ import annotations

import dataclasses
import enum

from tacker_k8s_cr.model.errors import RequestInvalid

MIN_TOKEN_SECONDS = 600
"""Minimum lifetime in seconds of a token that an API server issues."""


class CredentialKind(enum.Enum):
    """Whose credential it is."""

    ADMIN = "admin"
    SCOPED = "scoped"


@dataclasses.dataclass(frozen=True)
class CredentialMode:
    """The administrator's credential, or that of a dedicated account.

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
                "webhook: the scoped credential requires the name of a "
                "ClusterRole; got none"
            )
        if self.expires_after and self.expires_after < MIN_TOKEN_SECONDS:
            raise RequestInvalid(
                "webhook: expires_after must be 0 (until revoked) or at least "
                f"{MIN_TOKEN_SECONDS} s, got {self.expires_after}"
            )

    @property
    def scoped(self) -> bool:
        return self.credential is CredentialKind.SCOPED


ADMIN = CredentialMode()
