"""Requests and responses as values, and the outcomes of a request.

Beside success there are three: an error that a retry cannot resolve,
``DependencyMissing`` for an object that must be created first, and
``Retryable`` for a request that may succeed in a moment.
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
    """A response of the server.

    :param repeated: seconds since the first attempt, if an earlier attempt may
        have been carried out; else 0.
    """

    code: int
    body: Mapping[str, Any]
    retry_after: float = 0.0
    repeated: float = 0.0


class Retryable(Exception):
    """The same request may succeed in a moment.

    :param why: the error if it does not succeed.
    :param after: seconds to wait, as requested by the server.
    :param patience: seconds after which to stop retrying.
    :param carried_out: the server may have carried out the request.
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
    """No object exists at the path (404)."""


class ResourceNotServed(NotFound):
    """The path itself does not exist: the kind is not served (404)."""


class ResourceNotServedOnWrite(DependencyMissing):
    """The same for a write."""
