"""Read operations and VIMs from Tacker's database."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import importlib
from typing import Any

from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.driver.check import installation
from tacker_k8s_cr.driver.check.check_rules import Unfinished
from tacker_k8s_cr.lcm.preparation import permissions_check
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline

SECONDS = 20.0
"""For one VIM."""

_FAILED = "FAILED_TEMP"


@dataclasses.dataclass(frozen=True)
class Vim:
    """A VIM, and why it cannot be used; empty if it can."""

    name: str
    trouble: str


def list_unfinished() -> tuple[Unfinished, ...]:
    """Return operations of both APIs in FAILED_TEMP.

    Raises RequestInvalid if the database cannot be read.
    """
    return tuple(_query(_unfinished))


def list_vims() -> tuple[Vim, ...]:
    """Check every VIM of Kubernetes with its own credential.

    Raises RequestInvalid if the database cannot be read.
    """
    return tuple(_query(_vims))


def _query(ask: Any) -> list[Any]:
    try:
        with installation.silence_warnings():
            _no_retries()
            return list(ask())
    except Exception as error:  # noqa: BLE001
        # Its text has the URL of the database, and that a password.
        raise errors.RequestInvalid(
            f"Tacker's database cannot be read: {type(error).__name__}"
        ) from None


def _no_retries() -> None:
    """Disable the retries, with which a service waits for minutes."""
    from oslo_config import cfg

    cfg.CONF.set_override("max_retries", 0, "database")


def _unfinished() -> Iterator[Unfinished]:
    from tacker.db import api
    from tacker.db.db_sqlalchemy import models
    from tacker.sol_refactored.db.sqlalchemy import models as models_v2

    v1, v2 = models.VnfLcmOpOccs, models_v2.VnfLcmOpOccV2
    with api.get_session() as session:
        for row in session.query(v1).filter_by(
            operation_state=_FAILED, deleted=False
        ):
            yield Unfinished("v1", row.id, row.operation, row.vnf_instance_id)
        for row in session.query(v2).filter_by(operationState=_FAILED):
            yield Unfinished("v2", row.id, row.operation, row.vnfInstanceId)


def _vims() -> Iterator[Vim]:
    from tacker.db import api
    from tacker.db.nfvo import nfvo_db

    with api.get_session() as session:
        named = [
            (row.id, row.name)
            for row in session.query(nfvo_db.Vim).filter_by(type="kubernetes")
        ]
    for id_, name in named:
        yield Vim(name, _check(id_))


def _check(id_: str) -> str:
    try:
        access = _access(id_)
    except Exception as error:  # noqa: BLE001
        # The key manager's errors are as manifold as key managers.
        return (
            "its credential cannot be decrypted, which takes Tacker's key "
            f"manager: {type(error).__name__}"
        )
    try:
        settings = configuration.settings()
        with vim.connect(access, settings) as cluster:
            brief = cluster.with_deadline(Deadline.after(SECONDS))
            record_namespace = settings.record_namespace or "default"
            missing = permissions_check.missing_for_record(
                brief, record_namespace
            )
    except errors.Error as error:
        return str(error)
    if missing:
        return f"missing permissions of its user: {'; '.join(missing)}"
    return ""


def _access(id_: str) -> dict[str, Any]:
    from oslo_config import cfg
    from tacker import context
    from tacker.vnfm import vim_client

    # Only what VIMs need: the other plug-in loads the drivers.
    cfg.CONF.set_override("service_plugins", ["nfvo"])
    importlib.import_module("tacker.nfvo.nfvo_plugin")
    vim_info = vim_client.VimClient().get_vim(context.get_admin_context(), id_)
    return {**vim_info["vim_auth"], "vim_id": vim_info["vim_name"]}
