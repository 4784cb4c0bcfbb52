"""Replaces Keystone: accepts any token of the form USER/PROJECT.

Users of projects whose names begin with ``tenant`` are members; all others,
and requests without a token, are administrators. Tacker's own paste file
names this filter where it names keystonemiddleware.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
from typing import Any
import uuid

from keystoneauth1 import loading
from oslo_config import cfg

HEADERS = {
    "HTTP_X_IDENTITY_STATUS": "Confirmed",
    "HTTP_X_USER_ID": "b6f1f6f25b1e4b7a9dd3a2f5d35a9c01",
    "HTTP_X_USER_NAME": "local",
    "HTTP_X_PROJECT_ID": "5ac6d1a1e7cc4e54a1a0a3a6e2f6b902",
    "HTTP_X_PROJECT_NAME": "local",
    "HTTP_X_ROLES": "admin,member,reader",
}
"""Of a request without a token."""

SPACE = uuid.UUID("5ac6d1a1-e7cc-4e54-a1a0-a3a6e2f6b902")
MEMBERS = "tenant"


def filter_factory(_conf: Any, **_local: Any) -> Any:
    # tacker-server reads where Keystone is when a VIM is registered;
    # keystonemiddleware would have declared the options.
    for option in loading.get_auth_plugin_conf_options("password"):
        with contextlib.suppress(cfg.DuplicateOptError):
            cfg.CONF.register_opt(option, group="keystone_authtoken")

    def filtered(application: Any) -> Any:
        def answered(environ: Any, start_response: Any) -> Any:
            environ.update(headers(environ.get("HTTP_X_AUTH_TOKEN", "")))
            return application(environ, start_response)

        return answered

    return filtered


def headers(token: str) -> Mapping[str, str]:
    """Return what keystonemiddleware would add to a request."""
    if not token:
        return HEADERS
    user, _, project = token.partition("/")
    member = project.startswith(MEMBERS)
    return {
        "HTTP_X_IDENTITY_STATUS": "Confirmed",
        "HTTP_X_USER_ID": uuid.uuid5(SPACE, user).hex,
        "HTTP_X_USER_NAME": user,
        "HTTP_X_PROJECT_ID": uuid.uuid5(SPACE, project).hex,
        "HTTP_X_PROJECT_NAME": project,
        "HTTP_X_ROLES": "member,reader" if member else "admin,member,reader",
    }
