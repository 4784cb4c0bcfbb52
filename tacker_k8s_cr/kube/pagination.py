"""Lists, a page at a time."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
from typing import Any

from tacker_k8s_cr.kube import paths
from tacker_k8s_cr.kube.http.http_model import NotFound
from tacker_k8s_cr.kube.http.http_model import Request
from tacker_k8s_cr.kube.http.http_model import ResourceExpired
from tacker_k8s_cr.kube.http.http_model import ResourceNotServed
from tacker_k8s_cr.kube.http.http_model import Response
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.objects import field

PAGE = 500
"""Objects in an answer; the server holds one answer in memory at once."""

METADATA = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
    "application/json"
)

Send = Callable[[Request], Response]


@dataclasses.dataclass(frozen=True)
class ListQuery:
    """Which objects of a kind: of a namespace or all, by selectors."""

    resource: Resource
    namespace: str = ""
    selector: str = ""
    fields: str = ""

    def request(self, verb: str, **parameters: str | int) -> Request:
        path = paths.query(
            paths.collection_path(
                self.resource,
                self.namespace if self.resource.namespaced else "",
            ),
            {
                "labelSelector": self.selector,
                "fieldSelector": self.fields,
                **parameters,
            },
        )
        spoken = paths.resource_name(self.resource)
        return Request(verb, "GET", path, spoken, self.namespace)


def objects(
    send: Send,
    selection: ListQuery,
    metadata: bool = False,
    size: int = PAGE,
) -> Iterator[Manifest]:
    """What the selection holds.

    Raises Unserved where the server does not serve its kind; one that is
    no longer served half way ends there. A list that takes longer than the
    server remembers its beginning (410) is asked for once more, in one
    piece.
    """
    seen = set()
    try:
        for page in pages(send, selection, metadata, size):
            for obj in page:
                seen.add(_key(obj))
                yield obj
    except NotFound as error:
        if isinstance(error, ResourceNotServed) and not seen:
            raise
    except ResourceExpired:
        for page in pages(send, selection, metadata, size=0):
            yield from (obj for obj in page if _key(obj) not in seen)


def pages(
    send: Send, selection: ListQuery, metadata: bool = False, size: int = PAGE
) -> Iterator[Page]:
    token = ""
    while True:
        request = selection.request(
            "list", **{"limit": size or "", "continue": token}
        )
        if metadata:
            request = dataclasses.replace(request, accept=METADATA)
        body = send(request).body
        yield Page(selection.resource, body)
        token = field(body, ("metadata", "continue"), "")
        if not token:
            return


@dataclasses.dataclass(frozen=True)
class Page:
    """One answer; its objects get the kind that the server leaves out."""

    resource: Resource
    body: Any

    @property
    def version(self) -> str:
        return str(field(self.body, ("metadata", "resourceVersion"), ""))

    def __iter__(self) -> Iterator[Manifest]:
        kind = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
        }
        for item in self.body.get("items") or ():
            yield {**item, **kind}


def _key(obj: Manifest) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
