"""What a VIM of Tacker's database states about a cluster."""

import dataclasses

from oslo_config import cfg
import pytest

from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import vim
from tacker_k8s_cr.kube.kubeconfig import OidcUser
from tacker_k8s_cr.model import errors
from tests import tacker_host

tacker_host.load_drivers()

from tacker.sol_refactored import objects  # noqa: E402

TOKEN = "planted-token-0815"
ACCESS = {
    "auth_url": "https://192.0.2.10:6443",
    "bearer_token": TOKEN,
    "ssl_ca_cert": "None",
    "username": "None",
    "password": None,
    "region": None,
}


SETTINGS = configuration.settings(cfg.ConfigOpts())
INSECURE = dataclasses.replace(SETTINGS, insecure=True)
OIDC = {
    "auth_url": "https://192.0.2.10:6443",
    "oidc_token_url": "https://192.0.2.20/realms/nfv/token",
    "client_id": "tacker",
    "client_secret": "planted-secret",
    "username": "alice",
    "password": "planted-pa55",
    "ssl_ca_cert": "None",
}


def of(access, settings=SETTINGS):
    return vim.kubeconfig(access, settings)


def refused(access=ACCESS, **changes):
    with pytest.raises(errors.RequestInvalid) as caught:
        of({**access, **changes})
    assert "planted" not in str(caught.value)
    return str(caught.value)


def test_a_bearer_token_is_accepted():
    """The string None of Tacker's database means that there is no value."""
    found = of(ACCESS)

    assert ("https://192.0.2.10:6443", TOKEN, "", False, "token") == (
        found.server,
        found.token,
        found.ca,
        found.insecure,
        found.credential_kind,
    )
    assert "VIM https://192.0.2.10:6443" == found.where


def test_a_certificate_authority_is_accepted():
    """The PEM text of the VIM verifies the server."""
    pem = "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n"

    assert pem == of({**ACCESS, "ssl_ca_cert": pem}).ca
    assert 2 * pem == of({**ACCESS, "ssl_ca_cert": 2 * pem}).ca


def test_line_ends_may_have_become_blanks():
    """Tacker's own driver takes a certificate on one line, too."""
    found = of(
        {
            **ACCESS,
            "ssl_ca_cert": "-----BEGIN CERTIFICATE----- MII ABC= "
            "-----END CERTIFICATE-----",
        }
    )

    assert (
        "-----BEGIN CERTIFICATE-----\nMII\nABC=\n-----END CERTIFICATE-----\n"
    ) == found.ca


@pytest.mark.requirement("T9")
def test_verification_is_off_by_choice_only():
    """A VIM without certificate authority is verified anyway."""
    assert of(ACCESS, INSECURE).insecure
    assert not of(ACCESS).insecure


def test_a_name_and_password_are_accepted():
    """For API servers behind a proxy that authenticates."""
    found = of(
        {**ACCESS, "bearer_token": None, "username": "u", "password": "p"}
    )

    assert ("basic", "u", "p") == (
        found.credential_kind,
        found.username,
        found.password,
    )


def test_openid_connect_is_accepted():
    """All that Tacker stores of it, and the options' scope."""
    found = of(OIDC)

    assert "openid" == found.credential_kind
    assert OidcUser(
        "https://192.0.2.20/realms/nfv/token",
        "alice",
        "planted-pa55",
        "tacker",
        "planted-secret",
        "openid",
        "",
    ) == (found.openid)


def test_providers_may_have_an_authority_of_their_own(tmp_path):
    """It is read when it is used, and must be there."""
    pem = "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n"
    path = tmp_path / "ca.pem"
    settings = dataclasses.replace(SETTINGS, oidc_ca_file=str(path))

    with pytest.raises(
        errors.RequestInvalid, match=r"oidc_ca_file: .*No such"
    ):
        of(OIDC, settings)
    path.write_text("nothing")
    with pytest.raises(errors.RequestInvalid, match="has no certificate"):
        of(OIDC, settings)
    path.write_text(pem)
    assert pem == of(OIDC, settings).openid.ca


def test_what_tacker_would_use_comes_first():
    """OpenID Connect, else a bearer token, else a name and password."""
    both = {**OIDC, "bearer_token": TOKEN}

    assert "openid" == of(both).credential_kind
    del both["oidc_token_url"]
    assert "token" == of(both).credential_kind
    del both["bearer_token"]
    assert "basic" == of(both).credential_kind


def test_a_vim_without_credential_is_refused():
    """The error lists what a VIM may have, and what this one has."""
    assert (
        "VIM https://192.0.2.10:6443: expected bearer_token, or username and "
        "password, or oidc_token_url, client_id, username and password; "
        "got password"
    ) == refused(bearer_token=None, password="planted")
    assert refused(bearer_token="").endswith("got none of them")


def test_incomplete_oidc_settings_are_refused():
    """The missing ones are named."""
    assert (
        "VIM https://192.0.2.10:6443: oidc_token_url also requires client_id "
        "and password"
    ) == refused(OIDC, client_id="None", password=None)


@pytest.mark.parametrize(
    "url", ["http://192.0.2.20/token", "nowhere", "https://planted@a/token"]
)
def test_a_password_is_not_sent_without_tls(url):
    """The token end point must be an https URL."""
    assert (
        "VIM: oidc_token_url is not the URL of a token end point; expected "
        "https://HOST:PORT/PATH"
    ) == refused(OIDC, oidc_token_url=url)


BASIC = {
    **ACCESS,
    "bearer_token": None,
    "username": "u",
    "password": "planted",
}


@pytest.mark.parametrize("access", [ACCESS, OIDC, BASIC])
def test_an_api_server_without_tls_needs_the_option(access):
    """An observer on the network could read the credential."""
    plain = {**access, "auth_url": "http://192.0.2.10:8080", "vim_id": "edge"}

    assert (
        "VIM edge: its credential would be sent to http://192.0.2.10:8080 "
        "without TLS; expected https://HOST:PORT, or [tacker_k8s_cr] insecure "
        "= true"
    ) == refused(plain)
    assert "http://192.0.2.10:8080" == of(plain, INSECURE).server


@pytest.mark.parametrize(
    "credential",
    [
        {"bearer_token": TOKEN},
        {"username": "u", "password": "p"},
        {
            key: OIDC[key]
            for key in OIDC
            if key not in ("auth_url", "ssl_ca_cert")
        },
    ],
)
@pytest.mark.parametrize("made", [dict, objects.VimConnectionInfo])
def test_the_v2_api_has_the_same_data_in_another_form(credential, made):
    """Its endpoint and CA are beside the credential; errors name its id."""
    info = made(
        vimId="edge",
        vimType="ETSINFV.KUBERNETES.V_1",
        interfaceInfo={
            "endpoint": "https://192.0.2.10:6443",
            "ssl_ca_cert": "None",
        },
        accessInfo=credential,
    )

    found = of(vim.access(info))

    same = of({**credential, "auth_url": "https://192.0.2.10:6443"})
    assert dataclasses.replace(same, where="VIM edge") == found


@pytest.mark.parametrize(
    "said",
    [
        {"skipCertificateVerification": True},
        {"skipCertificateHostnameCheck": True},
        {"insecure": "true"},
    ],
)
def test_a_request_cannot_switch_verification_off(said):
    """What ETSI has for that is Tacker's for OpenStack only."""
    info = {
        "interfaceInfo": {"endpoint": "https://192.0.2.10:6443", **said},
        "accessInfo": {"bearer_token": TOKEN, **said},
    }

    assert not of(vim.access(info)).insecure


@pytest.mark.parametrize("made", [dict, objects.VimConnectionInfo])
def test_an_incomplete_v2_vim_is_refused(made):
    """An unset attribute of Tacker's object is not a value."""
    info = made(vimType="kubernetes")

    assert "auth_url is not the URL" in refused(vim.access(info))


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "192.0.2.10",
        "ftp://192.0.2.10",
        f"https://u:{TOKEN}@192.0.2.10",
        f"https://192.0.2.10/?token={TOKEN}",
        "https://192.0.2.10:x",
    ],
)
def test_a_url_of_no_api_server_is_refused(url):
    """It is not shown: it may hold a credential."""
    assert (
        "VIM: auth_url is not the URL of an API server; expected "
        "https://HOST:PORT"
    ) == refused(auth_url=url)
