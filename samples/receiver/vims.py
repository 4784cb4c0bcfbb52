"""Tacker's VIM API, with or without Keystone."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import json
import ssl
from typing import Any
import urllib.error
import urllib.request


class Refused(Exception):
    """A message is rejected, with the status of the response.

    A sender retries after 503, and stops after 4xx.
    """

    def __init__(self, status: int, why: str):
        self.status = status
        super().__init__(why)


@dataclasses.dataclass
class Tacker:
    """Tacker's VIM API.

    :param url: such as http://127.0.0.1:9890.
    :param token: returns a token of Keystone; None for a Tacker without.
    :param project: the project that owns the VIMs if there is no Keystone.
    :param ca_file: CA bundle for Tacker; empty for that of the system.
    """

    url: str
    token: Callable[[], str] | None = None
    project: str = ""
    ca_file: str = ""

    def find_vim(self, uid: str) -> dict[str, Any] | None:
        """Return the VIM of the Cluster with this UID."""
        for found in self._send("GET", "/v1.0/vims").get("vims", []):
            if found.get("description", "").startswith(_description(uid)):
                return dict(found)
        return None

    def register(self, data: Mapping[str, Any]) -> str:
        """Register the VIM, or set its credential; return what was done.

        Its description contains the UID of the Cluster, which identifies it.
        """
        credential = {
            "bearer_token": data["bearerToken"],
            "ssl_ca_cert": data["certificateAuthority"] or "None",
        }
        place = data["cluster"]
        if found := self.find_vim(place["uid"]):
            body = {"vim": {"auth_cred": credential}}
            self._send("PUT", f"/v1.0/vims/{found['id']}", body)
            return f"VIM {found['name']} has the new credential"
        name = f"{place['namespace']}-{place['name']}-{place['uid'][:8]}"
        vim = {
            "vim": {
                "type": "kubernetes",
                "name": name,
                "description": f"{_description(place['uid'])} of VNF instance "
                f"{data['vnfInstanceId']}",
                "auth_url": data["apiServer"],
                "vim_project": {"name": "default"},
                "auth_cred": credential,
                "is_default": False,
                **({"tenant_id": self.project} if self.project else {}),
            }
        }
        self._send("POST", "/v1.0/vims", vim)
        return f"VIM {name} is registered"

    def remove(self, uid: str) -> str:
        """Remove the VIM, and return what was done."""
        found = self.find_vim(uid)
        if found is None:
            return f"there is no VIM for Cluster {uid}"
        self._send("DELETE", f"/v1.0/vims/{found['id']}")
        return f"VIM {found['name']} is removed"

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        headers = {"content-type": "application/json"}
        if self.token:
            headers["x-auth-token"] = self.token()
        return send_json(self.url + path, method, body, headers, self.ca_file)[
            0
        ]


def _description(uid: str) -> str:
    return f"workload cluster {uid}"


def send_json(
    url: str,
    method: str,
    body: Mapping[str, Any] | None,
    headers: Mapping[str, str],
    ca_file: str = "",
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Send a request; return body and headers. Raises Refused (503)."""
    if not url.startswith(("http://", "https://")):
        raise Refused(503, "the configured URL has neither http nor https")
    request = urllib.request.Request(  # noqa: S310  scheme checked above
        url,
        json.dumps(body).encode() if body is not None else None,
        dict(headers),
        method=method,
    )
    trust = ssl.create_default_context(cafile=ca_file or None)
    place = f"{method} {url.partition('?')[0]}"
    try:
        with urllib.request.urlopen(  # noqa: S310
            request, timeout=20, context=trust
        ) as answer:
            text = answer.read()
            return (json.loads(text) if text else {}), answer.headers
    except urllib.error.HTTPError as error:
        # Its text is omitted: it may repeat what was sent.
        error.close()
        raise Refused(503, f"{place}: answered {error.code}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise Refused(503, f"{place}: {reason}") from None


class Keystone:
    """Tokens for a user and password, configured as OpenStack's clients."""

    def __init__(self, environ: Mapping[str, str], ca_file: str = ""):
        def domain(name: str) -> dict[str, str]:
            return {"name": environ.get(name, "Default")}

        self._url = environ["OS_AUTH_URL"].rstrip("/") + "/auth/tokens"
        self._ca_file = ca_file
        user = {
            "name": environ["OS_USERNAME"],
            "password": environ["OS_PASSWORD"],
            "domain": domain("OS_USER_DOMAIN_NAME"),
        }
        project = {
            "name": environ["OS_PROJECT_NAME"],
            "domain": domain("OS_PROJECT_DOMAIN_NAME"),
        }
        self._asked = {
            "auth": {
                "identity": {
                    "methods": ["password"],
                    "password": {"user": user},
                },
                "scope": {"project": project},
            }
        }

    def __call__(self) -> str:
        """Return a new token: messages are rare, and tokens expire."""
        headers = {"content-type": "application/json"}
        _, answered = send_json(
            self._url, "POST", self._asked, headers, self._ca_file
        )
        token = answered.get("x-subject-token", "")
        if not token:
            raise Refused(503, f"{self._url}: returned no token")
        return token
