"""How Tacker's v2 API runs the management driver: as a script.

The script is a bare process of the conductor's Python. It gets a pickled
dictionary on its standard input, and what it prints is read, too: nothing
is printed. When it fails, Tacker puts what it wrote to its standard error
into the operation's error, so that is one sentence, without a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
import io
import logging
import os
import pickle
import sys
from typing import Any, NoReturn

from oslo_config import cfg

from tacker_k8s_cr import errors
from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import faults
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import logs
from tacker_k8s_cr.driver import mgmt
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.driver.conf import Settings
from tacker_k8s_cr.driver.instances import Target

LOG = logging.getLogger(__name__)

OURS = "tacker_k8s_cr"
"""Our key in an instance's metadata; without it, it is not ours."""


def main() -> int:
    """The whole script: its exit status."""
    # What a library may print is nobody's answer.
    sys.stdout = io.StringIO()
    why = failure(sys.stdin.buffer.read(), os.environ)
    sys.stderr.buffer.write(why.encode("ascii", "backslashreplace"))
    return 1 if why else 0


def failure(text: bytes, environ: Mapping[str, str]) -> str:
    """Carry out what standard input asks for; why that failed, or nothing.

    :param text: what Tacker wrote there.
    """
    try:
        _carried_out(plain(text), environ)
    except errors.Error as error:
        why = "; ".join(map(str.strip, str(error).splitlines()))
    except cfg.Error as error:
        why = mgmt.unreadable(error)
    except Exception as error:  # noqa: BLE001  a traceback may show values
        why = f"a fault of the management driver: {faults.where(error)}"
    else:
        why = ""
    return why[: faults.LONGEST]


def _carried_out(call: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    hook = str(call["operation"])
    inst = call["vnf_instance"]
    name = inst.get("id", "") if isinstance(inst, dict) else ""
    # Twice: what the configuration says of logs should hold for what is
    # wrong within, and the configuration itself may be what is wrong.
    with mgmt.unstopped(hook, name):
        own = conf.own(environ)
        with logs.of_script(own), mgmt.unstopped(hook, name):
            carry_out(call, conf.settings(own))


def carry_out(call: Mapping[str, Any], settings: Settings) -> None:
    """What Tacker's dictionary asks for."""
    hook = call["operation"]
    inst = call["vnf_instance"]
    if hook == mgmt.CHECKS:
        mgmt.delivery(_said(call, "instantiate"), settings)
    elif operation := mgmt.DELIVERS.get(hook):
        said = _said(call, operation)
        if _record(inst):
            mgmt.deliver_all(_target(inst), said, settings)
        elif operation == "instantiate":
            raise errors.RequestInvalid(
                "the VNF instance was instantiated by another driver than "
                "kubernetes_cr, and has no kubeconfig to deliver"
            )
    elif hook == mgmt.RESTORED and _record(inst):
        # The request was that of the change, which is taken back.
        mgmt.deliver_all(_target(inst), {}, settings)
    elif hook in mgmt.WITHDRAWS and (target := _going(call, inst, settings)):
        mgmt.withdraw_all(target, settings)


def _said(call: Mapping[str, Any], operation: str) -> Mapping[str, Any]:
    """What the request says of the delivery."""
    params = (call.get("request") or {}).get("additionalParams")
    return request.read(params, operation).webhook


def _record(inst: Mapping[str, Any]) -> str:
    """Where the record lies: ``namespace/id``; empty if it is not ours."""
    info = inst.get("instantiatedVnfInfo") or {}
    ours = (info.get("metadata") or {}).get(OURS) or {}
    return str(ours.get("record") or "")


def _going(
    call: Mapping[str, Any], inst: Mapping[str, Any], settings: Settings
) -> Target | None:
    """The instance that is to go; None for one of another driver.

    Tacker knows nothing yet of one whose instantiation is rolled back. Its
    record, if there is one, lies where the request put it.
    """
    if _record(inst):
        return _target(inst)
    if call["operation"] == "terminate_start":
        return None
    params = (call.get("request") or {}).get("additionalParams")
    try:
        asked = request.read(params)
    except errors.RequestInvalid:
        return None  # nothing was made for it
    if asked.use_helm:
        return None
    return _target(inst, f"{instances.home(asked, settings)}/{inst['id']}")


def _target(inst: Mapping[str, Any], record: str = "") -> Target:
    home, _, instance = (record or _record(inst)).partition("/")
    # Tacker itself takes the first.
    first = next(iter((inst.get("vimConnectionInfo") or {}).values()), None)
    if first is None:
        raise errors.RequestInvalid("the VNF instance has no VIM")
    return Target(instance, home, vim.access(first))


# -- What comes in -----------------------------------------------------------


class _Plain(pickle.Unpickler):
    """Reads dictionaries, lists, texts and numbers, and nothing else."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


def plain(text: bytes) -> Mapping[str, Any]:
    """The dictionary. Raises RequestInvalid for what is none."""
    try:
        found = _Plain(io.BytesIO(text)).load()
    except Exception:  # noqa: BLE001  a bad pickle may raise anything
        found = None
    if not isinstance(found, dict) or not {"operation", "vnf_instance"} <= set(
        found
    ):
        raise errors.RequestInvalid(
            "standard input: wanted the dictionary that Tacker gives to a "
            "management script, found something else"
        )
    return found
