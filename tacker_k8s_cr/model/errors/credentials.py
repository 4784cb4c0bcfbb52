"""Errors about a credential, or its delivery."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.model.errors.base import Error


@dataclasses.dataclass(eq=False)
class KubeconfigInvalid(Error):
    """A kubeconfig is invalid or not allowed; never shows its values."""

    remedy = (
        "Correct the kubeconfig, the VIM or the Secret that is named, then "
        "repeat the operation"
    )

    where: str
    why: str

    def sentence(self) -> str:
        return f"{self.where}: {self.why}"


@dataclasses.dataclass(eq=False)
class DeliveryFailed(Error):
    """A receiver did not accept a delivery.

    :param url: without user information and query.
    :param status: of the last answer; 0 when there was none.
    :param response: first line of the last answer, or why there was none.
    """

    url: str
    status: int
    response: str

    def sentence(self) -> str:
        said = f"answered {self.status}: " if self.status else ""
        return f"{self.url}: {said}{self.response}"

    def next_step(self) -> str:
        again = (
            "then repeat the operation; a delivery that was accepted is not "
            "sent again"
        )
        if self.status in (401, 403):
            return f"Correct the credential for the receiver, {again}"
        if 300 <= self.status < 400:
            return f"Configure the URL to which the receiver points, {again}"
        if self.status:
            return f"Find the cause in the log of the receiver, {again}"
        return (
            "Check the URL and the certificate of the receiver, and that it "
            f"can be reached from here, {again}"
        )
