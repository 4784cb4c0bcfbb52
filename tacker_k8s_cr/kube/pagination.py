"""List objects page by page."""

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
"""Maximum number of objects in a response, which is in memory as a whole."""

METADATA = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
    "application/json"
)

Send = Callable[[Request], Response]


@dataclasses.dataclass(frozen=True)
class ListQuery:
    """A selection of objects of a kind, by namespace and selectors."""

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
        name = paths.resource_name(self.resource)
        return Request(verb, "GET", path, name, self.namespace)


def list_objects(
    send: Send,
    selection: ListQuery,
    metadata: bool = False,
    size: int = PAGE,
) -> Iterator[Manifest]:
    """Yield the selected objects.

    Raises ResourceNotServed if the server does not serve the kind; if that
    happens after the first page, the list ends. A list whose continue token
    has expired (410) is requested once more, without pages.
    """
    seen = set()
    try:
        for page in list_pages(send, selection, metadata, size):
            for obj in page:
                seen.add(_key(obj))
                yield obj
    except NotFound as error:
        if isinstance(error, ResourceNotServed) and not seen:
            raise
    except ResourceExpired:
        for page in list_pages(send, selection, metadata, size=0):
            yield from (obj for obj in page if _key(obj) not in seen)


def list_pages(
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
    """One response; its objects get the kind that the server omits."""

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
