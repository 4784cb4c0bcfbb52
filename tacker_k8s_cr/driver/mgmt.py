"""What the management driver kubeconfig-webhook does.

The file that Tacker compares with the copy in a package hands every call
on to here, so that it never has to change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacker_k8s_cr import deliver
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import failures
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import translate
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.driver.conf import Settings
from tacker_k8s_cr.errors import RequestInvalid
from tacker_k8s_cr.webhook import Receiver


def called(hook: str, call: Mapping[str, Any]) -> None:
    """One call of Tacker's, at one point of an operation.

    :param call: what Tacker gives with it, by name.
    """
    if hook == "instantiate_start":
        instantiate_start(
            call["vnf_instance"], call["instantiate_vnf_request"]
        )
    elif hook == "instantiate_end":
        instantiate_end(
            call["context"],
            call["vnf_instance"],
            call["instantiate_vnf_request"],
        )


def instantiate_start(vnf_instance: Any, lcm_request: Any) -> None:
    """Refuse settings that would only be missed once all is there."""
    with failures.translated("delivery", vnf_instance.id):
        asked = request.read(lcm_request.additional_params)
        delivery(asked, conf.settings())


def instantiate_end(context: Any, vnf_instance: Any, lcm_request: Any) -> None:
    """Deliver the kubeconfig of every Cluster that the instance has."""
    with failures.translated("delivery", vnf_instance.id):
        settings = conf.settings()
        asked = request.read(lcm_request.additional_params)
        how = delivery(asked, settings)
        instance, namespace = translate.place(
            vnf_instance.instantiated_vnf_info.instance_id, vnf_instance
        )
        access = _access(context, vnf_instance)
        with vim.opened(access, settings) as cluster:
            deliver.deliver(
                cluster,
                instance,
                how,
                namespace=namespace,
                deadline=Deadline.after(settings.webhook.timeout),
            )


def delivery(asked: request.Asked, settings: Settings) -> deliver.Delivery:
    """Where to and how: the request's word, else the configuration's.

    Secrets come from the configuration only, so that none is in a package
    or in Tacker's database.
    """
    hook = settings.webhook
    url = asked.webhook.get("url") or hook.url
    if not url:
        raise RequestInvalid(
            "no webhook is named, neither by "
            "additionalParams.tacker_k8s_cr.webhook.url nor by the option "
            "[tacker_k8s_cr] webhook_url"
        )
    receiver = Receiver(
        url=url,
        secrets=hook.secrets(),
        token=hook.bearer_token(),
        user=hook.user,
        password=hook.user_password(),
        ca_file=hook.ca_file,
        insecure=hook.insecure,
        allow_http=hook.allow_http,
    )
    return deliver.Delivery(
        receiver, deliver.Probe(asked.webhook.get("probe") or hook.probe)
    )


def _access(context: Any, vnf_instance: Any) -> Mapping[str, Any]:
    """The access information of the instance's VIM, as Tacker decrypts it."""
    # Imported here: it brings in all of Tacker's VNFM and NFVO.
    from tacker.vnflcm import utils

    found = utils.get_vim(context, vnf_instance.vim_connection_info)
    access: Mapping[str, Any] = found["access_info"]
    return access
