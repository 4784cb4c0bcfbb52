"""Create the credential of requests from a kubeconfig."""

from __future__ import annotations

import base64
from collections.abc import Mapping
import contextlib
import dataclasses
import datetime
import math
import pathlib
import time
from typing import Any

from tacker_k8s_cr.kube import exec_credential
from tacker_k8s_cr.kube import oidc
from tacker_k8s_cr.kube.http.credential import Credential
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import KubeconfigInvalid
from tacker_k8s_cr.model.errors import Unauthenticated

_READ_AGAIN = 60.0
"""Seconds after which a token file is read again; the kubelet rotates it."""

_SKEW = 10.0
"""Seconds before its expiry when a plug-in's credential is renewed."""

_PLUGIN_PATIENCE = 20.0
"""Seconds after which a plug-in that timed out is not run again."""

_NEVER = Deadline.never()


def create_credential(
    kubeconfig: Kubeconfig,
    refused: Credential | None = None,
    deadline: Deadline = _NEVER,
) -> Credential:
    """Run the plug-in, ask the provider or read the token file.

    :param refused: the credential that the server no longer accepts.
    :param deadline: for the plug-in or the provider.
    """
    kind = kubeconfig.credential_kind
    if kind == "openid":
        created = _from_openid(kubeconfig, refused, deadline)
    elif kind == "exec":
        created = _from_plugin(kubeconfig, deadline)
    elif kind == "auth-provider":
        created = _from_provider(kubeconfig)
    elif kubeconfig.token_file:
        created = _from_file(kubeconfig)
    elif kind == "token":
        created = Credential(_bearer(kubeconfig.token))
    elif kind == "basic":
        text = f"{kubeconfig.username}:{kubeconfig.password}"
        encoded = base64.b64encode(text.encode()).decode()
        created = Credential({"Authorization": f"Basic {encoded}"})
    else:
        created = Credential({})
    return dataclasses.replace(
        created,
        headers={**created.headers, **_impersonation(kubeconfig.impersonate)},
        certificate=created.certificate or kubeconfig.client_certificate,
        key=created.key or kubeconfig.client_key,
    )


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _impersonation(fields: Mapping[str, Any]) -> dict[str, str]:
    headers = {}
    if user := fields.get("as"):
        headers["Impersonate-User"] = str(user)
    if uid := fields.get("as-uid"):
        headers["Impersonate-Uid"] = str(uid)
    if groups := fields.get("as-groups"):
        # HTTP allows joining headers of the same name, but the API server
        # reads each of these as one group.
        if len(groups) > 1:
            raise KubeconfigInvalid("as-groups", "only one is supported")
        headers["Impersonate-Group"] = str(groups[0])
    return headers


def _from_file(kubeconfig: Kubeconfig) -> Credential:
    try:
        token = pathlib.Path(kubeconfig.token_file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "it is not text")
        raise KubeconfigInvalid(kubeconfig.token_file, reason) from None
    return Credential(_bearer(token), until=time.monotonic() + _READ_AGAIN)


def _from_openid(
    kubeconfig: Kubeconfig, refused: Credential | None, deadline: Deadline
) -> Credential:
    value = refused.headers.get("Authorization", "") if refused else ""
    token = oidc.token(kubeconfig, value.removeprefix("Bearer "), deadline)
    return Credential(_bearer(token.text), until=token.until, end=token.end)


def _from_plugin(kubeconfig: Kubeconfig, deadline: Deadline) -> Credential:
    try:
        status = exec_credential.run_plugin(kubeconfig, deadline.remaining)
    except exec_credential.ExecPluginError as error:
        why = f"its exec plug-in failed: {error}"
        refusal = Unauthenticated(kubeconfig.server, why)
        if isinstance(error, exec_credential.ExecPluginTimeout):
            raise Retryable(refusal, patience=_PLUGIN_PATIENCE) from None
        raise refusal from None
    token = status.get("token")
    certificate = status.get("clientCertificateData")
    key = status.get("clientKeyData")
    if not token and not (certificate and key):
        raise Unauthenticated(
            kubeconfig.server,
            "its exec plug-in returned no token and no certificate with a key",
        )
    end = _end(status.get("expirationTimestamp"))
    return Credential(
        _bearer(token) if token else {},
        certificate or "",
        key or "",
        until=end - _SKEW,
        end=end,
    )


def _from_provider(kubeconfig: Kubeconfig) -> Credential:
    from kubernetes import client
    from kubernetes import config
    from kubernetes.config.config_exception import ConfigException

    # Only what the provider needs: the loader writes keys to files.
    document = kubeconfig.to_dict()
    document["clusters"][0]["cluster"] = {"server": kubeconfig.server}
    provider = {"auth-provider": kubeconfig.auth_provider}
    document["users"][0]["user"] = provider
    configuration = client.Configuration()
    try:
        config.load_kube_config_from_dict(
            document,
            client_configuration=configuration,
            persist_config=False,
        )
        header = configuration.auth_settings()["BearerToken"]["value"]
    except (ConfigException, KeyError, ValueError, OSError):
        raise Unauthenticated(
            kubeconfig.server, "its auth-provider returned no token"
        ) from None
    return Credential({"Authorization": header})


def _end(timestamp: str | None) -> float:
    """Convert a timestamp to the monotonic clock."""
    if not timestamp:
        return math.inf
    with contextlib.suppress(ValueError):
        # Python 3.10 does not read the Z.
        end = datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
        return time.monotonic() + end.timestamp() - time.time()
    return math.inf
