"""What is wrong with a credential, or with its delivery."""

from __future__ import annotations

import dataclasses

from tacker_k8s_cr.errors.root import Error


@dataclasses.dataclass(eq=False)
class KubeconfigInvalid(Error):
    """A kubeconfig that we cannot or may not use; never shows its values."""

    where: str
    why: str

    def sentence(self) -> str:
        return f"{self.where}: {self.why}"


@dataclasses.dataclass(eq=False)
class NotDelivered(Error):
    """A receiver did not take what we posted.

    :param url: without user information and query.
    :param status: of the last answer; 0 when there was none.
    :param answer: first line of the last answer, or why there was none.
    """

    url: str
    status: int
    answer: str

    def sentence(self) -> str:
        said = f"answered {self.status}: " if self.status else ""
        return f"{self.url}: {said}{self.answer}"
