"""VIMs, as requests to Tacker have them."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any
import uuid

TENANT = "5ac6d1a1e7cc4e54a1a0a3a6e2f6b902"


@dataclasses.dataclass(frozen=True)
class Vim:
    """How to reach an API server.

    :param id: of its registration, which v1 goes by.
    """

    endpoint: str
    ca: str
    credentials: Mapping[str, str]
    id: str = ""

    def connection(self, version: str) -> Any:
        """As an instantiate request of the API's version has it."""
        if version == "v1":
            return [
                {
                    "id": str(uuid.uuid4()),
                    "vimId": self.id,
                    "vimType": "kubernetes",
                }
            ]
        return {
            "vim1": {
                "vimId": self.id or str(uuid.uuid4()),
                "vimType": "ETSINFV.KUBERNETES.V_1",
                "interfaceInfo": {
                    "endpoint": self.endpoint,
                    "ssl_ca_cert": self.ca,
                },
                "accessInfo": dict(self.credentials),
            }
        }

    def registration(self, name: str, *, default: bool) -> Mapping[str, Any]:
        """As a request to register it has it."""
        return {
            "tenant_id": TENANT,
            "type": "kubernetes",
            "name": name or f"vim-{uuid.uuid4().hex[:8]}",
            "description": "",
            "auth_url": self.endpoint,
            "vim_project": {"name": "default"},
            "auth_cred": {
                **self.credentials,
                "ssl_ca_cert": self.ca or "None",
            },
            "is_default": default,
        }
