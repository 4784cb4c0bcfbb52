"""Connect to the cluster of a VIM."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import re
from typing import Any
import urllib.parse

from tacker_k8s_cr import kube
from tacker_k8s_cr.driver.configuration import Settings
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.kubeconfig import OidcUser
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model.errors import RequestInvalid

NOTHING = (None, "", "None", "NONE", "null", "NULL")
"""Values of Tacker's database for an attribute that is not set."""

_CREDENTIAL = (
    "bearer_token",
    "username",
    "password",
    "oidc_token_url",
    "client_id",
    "client_secret",
)
"""What ``accessInfo`` of v2 and the access information of v1 both have."""


@contextlib.contextmanager
def connect(
    access: Mapping[str, Any], settings: Settings
) -> Iterator[Cluster]:
    """Connect to the cluster of a VIM, for one operation.

    Operations that run at the same time on one VIM share the connection.
    """
    config = kubeconfig(access, settings)
    with kube.shared(config, settings.pool_size) as opened:
        yield opened


def access(vim_connection_info: Any) -> dict[str, Any]:
    """Return the values of a v2 ``vimConnectionInfo`` by v1's names.

    :param vim_connection_info: an object of Tacker's, or a mapping.
    """
    # Without a default, an attribute that is not set is an error there.
    interface = vim_connection_info.get("interfaceInfo", None) or {}
    credential = vim_connection_info.get("accessInfo", None) or {}
    values = {key: credential[key] for key in _CREDENTIAL if key in credential}
    return {
        **values,
        "vim_id": vim_connection_info.get("vimId", None),
        "auth_url": interface.get("endpoint"),
        "ssl_ca_cert": interface.get("ssl_ca_cert"),
    }


def kubeconfig(access: Mapping[str, Any], settings: Settings) -> Kubeconfig:
    """Return the kubeconfig for a VIM's decrypted access information.

    If a VIM has several credentials, the one that Tacker would use is used:
    OpenID Connect, else a bearer token, else a name and password. Raises
    RequestInvalid if it has none; only its URL and id are shown.
    """
    values = {
        key: str(value)
        for key, value in access.items()
        if value not in NOTHING
    }
    server = _https(values.get("auth_url", ""), "auth_url", plain=True)
    where = f"VIM {values.get('vim_id', server)}"
    if server.startswith("http:") and not settings.insecure:
        raise RequestInvalid(
            f"{where}: its credential would be sent to {server} without TLS; "
            "expected https://HOST:PORT, or [tacker_k8s_cr] insecure = true"
        )
    found = Kubeconfig(
        where=where,
        server=server,
        ca=_pem(values.get("ssl_ca_cert", "")),
        insecure=settings.insecure,
    )
    if "oidc_token_url" in values:
        openid = _openid(values, where, settings)
        return dataclasses.replace(found, openid=openid)
    if "bearer_token" in values:
        return dataclasses.replace(found, token=values["bearer_token"].strip())
    if {"username", "password"} <= values.keys():
        return dataclasses.replace(
            found, username=values["username"], password=values["password"]
        )
    has = sorted(values.keys() & set(_CREDENTIAL))
    raise RequestInvalid(
        f"{where}: expected bearer_token, or username and password, or "
        "oidc_token_url, client_id, username and password; got "
        f"{', '.join(has) or 'none of them'}"
    )


def _openid(
    values: Mapping[str, str], where: str, settings: Settings
) -> OidcUser:
    missing = [
        key
        for key in ("client_id", "username", "password")
        if key not in values
    ]
    if missing:
        raise RequestInvalid(
            f"{where}: oidc_token_url also requires {' and '.join(missing)}"
        )
    return OidcUser(
        url=_https(values["oidc_token_url"], "oidc_token_url"),
        username=values["username"],
        password=values["password"],
        client_id=values["client_id"],
        client_secret=values.get("client_secret", ""),
        scope=settings.oidc_scope,
        ca=settings.oidc_ca(),
    )


def _pem(text: str) -> str:
    """Return certificates with newlines, which a VIM may have as spaces."""
    match = _CERTIFICATE.findall(text)
    if not match:
        return text
    return "".join(
        "\n".join([_BEGIN, *body.split(), _END, ""]) for body in match
    )


_BEGIN = "-----BEGIN CERTIFICATE-----"
_END = "-----END CERTIFICATE-----"
_CERTIFICATE = re.compile(f"{_BEGIN}(.*?){_END}", re.DOTALL)


def _https(url: str, name: str, *, plain: bool = False) -> str:
    """Check a URL, and return it without user information and query.

    :param plain: it may be without TLS.
    """
    schemes = ("https", "http") if plain else ("https",)
    try:
        parts = urllib.parse.urlsplit(url)
        is_valid = parts.scheme in schemes and parts.hostname
        _ = parts.port
    except ValueError:
        is_valid = None
    if not is_valid or parts.username or parts.query or parts.fragment:
        expected = "HOST:PORT" if plain else "HOST:PORT/PATH"
        what = "an API server" if plain else "a token end point"
        raise RequestInvalid(
            f"VIM: {name} is not the URL of {what}; expected https://{expected}"
        )
    return url.rstrip("/") if plain else url
