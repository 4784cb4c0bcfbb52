"""A pool of connections to one API server, and what each request adds."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import datetime
import ssl
from typing import TYPE_CHECKING

from tacker_k8s_cr.kube.http.credential import Credential
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model.errors import Unauthenticated

if TYPE_CHECKING:
    import urllib3


@dataclasses.dataclass(frozen=True, repr=False)
class Session:
    """The pool, and the headers and base path of all its requests."""

    pool: urllib3.HTTPConnectionPool
    base: str
    headers: Mapping[str, str]
    context: ssl.SSLContext
    kubeconfig: Kubeconfig
    credential: Credential

    def refused(self, error: Unauthenticated) -> Unauthenticated:
        """Add the origin and the expiry of the credential to a 401."""
        where = self.kubeconfig.where
        whose = "" if where == self.kubeconfig.server else where
        said = error.why
        end = self.kubeconfig.expires
        if end and end <= datetime.datetime.now(datetime.timezone.utc):
            ended = f"it expired at {end:%Y-%m-%dT%H:%M:%SZ}"
            said = f"{ended}: {said}" if said else ended
        return dataclasses.replace(error, why=said, source=whose)
