"""Errors about the connection to the API server, and its credential."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.model.errors.base import ClusterError

UNTRUSTED = "its certificate is not trusted"
"""Part of the reason why a connection failed."""


@dataclasses.dataclass(eq=False)
class Unreachable(ClusterError):
    """No connection: no answer, or the certificate is not trusted."""

    server: str
    why: str

    was_sent = True

    @property
    def is_untrusted(self) -> bool:
        """Whether the certificate of the server is not trusted."""
        return UNTRUSTED in self.why

    def sentence(self) -> str:
        return f"the API server {self.server} cannot be reached: {self.why}"

    def next_step(self) -> str:
        if self.is_untrusted:
            return (
                "Check that this is the address of the API server, and set "
                "its certificate authority in the kubeconfig or the VIM"
            )
        return (
            "Check the address in the kubeconfig or the VIM, and the network "
            "and any proxy between this host and the API server; then repeat "
            "the operation"
        )


@dataclasses.dataclass(eq=False)
class Unauthenticated(ClusterError):
    """The server does not accept our credential (401).

    :param source: the VIM or the kubeconfig that it comes from.
    """

    remedy = (
        "Renew the token or the certificate of the credential, then repeat "
        "the operation, which continues where it stopped"
    )

    server: str
    why: str = ""
    source: str = ""

    def sentence(self) -> str:
        whose = f" of {self.source}" if self.source else ""
        detail = f": {self.why}" if self.why else ""
        return (
            f"the API server {self.server} refuses the credential{whose}"
            f"{detail}"
        )


class TokenRequestFailed(Unauthenticated):
    """An identity provider, the server here, does not issue a token."""

    @property
    def is_untrusted(self) -> bool:
        """Whether the certificate of the provider is not trusted."""
        return UNTRUSTED in self.why

    def next_step(self) -> str:
        if self.is_untrusted:
            return (
                "Check the URL of the identity provider, and add its "
                "certificate authority to those that are trusted for it"
            )
        return (
            "Check that the identity provider can be reached, and that it "
            "accepts this user and client; then repeat the operation"
        )

    def sentence(self) -> str:
        whose = f" for {self.source}" if self.source else ""
        return (
            f"the identity provider {self.server} gives no token{whose}: "
            f"{self.why}"
        )


@dataclasses.dataclass(eq=False)
class Unavailable(ClusterError):
    """The server kept answering that it cannot serve now (429, 5xx)."""

    what: str
    code: int
    message: str

    @classmethod
    def not_sent(cls, what: str) -> Unavailable:
        """The deadline passed before the request was sent."""
        error = cls(what, 408, "the deadline passed")
        error.deadline_passed = True
        return error

    @property
    def was_sent(self) -> bool:
        """Whether the server may have received the request."""
        return self.code != 408

    def sentence(self) -> str:
        return f"{self.what}: {self.message} ({self.code})"

    def next_step(self) -> str:
        if not self.was_sent:
            return "Repeat the operation with more time"
        return (
            "When the API server reports that it is ready (GET /readyz), "
            "repeat the operation, which continues where it stopped"
        )
