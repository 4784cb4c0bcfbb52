"""A second API server, which takes the tokens of an OpenID provider."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import json
import os
import pathlib

from tools.identity import Provider
from tools.plane import Plane
from tools.plane.binaries import Store
from tools.plane.folders import Folders
from tools.plane.folders import write_private

SHIFT = 4000
"""Of its ports, from those of the usual plane."""

PREFIX = "oidc:"
"""Of the names that its users have by their tokens."""


@dataclasses.dataclass(frozen=True)
class Second:
    """Where it is, who vouches for it, and who gives tokens for it."""

    plane: Plane
    provider: Provider
    server: str
    ca: str

    def grants(self, subject: str, role: str) -> None:
        """Bind a user of the provider to a ClusterRole."""
        name = f"{role}-{subject}".lower()[:60]
        user = f"--user={PREFIX}{subject}"
        self.plane.kubectl(
            "create", "clusterrolebinding", name, f"--clusterrole={role}", user
        )


@contextlib.contextmanager
def run_api_server(
    folder: pathlib.Path, lifetime: str = "1h", shift: int = SHIFT
) -> Iterator[Second]:
    """A control plane without nodes, and its OpenID provider.

    :param lifetime: of the provider's tokens.
    """
    keys = folder / "provider"
    keys.mkdir()
    with Provider(keys, lifetime) as provider:
        folders = Folders(folder / "second", shift=shift)
        folders.make()
        # JSON is YAML.
        write_private(
            folders.authentication, json.dumps(_trust(provider)).encode()
        )
        plane = Plane(
            folders, Store.from_environ(os.environ), lambda said: None
        )
        plane.up(("control plane",))
        try:
            from tools.plane import credentials

            yield Second(
                plane,
                provider,
                credentials.server(folders),
                (folders.pki / "ca.crt").read_text(),
            )
        finally:
            plane.down()


def _trust(provider: Provider) -> dict[str, object]:
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [
            {
                "issuer": {
                    "url": provider.issuer,
                    "audiences": [provider.user.client],
                    "certificateAuthority": provider.ca,
                },
                "claimMappings": {
                    "username": {"claim": "sub", "prefix": PREFIX}
                },
            }
        ],
    }
