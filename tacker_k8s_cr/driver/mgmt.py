"""What the management driver kubeconfig-webhook does, for both APIs.

How Tacker calls it is known to ``mgmt_v1`` and ``mgmt_v2``; what is said
there of an instance comes here as values.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import logging
from typing import Any

from oslo_config import cfg

from tacker_k8s_cr import deliver
from tacker_k8s_cr import errors
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import faults
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.driver.conf import Settings
from tacker_k8s_cr.driver.instances import Target
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.webhook import Receiver

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
"""Hooks after which the instance goes."""
RESTORED = "change_current_package_rollback_end"
"""After it the instance is what it was before; Clusters may have gone."""
HOOKS = frozenset([CHECKS, *DELIVERS, *WITHDRAWS, RESTORED])
"""All that do anything."""
UNSTOPPED = WITHDRAWS | {RESTORED}
"""Hooks that fail nothing: what ends or goes back must be able to."""

WITHDRAWAL = 120.0
"""Seconds that a termination waits at most until all is told and revoked."""


@contextlib.contextmanager
def unstopped(hook: str, instance: str) -> Iterator[None]:
    """Of what goes wrong in a hook that fails nothing, log it and go on.

    In other hooks it is raised.
    """
    try:
        yield
    except Exception as error:
        if hook not in UNSTOPPED:
            raise
        # A fault's own text may show a value.
        why = f"a fault of the management driver: {faults.where(error)}"
        if isinstance(error, errors.Error):
            why = str(error)
        elif isinstance(error, cfg.Error):
            why = unreadable(error)
        LOG.warning("%s: %s goes on, nobody is told: %s", instance, hook, why)
        LOG.debug("%s", faults.trace(error))


def unreadable(error: cfg.Error) -> str:
    """A wrong configuration as a sentence; without the value."""
    return f"the conductor's configuration cannot be read: {conf.fault(error)}"


def deliver_all(
    target: Target, said: Mapping[str, Any], settings: Settings
) -> None:
    """Deliver the kubeconfig of every Cluster that the instance has.

    A credential that its receiver has is not sent again.

    :param said: of the delivery, by this request.
    """
    with vim.opened(target.access, settings) as cluster:
        deadline = Deadline.after(settings.webhook.timeout)
        known = kept(cluster.until(deadline), target)
        deliver.deliver(
            cluster,
            target.instance,
            delivery({**known, **said}, settings),
            namespace=target.home,
            deadline=deadline,
        )


def withdraw_all(target: Target, settings: Settings) -> None:
    """Revoke what was made for the instance, and tell that it ends."""
    deadline = Deadline.after(min(settings.webhook.timeout, WITHDRAWAL))
    with vim.opened(target.access, settings) as cluster:
        known = kept(cluster.until(deadline), target)
        deliver.withdraw(
            cluster,
            target.instance,
            _if_any(target, known, settings),
            namespace=target.home,
            deadline=deadline,
        )


def _if_any(
    target: Target, known: Mapping[str, Any], settings: Settings
) -> deliver.Delivery | None:
    """How to deliver; None, and a warning, where settings are wrong."""
    try:
        return delivery(known, settings)
    except errors.RequestInvalid as error:
        LOG.warning(
            "%s: nobody is told of its end: %s", target.instance, error
        )
        return None


def kept(cluster: Cluster, target: Target) -> Mapping[str, Any]:
    """What the instantiation said of the delivery, from the record.

    Later requests do not say it again.
    """
    entry = record.read(cluster, target.instance, target.home)
    return entry.inventory.policy.delivery if entry else {}


def delivery(said: Mapping[str, Any], settings: Settings) -> deliver.Delivery:
    """Where to and how: as it was said, else as the configuration says.

    Secrets come from the configuration only, so that none is in a package
    or in Tacker's database.
    """
    hook = settings.webhook
    url = said.get("url") or hook.url
    if not url:
        raise errors.RequestInvalid(
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
    access = deliver.Access(
        deliver.Mode(said.get("mode") or hook.mode),
        said.get("role") or hook.role,
        int(said.get("expires_after") or hook.expires_after),
    )
    return deliver.Delivery(
        receiver,
        deliver.Probe(said.get("probe") or hook.probe),
        access,
        renew=said.get("renew", False),
    )
