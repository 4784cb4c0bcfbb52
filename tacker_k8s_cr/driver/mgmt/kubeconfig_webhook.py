"""The management driver kubeconfig-webhook, for both APIs.

``mgmt.v1`` and ``mgmt.v2`` translate the calls of Tacker.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import logging
from typing import Any

from oslo_config import cfg

from tacker_k8s_cr import delivery as deliver
from tacker_k8s_cr.delivery.webhook import Receiver
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import error_text
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.driver.configuration import Settings
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.state import store

LOG = logging.getLogger(__name__)

CHECKS = "instantiate_start"
DELIVERS = {
    "instantiate_end": "instantiate",
    "scale_end": "scale",
    "heal_end": "heal",
    "change_current_package_end": "change",
}
"""By hook, the operation whose request it reads."""
WITHDRAWS = frozenset(["terminate_start", "instantiate_rollback_start"])
"""Hooks after which the instance is terminated."""
RESTORED = "change_current_package_rollback_end"
"""After it the instance is restored; Clusters may have been deleted."""
HOOKS = frozenset([CHECKS, *DELIVERS, *WITHDRAWS, RESTORED])
"""All hooks with an action."""
UNSTOPPED = WITHDRAWS | {RESTORED}
"""Hooks that never fail: terminate and rollback must be possible."""

WITHDRAWAL = 120.0
"""Seconds that a termination waits for notifications and revocations."""


@contextlib.contextmanager
def log_failures(hook: str, instance: str) -> Iterator[None]:
    """Log an error in a hook that never fails; raise it in others."""
    try:
        yield
    except Exception as error:
        if hook not in UNSTOPPED:
            raise
        # The text of another error may contain a value.
        where = error_text.error_location(error)
        why = f"internal error of the management driver: {where}"
        if isinstance(error, errors.Error):
            why = str(error)
        elif isinstance(error, cfg.Error):
            why = config_error(error)
        LOG.warning(
            "%s: %s continues; webhook notification failed: %s",
            instance,
            hook,
            why,
        )
        LOG.debug("%s", error_text.trace(error))


def config_error(error: cfg.Error) -> str:
    """Return the message of a configuration error, without the value."""
    why = configuration.config_error(error)
    return f"the conductor's configuration cannot be read: {why}"


def deliver_all(
    target: InstanceTarget, params: Mapping[str, Any], settings: Settings
) -> None:
    """Deliver the kubeconfig of every Cluster that the instance has.

    A credential that its receiver has is not sent again.

    :param params: the parameters of the delivery in this request.
    """
    with vim.connect(target.access, settings) as cluster:
        deadline = Deadline.after(settings.webhook.timeout)
        recorded = read_recorded_delivery(
            cluster.with_deadline(deadline), target
        )
        deliver.deliver(
            cluster,
            target.instance,
            create_delivery({**recorded, **params}, settings),
            namespace=target.record_namespace,
            deadline=deadline,
        )


def withdraw_all(target: InstanceTarget, settings: Settings) -> None:
    """Revoke the credentials of the instance, and notify its receivers."""
    deadline = Deadline.after(min(settings.webhook.timeout, WITHDRAWAL))
    with vim.connect(target.access, settings) as cluster:
        recorded = read_recorded_delivery(
            cluster.with_deadline(deadline), target
        )
        deliver.withdraw(
            cluster,
            target.instance,
            _read_delivery(target, recorded, settings),
            namespace=target.record_namespace,
            deadline=deadline,
        )


def _read_delivery(
    target: InstanceTarget, params: Mapping[str, Any], settings: Settings
) -> deliver.Delivery | None:
    """Return the delivery; None, with a warning, for wrong settings."""
    try:
        return create_delivery(params, settings)
    except errors.RequestInvalid as error:
        LOG.warning(
            "%s: terminate notification not sent: %s", target.instance, error
        )
        return None


def read_recorded_delivery(
    cluster: Cluster, target: InstanceTarget
) -> Mapping[str, Any]:
    """Return the delivery parameters of the instantiation.

    They are in the record, since later requests do not repeat them.
    """
    entry = store.read(cluster, target.instance, target.record_namespace)
    return entry.inventory.policy.delivery if entry else {}


def create_delivery(
    params: Mapping[str, Any], settings: Settings
) -> deliver.Delivery:
    """Return the delivery of a request, else of the configuration.

    Secrets come from the configuration only, so that none is in a package
    or in Tacker's database.
    """
    hook = settings.webhook
    url = params.get("url") or hook.url
    if not url:
        raise errors.RequestInvalid(
            "no webhook: set "
            "additionalParams.tacker_k8s_cr.webhook.url, or the option "
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
    access = deliver.CredentialMode(
        deliver.CredentialKind(params.get("credential") or hook.credential),
        params.get("role") or hook.role,
        int(params.get("expires_after") or hook.expires_after),
    )
    return deliver.Delivery(
        receiver,
        deliver.ApiCheck(params.get("api_check") or hook.api_check),
        access,
        renew=params.get("renew", False),
    )
