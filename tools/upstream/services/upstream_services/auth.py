"""Replaces keystonemiddleware: accepts any token of the form USER/PROJECT.

Users of projects whose names begin with ``tenant`` are members, all others
are administrators.
"""

from __future__ import annotations

import contextlib
from typing import Any
import uuid

from keystoneauth1 import loading
from oslo_config import cfg

SPACE = uuid.UUID("5ac6d1a1-e7cc-4e54-a1a0-a3a6e2f6b902")
USUAL = "nfv_user/nfv"
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


def headers(token: str) -> dict[str, str]:
    """What keystonemiddleware would add to a request with this token."""
    user, _, project = (token or USUAL).partition("/")
    member = project.startswith(MEMBERS)
    return {
        "HTTP_X_IDENTITY_STATUS": "Confirmed",
        "HTTP_X_USER_ID": uuid.uuid5(SPACE, user).hex,
        "HTTP_X_USER_NAME": user,
        "HTTP_X_PROJECT_ID": uuid.uuid5(SPACE, project).hex,
        "HTTP_X_PROJECT_NAME": project,
        "HTTP_X_ROLES": "member,reader" if member else "admin,member,reader",
    }
