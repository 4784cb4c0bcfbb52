"""Translate calls of Tacker's v1 API to the management driver.

Tacker compares the file of the management driver with the copy in a package.
That file delegates every call to this module, so that it does not change.
"""

from __future__ import annotations

from collections.abc import Mapping
import logging
from typing import Any

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.mgmt import kubeconfig_webhook
from tacker_k8s_cr.driver.v1 import mapping
from tacker_k8s_cr.driver.v1 import tacker_errors

LOG = logging.getLogger(__name__)


def run_hook(hook: str, call: Mapping[str, Any]) -> None:
    """Handle a call of Tacker before or after an operation.

    :param call: the arguments of the call, by name.
    """
    if hook not in kubeconfig_webhook.HOOKS:
        return
    vnf_instance = call["vnf_instance"]
    with (
        tacker_errors.translate_errors("delivery", vnf_instance.id),
        kubeconfig_webhook.log_failures(hook, vnf_instance.id),
    ):
        settings = configuration.settings()
        if hook == kubeconfig_webhook.CHECKS:
            kubeconfig_webhook.create_delivery(
                _delivery_params(call, "instantiate"), settings
            )
        elif operation := kubeconfig_webhook.DELIVERS.get(hook):
            if operation == "instantiate" or _is_managed(vnf_instance):
                params = _delivery_params(call, operation)
                kubeconfig_webhook.deliver_all(_target(call), params, settings)
        elif hook in kubeconfig_webhook.WITHDRAWS and _is_managed(
            vnf_instance
        ):
            kubeconfig_webhook.withdraw_all(_target(call), settings)


def _is_managed(vnf_instance: Any) -> bool:
    """Return whether this driver manages the instance."""
    info = vnf_instance.instantiated_vnf_info
    reference = (info and info.instance_id) or ""
    return mapping.is_our_reference(
        reference or mapping.noted_reference(vnf_instance)
    )


def _delivery_params(
    call: Mapping[str, Any], operation: str
) -> Mapping[str, Any]:
    """Return the delivery parameters of the request."""
    request = call[f"{operation}_vnf_request"]
    try:
        params = request.additional_params
    except NotImplementedError:
        # Tacker's objects raise it for an attribute that is not set.
        params = None
    return additional_params.read(params, operation).webhook


def _target(call: Mapping[str, Any]) -> InstanceTarget:
    vnf_instance = call["vnf_instance"]
    # Imported here: it brings in all of Tacker's VNFM and NFVO.
    from tacker.vnflcm import utils

    vim_info = utils.get_vim(call["context"], vnf_instance.vim_connection_info)
    info = vnf_instance.instantiated_vnf_info
    return mapping.target(
        info and info.instance_id,
        {**vim_info["access_info"], "vim_id": vim_info["vim_id"]},
        vnf_instance,
    )
