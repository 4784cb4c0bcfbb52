"""The errors of a kubeconfig name its faults and never its credentials."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import os
import pathlib
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st
import pytest
import yaml

from tacker_k8s_cr.kube import kubeconfig
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model.errors import KubeconfigInvalid

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
WHERE = "VIM edge"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def document(**changes: Any) -> dict[str, Any]:
    """Two contexts, written by hand in the form that kubectl writes."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "edge",
                "cluster": {
                    "server": "https://edge.example.org:6443",
                    "certificate-authority-data": encoded(PEM),
                },
            },
            {"name": "core", "cluster": {"server": "https://10.0.0.1"}},
        ],
        "users": [
            {"name": "alice", "user": {"token": "t0ps3cret"}},
            {"name": "bob", "user": {"username": "b", "password": "pa55"}},
        ],
        "contexts": [
            {
                "name": "edge-alice",
                "context": {
                    "cluster": "edge",
                    "user": "alice",
                    "namespace": "ran",
                },
            },
            {
                "name": "core-bob",
                "context": {"cluster": "core", "user": "bob"},
            },
        ],
        "current-context": "edge-alice",
        **changes,
    }


def parsed(given: Any = None, **options: Any) -> Kubeconfig:
    text = yaml.safe_dump(document() if given is None else given)
    return kubeconfig.parse(text, WHERE, **options)


def of_user(**fields: Any) -> dict[str, Any]:
    return document(users=[{"name": "alice", "user": fields}])


def of_cluster(**fields: Any) -> dict[str, Any]:
    return document(clusters=[{"name": "edge", "cluster": fields}])


def test_the_current_context_is_read() -> None:
    """Without a name, the context is the current one."""
    found = parsed()

    assert "https://edge.example.org:6443" == found.server
    assert "t0ps3cret" == found.token
    assert PEM == found.ca
    assert "ran" == found.namespace
    assert "token" == found.credential_kind


@pytest.mark.requirement("IN-2")
def test_a_context_may_be_named() -> None:
    """Of two contexts, the named one is used."""
    found = parsed(context="core-bob")

    assert "https://10.0.0.1" == found.server
    assert "basic" == found.credential_kind


@pytest.mark.requirement("IN-2")
def test_an_unknown_context_names_the_known() -> None:
    """The error lists the contexts that exist."""
    with pytest.raises(KubeconfigInvalid) as caught:
        parsed(context="mars")

    expected = (
        "VIM edge: has no context mars; its contexts are: core-bob, edge-alice"
    )
    assert expected == caught.value.outcome()


def test_an_only_context_needs_no_name() -> None:
    """One context without current-context is the one that is meant."""
    given = document(contexts=document()["contexts"][:1])
    del given["current-context"]

    assert "edge-alice" == parsed(given).context


def test_no_current_context() -> None:
    """Of several contexts none is guessed."""
    given = document()
    del given["current-context"]

    with pytest.raises(KubeconfigInvalid, match="names no current context"):
        parsed(given)


@pytest.mark.parametrize(
    ("part", "missing"),
    [("clusters", "there is no cluster edge"), ("users", "no user alice")],
)
def test_a_name_that_leads_nowhere(part: str, missing: str) -> None:
    """A context whose cluster or user is missing is refused by name."""
    others = [item for item in document()[part] if item["name"] != "edge"]
    others = [item for item in others if item["name"] != "alice"]

    with pytest.raises(KubeconfigInvalid, match=missing):
        parsed(document(**{part: others}))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (of_user(exec={"command": "rm"}), "exec"),
        (of_user(**{"auth-provider": {"name": "oidc"}}), "auth-provider"),
        (of_user(tokenFile="/etc/shadow"), "tokenFile"),
        (of_user(**{"client-certificate": "a.crt"}), "client-certificate"),
        (of_user(**{"client-key": "a.key"}), "client-key"),
        (
            of_cluster(
                server="https://a", **{"certificate-authority": "/etc/passwd"}
            ),
            "certificate-authority",
        ),
    ],
)
@pytest.mark.requirement("P24")
def test_an_untrusted_kubeconfig_runs_and_reads_nothing(
    given: dict[str, Any], named: str
) -> None:
    """What would run a command or read a file is refused by name."""

    def read(path: str) -> bytes:
        raise AssertionError(f"{path} was read")

    with pytest.raises(KubeconfigInvalid) as caught:
        parsed(given, read=read)

    assert f": {named}: only a kubeconfig file" in str(caught.value)


def test_a_trusted_file_may_refer_to_files(tmp_path: pathlib.Path) -> None:
    """Names are relative to the folder of the kubeconfig."""
    (tmp_path / "ca.crt").write_text(PEM)
    (tmp_path / "token").write_text("fr0mfile\n")
    given = document(
        clusters=[
            {
                "name": "edge",
                "cluster": {
                    "server": "https://edge.example.org",
                    "certificate-authority": "ca.crt",
                },
            }
        ],
        users=[{"name": "alice", "user": {"tokenFile": "token"}}],
    )
    (tmp_path / "config").write_text(yaml.safe_dump(given))

    found = kubeconfig.load(str(tmp_path / "config"))

    assert PEM == found.ca
    assert "fr0mfile" == found.token
    assert str(tmp_path / "token") == found.token_file


def test_an_absent_file(tmp_path: pathlib.Path) -> None:
    """The error names the field and the file."""
    given = of_user(tokenFile="gone")
    (tmp_path / "config").write_text(yaml.safe_dump(given))

    with pytest.raises(KubeconfigInvalid) as caught:
        kubeconfig.load(str(tmp_path / "config"))

    assert "user alice: tokenFile" in str(caught.value)
    assert "No such file or directory" in str(caught.value)


def test_several_files_are_put_together(tmp_path: pathlib.Path) -> None:
    """As kubectl does: the first to name something is believed."""
    first = document(
        clusters=[{"name": "edge", "cluster": {"server": "https://first"}}],
        users=[],
        contexts=[],
    )
    del first["current-context"]
    (tmp_path / "a").write_text(yaml.safe_dump(first))
    (tmp_path / "b").write_text(yaml.safe_dump(document()))
    paths = [tmp_path / "a", tmp_path / "missing", tmp_path / "b"]

    found = kubeconfig.load(os.pathsep.join(map(str, paths)))

    assert "https://first" == found.server
    assert "t0ps3cret" == found.token


def test_no_file_at_all(tmp_path: pathlib.Path) -> None:
    """At least one of the files must be there."""
    with pytest.raises(KubeconfigInvalid, match="the file does not exist"):
        kubeconfig.load(str(tmp_path / "missing"))


@pytest.mark.requirement("IN-3")
def test_a_pod_is_known_by_its_files(tmp_path: pathlib.Path) -> None:
    """A service account's mounted files and environment suffice."""
    (tmp_path / "token").write_text("p0d")
    (tmp_path / "ca.crt").write_text(PEM)
    environ = {
        "KUBERNETES_SERVICE_HOST": "fd00::1",
        "KUBERNETES_SERVICE_PORT": "443",
    }

    found = kubeconfig.in_cluster(environ, str(tmp_path))

    assert "https://[fd00::1]:443" == found.server
    assert "p0d" == found.token
    assert str(tmp_path / "token") == found.token_file


def test_outside_of_a_pod(tmp_path: pathlib.Path) -> None:
    """Outside of a pod the ways to name a kubeconfig are given, no path."""
    with pytest.raises(KubeconfigInvalid) as caught:
        kubeconfig.in_cluster({}, str(tmp_path))

    assert str(caught.value).startswith(
        "no kubeconfig: use --kubeconfig or set KUBECONFIG"
    )
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "a: [", "- 1", "just text", "clusters: 7", "{1: 2, {}}: 3"]
)
def test_an_invalid_kubeconfig(text: str) -> None:
    """Anything may be passed instead of a kubeconfig."""
    with pytest.raises(KubeconfigInvalid) as caught:
        kubeconfig.parse(text, WHERE)

    assert str(caught.value).startswith("VIM edge: ")


def test_broken_text_is_not_shown() -> None:
    """The parser's own words, which quote the text, are left out."""
    text = "clusters: []\nusers:\n- token: 't0ps3cret\n"

    with pytest.raises(KubeconfigInvalid) as caught:
        kubeconfig.parse(text, WHERE)

    assert "t0ps3cret" not in str(caught.value)
    assert "line" in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (of_user(token=12345), "user alice: token is not text"),
        (
            of_cluster(
                server="https://a", **{"certificate-authority-data": "s3cret!"}
            ),
            "certificate-authority-data is not PEM in base64",
        ),
        (of_cluster(server="ftp://a"), "not an https or http URL"),
        (of_cluster(server="https://a:b"), "server is not a URL"),
        (of_user(**{"as-user-extra": {"a": ["b"]}}), "as-user-extra"),
    ],
)
def test_values_of_the_wrong_form(given: dict[str, Any], what: str) -> None:
    """The field is named; its value is not shown."""
    with pytest.raises(KubeconfigInvalid, match=what) as caught:
        parsed(given)

    assert "s3cret" not in str(caught.value)
    assert "12345" not in str(caught.value)


def test_user_information_of_a_url_is_dropped() -> None:
    """The server is shown in errors, so its URL keeps no password."""
    given = of_cluster(server="https://user:pa55@a.example.org:6443/k8s/")

    assert "https://a.example.org:6443/k8s" == parsed(given).server


def test_it_cannot_be_printed() -> None:
    """No form of it as text shows what is in it."""
    found = parsed()

    for shown in (repr(found), str(found), f"{found}", f"{[found]}"):
        assert "t0ps3cret" not in shown
        assert "VIM edge" in shown


def test_a_minimal_one_is_self_contained(tmp_path: pathlib.Path) -> None:
    """One context, the current one, and everything in the text."""
    (tmp_path / "token").write_text("fr0mfile")
    (tmp_path / "config").write_text(
        yaml.safe_dump(of_user(tokenFile="token"))
    )

    clean = kubeconfig.load(str(tmp_path / "config")).portable()

    again = kubeconfig.parse(clean.to_yaml(), "again")
    assert "fr0mfile" == again.token
    assert "edge-alice" == again.context
    assert ["edge-alice"] == [
        item["name"] for item in clean.to_dict()["contexts"]
    ]
    assert 1 == len(clean.to_dict()["clusters"])


def test_a_plug_in_cannot_be_delivered() -> None:
    """A receiver cannot have what a plug-in of the sender would yield."""
    given = of_user(exec={"command": "true", "apiVersion": "v1"})

    with pytest.raises(KubeconfigInvalid, match="exec cannot be passed on"):
        parsed(given, trusted=True).portable()


def test_the_fingerprint_is_of_the_content() -> None:
    """Names make no difference, another token does."""
    found = parsed()
    renamed = dataclasses.replace(found, context="x", user_name="y", where="z")
    other = dataclasses.replace(found, token="another")

    assert found.fingerprint == renamed.fingerprint
    assert found.fingerprint != other.fingerprint
    assert 64 == len(found.fingerprint)


texts = st.text("abc123", max_size=5)


@given(
    st.builds(
        Kubeconfig,
        where=st.just(WHERE),
        server=st.just("https://a.example.org"),
        context=texts.filter(bool),
        namespace=texts,
        ca=st.sampled_from(["", PEM]),
        tls_server_name=texts,
        insecure=st.booleans(),
        token=texts,
        username=texts,
        password=texts,
    )
)
def test_what_is_written_is_read(value: Kubeconfig) -> None:
    """A kubeconfig survives being written and read."""
    again = kubeconfig.parse(value.to_yaml(), WHERE)

    assert value == again
    assert value.fingerprint == again.fingerprint


def jwt(claims: dict[str, Any]) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode())
    return f"e30.{body.decode().rstrip('=')}.sig"


@pytest.mark.parametrize(
    ("token", "expires"),
    [
        (
            jwt({"exp": 1_800_000_000}),
            datetime.datetime(2027, 1, 15, 8, tzinfo=datetime.timezone.utc),
        ),
        (jwt({}), None),
        (jwt({"exp": "soon"}), None),
        ("opaque", None),
        ("a.b.c", None),
    ],
)
def test_the_expiry_of_a_token(
    token: str, expires: datetime.datetime | None
) -> None:
    """A JSON Web Token states it; any other has none."""
    assert expires == parsed(of_user(token=token)).expires


def test_when_a_certificate_ends() -> None:
    """A client certificate ends at its notAfter."""
    end = datetime.datetime(2030, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "alice")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(end - datetime.timedelta(days=1))
        .not_valid_after(end)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
        .decode()
    )
    given = of_user(**{"client-certificate-data": encoded(certificate)})

    found = parsed(given)

    assert "client certificate" == found.credential_kind
    assert end == found.expires


def test_a_certificate_that_cannot_be_read() -> None:
    """A certificate that is none is named, not shown."""
    given = of_user(**{"client-certificate-data": encoded(PEM)})

    with pytest.raises(KubeconfigInvalid, match="certificate cannot be read"):
        parsed(given).expires  # noqa: B018
