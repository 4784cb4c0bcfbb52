"""The VIMs of the tests: as files that they read, and as Tacker has them."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import pathlib
from typing import Any

import requests
import yaml

from tools.upstream.cluster import Cluster
from tools.upstream.errors import UpstreamError

FILES = "samples/tests/etc/samples"
ADMINISTRATOR = "nfv_user/nfv"
"""The token of local-vim.yaml's user; the services accept USER/PROJECT."""

TENANTS = {"1": ("user_1", "tenant1"), "2": ("user_2", "tenant2")}

Vim = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Registration:
    """A VIM in Tacker's database.

    :param token: of the user who registers it.
    """

    name: str
    vim: Vim
    token: str = ADMINISTRATOR
    default: bool = False

    @property
    def body(self) -> dict[str, Any]:
        credentials = {
            key: self.vim[key]
            for key in (
                *("bearer_token", "oidc_token_url", "username", "password"),
                *("client_id", "client_secret", "ssl_ca_cert"),
            )
            if self.vim.get(key)
        }
        body = {
            "type": "kubernetes",
            "name": self.name,
            "description": "Kubernetes VIM",
            "auth_url": self.vim["auth_url"],
            "vim_project": {"name": "default"},
            "auth_cred": credentials,
            "is_default": self.default,
        }
        if self.vim.get("extra"):
            body["extra"] = self.vim["extra"]
        return {"vim": body}


def of(cluster: Cluster) -> dict[str, Any]:
    """The cluster as a VIM, in the form of the tests' files."""
    return {
        "auth_url": cluster.server,
        "bearer_token": cluster.token,
        "project_name": "default",
        "ssl_ca_cert": cluster.ca,
        "type": "kubernetes",
    }


def registrations(vim: Vim, openid: Vim | None) -> list[Registration]:
    """All VIMs that the tests select by name."""
    helm = {**vim, "extra": {"use_helm": True}}
    plain = {**vim, "extra": {}}
    found = [
        # Version 1 requires a default VIM of each project. In Tacker's jobs
        # it is OpenStack.
        Registration("VIM0", plain, default=True),
        Registration("vim-kubernetes", vim),
        Registration("vim-kubernetes-helm", helm),
    ]
    for number, (user, project) in TENANTS.items():
        token = f"{user}/{project}"
        found += [
            Registration(f"VIM-{project}", plain, token, default=True),
            Registration(f"vim-kubernetes-t{number}", plain, token),
        ]
    if openid:
        # Tests of version 1 and of version 2 select different names.
        found += [
            Registration("vim-kubernetes-oidc", openid),
            Registration("vim-kubernetes-oidc-auth", openid),
        ]
    return found


def write(source: pathlib.Path, vim: Vim, openid: Vim | None) -> None:
    """Write the files that the tests read."""
    folder = source / FILES
    _write(folder / "local-k8s-vim.yaml", vim)
    helm = {**vim, "extra": {"use_helm": True}}
    _write(folder / "local-k8s-vim-helm.yaml", helm)
    if openid:
        _write(folder / "local-k8s-vim-oidc.yaml", openid)
    user = yaml.safe_load((folder / "local-vim.yaml").read_text())
    for number, (name, project) in TENANTS.items():
        tenant = {**user, "username": name, "project_name": project}
        _write(folder / f"local-tenant{number}-vim.yaml", tenant)


def _write(path: pathlib.Path, content: Vim) -> None:
    path.write_text(yaml.safe_dump(dict(content)))


def register(url: str, wanted: list[Registration]) -> None:
    """Register VIMs in the Tacker at this URL."""
    with requests.Session() as session:
        session.trust_env = False
        for one in wanted:
            answer = session.post(
                f"{url}/v1.0/vims",
                json=one.body,
                headers={"X-Auth-Token": one.token},
                timeout=60,
            )
            if not answer.ok:
                raise UpstreamError(
                    f"Tacker does not register the VIM {one.name}: "
                    f"{answer.status_code} {answer.text[:1000]}"
                )
