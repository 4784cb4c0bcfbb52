"""Run the management driver as a script of Tacker's v2 API.

The script is a process of the conductor's Python. It reads a pickled
dictionary from its standard input, and prints nothing, since Tacker reads its
standard output. If it fails, Tacker adds its standard error to the error of
the operation, so that is one sentence without a secret.
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

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import error_text
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import script_logging
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.driver.configuration import Settings
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.mgmt import kubeconfig_webhook
from tacker_k8s_cr.model import errors

LOG = logging.getLogger(__name__)

OURS = "tacker_k8s_cr"
"""Key in the metadata of an instance that this driver manages."""


def main() -> int:
    """Run the script, and return its exit status."""
    # Tacker would read what a library prints.
    sys.stdout = io.StringIO()
    why = failure(sys.stdin.buffer.read(), os.environ)
    sys.stderr.buffer.write(why.encode("ascii", "backslashreplace"))
    return 1 if why else 0


def failure(text: bytes, environ: Mapping[str, str]) -> str:
    """Carry out the call, and return why it failed; empty for success.

    :param text: the standard input, written by Tacker.
    """
    try:
        _handle(parse_request(text), environ)
    except errors.Error as error:
        why = "; ".join(map(str.strip, str(error).splitlines()))
    except cfg.Error as error:
        why = kubeconfig_webhook.config_error(error)
    except Exception as error:  # noqa: BLE001  a traceback may show values
        where = error_text.error_location(error)
        why = f"internal error of the management driver: {where}"
    else:
        why = ""
    return why[: error_text.LONGEST]


def _handle(call: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    hook = str(call["operation"])
    inst = call["vnf_instance"]
    name = inst.get("id", "") if isinstance(inst, dict) else ""
    # Twice: the logging options apply to errors within, and the
    # configuration itself may be wrong.
    with kubeconfig_webhook.log_failures(hook, name):
        own = configuration.load_exported_config(environ)
        with (
            script_logging.of_script(own),
            kubeconfig_webhook.log_failures(hook, name),
        ):
            carry_out(call, configuration.settings(own))


def carry_out(call: Mapping[str, Any], settings: Settings) -> None:
    """Carry out the operation in Tacker's dictionary."""
    hook = call["operation"]
    inst = call["vnf_instance"]
    if hook == kubeconfig_webhook.CHECKS:
        kubeconfig_webhook.create_delivery(
            _delivery_params(call, "instantiate"), settings
        )
    elif operation := kubeconfig_webhook.DELIVERS.get(hook):
        params = _delivery_params(call, operation)
        if _record(inst):
            kubeconfig_webhook.deliver_all(_target(inst), params, settings)
        elif operation == "instantiate":
            raise errors.RequestInvalid(
                "the VNF instance was instantiated by another driver than "
                "kubernetes_cr, and has no kubeconfig to deliver"
            )
    elif hook == kubeconfig_webhook.RESTORED and _record(inst):
        # The request was that of the change, which is rolled back.
        kubeconfig_webhook.deliver_all(_target(inst), {}, settings)
    elif hook in kubeconfig_webhook.WITHDRAWS and (
        target := _terminating_instance(call, inst, settings)
    ):
        kubeconfig_webhook.withdraw_all(target, settings)


def _delivery_params(
    call: Mapping[str, Any], operation: str
) -> Mapping[str, Any]:
    """Return the delivery parameters of the request."""
    params = (call.get("request") or {}).get("additionalParams")
    return additional_params.read(params, operation).webhook


def _record(inst: Mapping[str, Any]) -> str:
    """Return the reference of the record; empty for another driver."""
    info = inst.get("instantiatedVnfInfo") or {}
    own = (info.get("metadata") or {}).get(OURS) or {}
    return str(own.get("record") or "")


def _terminating_instance(
    call: Mapping[str, Any], inst: Mapping[str, Any], settings: Settings
) -> InstanceTarget | None:
    """Return the instance to terminate; None for one of another driver.

    Tacker has no reference yet of one whose instantiation is rolled back.
    Its record, if any, is in the namespace of the request.
    """
    if _record(inst):
        return _target(inst)
    if call["operation"] == "terminate_start":
        return None
    params = (call.get("request") or {}).get("additionalParams")
    try:
        request = additional_params.read(params)
    except errors.RequestInvalid:
        return None  # nothing was created for it
    if request.use_helm:
        return None
    return _target(
        inst,
        f"{instances.choose_record_namespace(request, settings)}/{inst['id']}",
    )


def _target(inst: Mapping[str, Any], record: str = "") -> InstanceTarget:
    record_namespace, _, instance = (record or _record(inst)).partition("/")
    # Tacker itself takes the first.
    first = next(iter((inst.get("vimConnectionInfo") or {}).values()), None)
    if first is None:
        raise errors.RequestInvalid("the VNF instance has no VIM")
    return InstanceTarget(instance, record_namespace, vim.access(first))


# -- What comes in -----------------------------------------------------------


class _Plain(pickle.Unpickler):
    """An unpickler for dictionaries, lists, texts and numbers only."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not a plain value")


def parse_request(text: bytes) -> Mapping[str, Any]:
    """Return the dictionary. Raises RequestInvalid for other input."""
    try:
        request = _Plain(io.BytesIO(text)).load()
    except Exception:  # noqa: BLE001  a bad pickle may raise anything
        request = None
    if not isinstance(request, dict) or not {
        "operation",
        "vnf_instance",
    } <= set(request):
        raise errors.RequestInvalid(
            "standard input: expected the dictionary that Tacker passes to a "
            "management script, got something else"
        )
    return request
