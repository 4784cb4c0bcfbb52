"""Requests and answers as values, and what an answer may mean.

Three outcomes beside success: an error that will not mend by trying the
same again, ``DependencyMissing`` for what something else must bring first, and
``Again`` for what the server will answer otherwise in a moment.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.model.errors import ClusterError
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import Error
from tacker_k8s_cr.model.objects import ObjectRef

APPLY = "application/apply-patch+yaml"
"""Content type of a server-side apply."""


@dataclasses.dataclass(frozen=True)
class Request:
    """One request, as a value.

    :param verb: as Kubernetes' authorization names it.
    :param resource: plural, group and sub-resource, for sentences.
    :param ref: the object that it is about; None for lists and the like.
    :param path: below the server's URL, with the query.
    """

    verb: str
    method: str
    path: str
    resource: str
    namespace: str = ""
    ref: ObjectRef | None = None
    body: bytes | None = dataclasses.field(default=None, repr=False)
    content_type: str = ""
    accept: str = "application/json"

    def __str__(self) -> str:
        return f"{self.verb} {self.ref or self.resource}"


@dataclasses.dataclass(frozen=True)
class Response:
    """What the server said.

    :param repeated: seconds ago that a first attempt began, if an earlier
        one may have been carried out; else 0.
    """

    code: int
    body: Mapping[str, Any]
    retry_after: float = 0.0
    repeated: float = 0.0


class Retryable(Exception):
    """The same request may succeed in a moment.

    :param why: what it means when it does not.
    :param after: seconds that the server asks us to wait.
    :param patience: seconds after which to give up.
    :param carried_out: the server may have done what was asked.
    """

    def __init__(
        self,
        why: Error,
        after: float = 0.0,
        patience: float = 120.0,
        carried_out: bool = False,
    ):
        self.why = why
        self.after = after
        self.patience = patience
        self.carried_out = carried_out
        super().__init__(str(why))


class ResourceExpired(ClusterError):
    """A resourceVersion is too old (410): list again."""


class NotFound(ClusterError):
    """There is nothing at the path (404)."""


class ResourceNotServed(NotFound):
    """There is not even such a path: the kind is not served there."""


class ResourceNotServedOnWrite(DependencyMissing):
    """The same, where something was to be written."""
