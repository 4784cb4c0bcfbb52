"""From the VIM that a request names to a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
from typing import Any
import urllib.parse

from tacker_k8s_cr import cluster
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.driver.conf import Settings
from tacker_k8s_cr.errors import RequestInvalid
from tacker_k8s_cr.kubeconfig import Kubeconfig

NOTHING = (None, "", "None", "NONE", "null", "NULL")
"""How Tacker's database says that a VIM has no such value."""


@contextlib.contextmanager
def opened(access: Mapping[str, Any], settings: Settings) -> Iterator[Cluster]:
    """The cluster of a VIM, for one operation."""
    connected = cluster.connect(
        kubeconfig(access, insecure=settings.insecure),
        pool=settings.pool_size,
    )
    with contextlib.closing(connected):
        yield connected


def kubeconfig(
    access: Mapping[str, Any], *, insecure: bool = False
) -> Kubeconfig:
    """What a VIM's decrypted access information says.

    Raises RequestInvalid for a way to authenticate that a VIM may have and
    we do not; no value of the VIM but its URL is shown.
    """
    known = {
        key: str(value)
        for key, value in access.items()
        if value not in NOTHING
    }
    server = known.get("auth_url", "")
    where = f"VIM {_shown(server)}"
    if "oidc_token_url" in known:
        raise RequestInvalid(
            f"{where}: OpenID Connect is not supported by this driver yet; "
            "wanted: a VIM with a bearer token"
        )
    if "bearer_token" not in known:
        found = "a user and password" if "password" in known else "nothing"
        raise RequestInvalid(
            f"{where}: wanted: a VIM with a bearer token; found: {found}"
        )
    return Kubeconfig(
        where=where,
        server=server.rstrip("/"),
        ca=known.get("ssl_ca_cert", ""),
        token=known["bearer_token"].strip(),
        insecure=insecure,
    )


def _shown(url: str) -> str:
    """The URL, checked, without what a person may have hidden in it."""
    try:
        parts = urllib.parse.urlsplit(url)
        fine = parts.scheme in ("https", "http") and parts.hostname
        _ = parts.port
    except ValueError:
        fine = None
    if not fine or parts.username or parts.query or parts.fragment:
        raise RequestInvalid(
            "VIM: auth_url is not the URL of an API server; wanted: "
            "https://HOST:PORT"
        )
    return url.rstrip("/")
