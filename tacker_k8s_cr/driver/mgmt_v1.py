"""How Tacker's v1 API calls the management driver.

The file that Tacker compares with the copy in a package hands every call
on to here, so that it never has to change.
"""

from __future__ import annotations

from collections.abc import Mapping
import logging
from typing import Any

from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import failures
from tacker_k8s_cr.driver import mgmt
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import translate
from tacker_k8s_cr.driver.instances import Target

LOG = logging.getLogger(__name__)


def called(hook: str, call: Mapping[str, Any]) -> None:
    """One call of Tacker's, at one point of an operation.

    :param call: what Tacker gives with it, by name.
    """
    if hook not in mgmt.HOOKS:
        return
    vnf_instance = call["vnf_instance"]
    with (
        failures.translated("delivery", vnf_instance.id),
        mgmt.unstopped(hook, vnf_instance.id),
    ):
        settings = conf.settings()
        if hook == mgmt.CHECKS:
            mgmt.delivery(_said(call, "instantiate"), settings)
        elif operation := mgmt.DELIVERS.get(hook):
            if operation == "instantiate" or _ours(vnf_instance):
                said = _said(call, operation)
                mgmt.deliver_all(_target(call), said, settings)
        elif hook in mgmt.WITHDRAWS and _ours(vnf_instance):
            mgmt.withdraw_all(_target(call), settings)


def _ours(vnf_instance: Any) -> bool:
    """Whether the instance is one of our driver; others have no record."""
    info = vnf_instance.instantiated_vnf_info
    reference = (info and info.instance_id) or ""
    return translate.ours(reference or translate.noted(vnf_instance))


def _said(call: Mapping[str, Any], operation: str) -> Mapping[str, Any]:
    """What the request says of the delivery."""
    asked = call[f"{operation}_vnf_request"]
    try:
        params = asked.additional_params
    except NotImplementedError:
        # How Tacker's objects say that an attribute is not set.
        params = None
    return request.read(params, operation).webhook


def _target(call: Mapping[str, Any]) -> Target:
    vnf_instance = call["vnf_instance"]
    # Imported here: it brings in all of Tacker's VNFM and NFVO.
    from tacker.vnflcm import utils

    found = utils.get_vim(call["context"], vnf_instance.vim_connection_info)
    info = vnf_instance.instantiated_vnf_info
    return translate.target(
        info and info.instance_id,
        {**found["access_info"], "vim_id": found["vim_id"]},
        vnf_instance,
    )
