"""Where the management driver posts to, and what it refuses early."""

import base64
import types
import uuid

import pytest
from tacker.common import exceptions

from mgmt_drivers.kubeconfig_webhook import KubeconfigWebhook
from tacker_k8s_cr import delivery
from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver.mgmt import kubeconfig_webhook
from tacker_k8s_cr.model import errors

KEY = base64.b64encode(b"k" * 24).decode()


def webhook_params(**webhook):
    return additional_params.read(
        {"tacker_k8s_cr": {"webhook": webhook}}
    ).webhook


def start(params):
    """The hook before an instantiation, as Tacker calls it."""
    KubeconfigWebhook().instantiate_start(
        context=None,
        vnf_instance=types.SimpleNamespace(id="i-1"),
        instantiate_vnf_request=types.SimpleNamespace(
            additional_params=params
        ),
        grant=None,
        grant_request=None,
    )


def test_the_request_names_the_receiver(options):
    """Its URL and probe win over the configuration's."""
    options(webhook_url="https://b.example", webhook_api_check="skip")

    found = kubeconfig_webhook.create_delivery(
        webhook_params(url="https://a.example", api_check="try"),
        configuration.settings(),
    )

    assert ("https://a.example", delivery.ApiCheck.TRY) == (
        found.receiver.url,
        found.api_check,
    )


def test_the_configuration_names_the_receiver(options):
    """What the request leaves open, the options say; secrets always."""
    options(
        webhook_url="https://b.example",
        webhook_api_check="skip",
        webhook_secret=KEY,
        webhook_token="t0ken",
    )

    found = kubeconfig_webhook.create_delivery({}, configuration.settings())

    assert ("https://b.example", (KEY,), "t0ken", delivery.ApiCheck.SKIP) == (
        found.receiver.url,
        found.receiver.secrets,
        found.receiver.token,
        found.api_check,
    )


@pytest.mark.parametrize(
    ("configured", "said", "wanted"),
    [
        ({}, {}, ("admin", "cluster-admin", 0)),
        (
            {"webhook_credential": "scoped", "webhook_role": "edit"},
            {},
            ("scoped", "edit", 0),
        ),
        (
            {"webhook_credential": "scoped", "webhook_expires_after": 700},
            {"credential": "admin", "role": "view", "expires_after": 900.0},
            ("admin", "view", 900),
        ),
    ],
)
def test_the_request_names_the_credential(options, configured, said, wanted):
    """Its mode, role and time win over the configuration's."""
    options(webhook_url="https://b.example", **configured)

    found = kubeconfig_webhook.create_delivery(
        webhook_params(**said), configuration.settings()
    ).access

    assert wanted == (found.credential.value, found.role, found.expires_after)


def test_a_former_credential_is_renewed_when_asked(options):
    """A request for a heal may say so; nothing else does."""
    options(webhook_url="https://b.example")
    params = {"tacker_k8s_cr": {"webhook": {"renew": True}}}

    said = additional_params.read(params, "heal").webhook

    assert kubeconfig_webhook.create_delivery(
        said, configuration.settings()
    ).renew
    assert not kubeconfig_webhook.create_delivery(
        {}, configuration.settings()
    ).renew


def test_no_receiver_is_an_error(options):
    """A package that asks for the driver wants something delivered."""
    with pytest.raises(errors.RequestInvalid, match="no webhook: set"):
        kubeconfig_webhook.create_delivery({}, configuration.settings())


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "no webhook: set"),
        ({"tacker_k8s_cr": {"webhook": {"url": "http://h"}}}, "has no TLS"),
        ({"tacker_k8s_cr": {"webhook": {"uri": "x"}}}, "no such parameter"),
    ],
)
def test_settings_are_looked_at_before_anything_is_made(options, params, said):
    """A VNF that cannot be delivered is not instantiated first."""
    with pytest.raises(exceptions.InvalidInput, match=said):
        start(params)


def test_a_time_too_short_is_refused_early(options):
    """No API server would give such a token."""
    options(webhook_url="https://b.example", webhook_expires_after=60)

    with pytest.raises(exceptions.InvalidInput, match="at least 600 s, got"):
        start({})


@pytest.mark.parametrize(
    "hook", ["scale_end", "heal_end", "terminate_start", "terminate_end"]
)
def test_an_instance_of_another_driver_is_left_alone(options, hook):
    """Its record is nowhere, and no receiver was notified of it."""
    call = getattr(KubeconfigWebhook(), hook)

    assert None is call(
        context=None,
        vnf_instance=types.SimpleNamespace(
            id="i-1",
            vnf_metadata={},
            instantiated_vnf_info=types.SimpleNamespace(
                instance_id="{'namespace': 'default'}"
            ),
        ),
        scale_vnf_request=None,
        heal_vnf_request=None,
        terminate_vnf_request=None,
    )


def test_nothing_stops_a_termination(options, caplog):
    """Not even incomplete data of an instance in Tacker's database."""
    options(webhook_url="https://b.example")
    ours = f"edge/{uuid.UUID(int=1)}"

    KubeconfigWebhook().terminate_start(
        context=None,
        vnf_instance=types.SimpleNamespace(
            id="i-1",
            vnf_metadata={},
            instantiated_vnf_info=types.SimpleNamespace(instance_id=ours),
        ),
        terminate_vnf_request=None,
    )

    assert (
        "webhook notification failed: internal error of the management"
        in caplog.text
    )


def test_valid_settings_pass(options):
    """Nothing is sent at that point."""
    options(webhook_url="https://b.invalid")

    start({})
