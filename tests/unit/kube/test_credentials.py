"""Who we are, and how TLS learns it."""

from __future__ import annotations

import dataclasses
import datetime
import json
import logging
import os
import pathlib
import ssl
import stat
import sys
import time
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
import pytest

from tacker_k8s_cr.kube import connect
from tacker_k8s_cr.kube import credentials
from tacker_k8s_cr.kube.http import tls
from tacker_k8s_cr.kube.http.credential import Credential
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import KubeconfigInvalid
from tacker_k8s_cr.model.errors import Unauthenticated

BASE = Kubeconfig(where="test", server="https://a.example.org")


def of(**fields: Any) -> Credential:
    return credentials.create_credential(dataclasses.replace(BASE, **fields))


@pytest.fixture
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def pem(key: ec.EllipticCurvePrivateKey, password: bytes = b"") -> str:
    encryption: serialization.KeySerializationEncryption = (
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption()
    )
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        encryption,
    ).decode()


def certificate(key: ec.EllipticCurvePrivateKey) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "alice")])
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
        .decode()
    )


def plugin(tmp_path: pathlib.Path, text: str) -> dict[str, Any]:
    """A command that a kubeconfig names to get a credential."""
    path = tmp_path / "plugin"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {
        "command": str(path),
        "apiVersion": "client.authentication.k8s.io/v1",
    }


def yields(**status: str) -> str:
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": status,
    }
    return f"print({json.dumps(json.dumps(answer))})"


def test_a_token() -> None:
    """Every request has it."""
    assert {"Authorization": "Bearer abc"} == of(token="abc").headers


def test_a_name_and_password() -> None:
    """They go into every request as HTTP has them."""
    made = of(username="alice", password="pa55")

    assert {"Authorization": "Basic YWxpY2U6cGE1NQ=="} == made.headers


@pytest.mark.requirement("K4")
def test_impersonation() -> None:
    """A kubeconfig that impersonates is followed, not passed over."""
    made = of(token="abc", impersonate={"as": "bob", "as-groups": ["ops"]})

    assert "bob" == made.headers["Impersonate-User"]
    assert "ops" == made.headers["Impersonate-Group"]


def test_a_token_file_is_read_again(tmp_path: pathlib.Path) -> None:
    """A kubelet replaces it; what it holds now is what counts."""
    path = tmp_path / "token"
    path.write_text("first\n")
    first = of(token="old", token_file=str(path))
    path.write_text("second\n")

    second = of(token="old", token_file=str(path))

    assert {"Authorization": "Bearer first"} == first.headers
    assert {"Authorization": "Bearer second"} == second.headers
    assert first.until < float("inf")


def test_a_deleted_token_file(tmp_path: pathlib.Path) -> None:
    """The error names the file."""
    with pytest.raises(KubeconfigInvalid, match="No such file"):
        of(token="old", token_file=str(tmp_path / "gone"))


def test_a_plug_ins_token(tmp_path: pathlib.Path) -> None:
    """The command's token is used, until it expires."""
    text = yields(token="abc", expirationTimestamp="2999-01-01T00:00:00Z")

    made = of(exec_plugin=plugin(tmp_path, text))

    assert {"Authorization": "Bearer abc"} == made.headers
    assert made.until < float("inf")


def test_a_plug_ins_certificate(
    tmp_path: pathlib.Path, key: ec.EllipticCurvePrivateKey
) -> None:
    """A command may yield a certificate, which is not written to a disk."""
    text = yields(
        clientCertificateData=certificate(key), clientKeyData=pem(key)
    )

    made = of(exec_plugin=plugin(tmp_path, text))

    assert certificate(key)[:27] == made.certificate[:27]
    assert tls.create_context(BASE, made, verify=True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import sys; sys.exit('please log in')", "please log in"),
        ("print('s3cret')", "it printed no JSON"),
        ("print('[1]')", "it printed no ExecCredential"),
        (yields(), "returned no token"),
    ],
)
def test_a_plug_in_that_fails(
    tmp_path: pathlib.Path,
    caplog: pytest.LogCaptureFixture,
    text: str,
    why: str,
) -> None:
    """Its standard error is quoted, not its output."""
    with pytest.raises(Unauthenticated, match=why) as caught:
        of(exec_plugin=plugin(tmp_path, text))

    assert "s3cret" not in str(caught.value) + caplog.text


def test_a_plug_in_that_does_not_end(tmp_path: pathlib.Path) -> None:
    """It is ended at the deadline, and may be asked again."""
    text = "import time; print('s3cret', flush=True); time.sleep(99)"
    kubeconfig = dataclasses.replace(BASE, exec_plugin=plugin(tmp_path, text))
    begin = time.monotonic()

    with pytest.raises(Retryable, match="did not end within 1 s") as caught:
        credentials.create_credential(
            kubeconfig, deadline=Deadline(0.6, lambda: 0.0)
        )

    assert time.monotonic() - begin < 10
    assert isinstance(caught.value.why, Unauthenticated)
    assert "s3cret" not in str(caught.value)


def test_a_command_that_does_not_exist() -> None:
    """It is reported as a missing credential."""
    missing = {
        "command": "/no/such/command",
        "apiVersion": "client.authentication.k8s.io/v1",
    }

    with pytest.raises(Unauthenticated, match="No such file"):
        of(exec_plugin=missing)


def test_a_client_certificate(key: ec.EllipticCurvePrivateKey) -> None:
    """TLS takes it from memory: no file is left, nor ever was."""
    made = of(client_certificate=certificate(key), client_key=pem(key))
    before = set(os.listdir("/proc/self/fd")) if os.path.exists("/proc") else 0

    context = tls.create_context(BASE, made, verify=True)

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    after = set(os.listdir("/proc/self/fd")) if os.path.exists("/proc") else 0
    assert before == after


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"key": ""}, "the client certificate has no key"),
        ({"key": "nonsense"}, "or its key cannot be read"),
        ({"certificate": "nonsense"}, "or its key cannot be read"),
    ],
)
def test_invalid_certificates(
    key: ec.EllipticCurvePrivateKey, change: dict[str, str], why: str
) -> None:
    """The error has the cause, without their content."""
    made = of(client_certificate=certificate(key), client_key=pem(key))

    with pytest.raises(KubeconfigInvalid, match=why):
        tls.create_context(
            BASE, dataclasses.replace(made, **change), verify=True
        )


def test_a_key_of_another_certificate(key: ec.EllipticCurvePrivateKey) -> None:
    """The error states that certificate and key do not match."""
    other = ec.generate_private_key(ec.SECP256R1())
    made = of(client_certificate=certificate(key), client_key=pem(other))

    with pytest.raises(KubeconfigInvalid, match="do not belong together"):
        tls.create_context(BASE, made, verify=True)


def test_an_encrypted_key(key: ec.EllipticCurvePrivateKey) -> None:
    """There is no prompt for a pass phrase."""
    made = of(
        client_certificate=certificate(key), client_key=pem(key, b"phrase")
    )

    with pytest.raises(KubeconfigInvalid, match="the client key is encrypted"):
        tls.create_context(BASE, made, verify=True)


def test_an_authority_that_cannot_be_read() -> None:
    """The error is raised before a request is sent."""
    config = dataclasses.replace(BASE, ca="-----BEGIN CERTIFICATE-----")

    with pytest.raises(KubeconfigInvalid, match="authority cannot be read"):
        tls.create_context(config, Credential({}), verify=True)


@pytest.mark.requirement("T9")
def test_verification_is_on_unless_chosen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing but the explicit choice switches it off."""
    checked = tls.create_context(BASE, Credential({}), verify=True)
    unchecked = tls.create_context(BASE, Credential({}), verify=False)

    assert ssl.CERT_REQUIRED == checked.verify_mode
    assert ssl.CERT_NONE == unchecked.verify_mode
    connect(BASE).close()
    assert "" == caplog.text
    connect(BASE, verify=False).close()
    assert logging.WARNING == caplog.records[0].levelno


def test_a_credential_cannot_be_printed() -> None:
    """Its repr shows no header."""
    assert "abc" not in repr(of(token="abc"))


def test_connecting_needs_a_kubeconfig(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """Without a kubeconfig anywhere, the error lists the searched places."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(KubeconfigInvalid, match="no kubeconfig: use "):
        connect()


def test_the_usual_places(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """KUBECONFIG comes before the file in the home folder."""
    (tmp_path / ".kube").mkdir()
    home = tmp_path / ".kube" / "config"
    home.write_text(BASE.to_yaml())
    named = tmp_path / "named"
    named.write_text(dataclasses.replace(BASE, server="https://b").to_yaml())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    assert "https://a.example.org" == connect().server
    monkeypatch.setenv("KUBECONFIG", str(named))
    assert "https://b" == connect().server
    assert "https://a.example.org" == connect(str(home)).server
