"""Which certificates are trusted."""

from __future__ import annotations

import datetime
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
import pytest

from tacker_k8s_cr.kube.http import tls
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig

HOST = "server.example.org"


class Issued:
    """A certificate and its key."""

    def __init__(self, name, issuer=None, authority=True):
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.key = ec.generate_private_key(ec.SECP256R1())
        signer = issuer or self
        now = datetime.datetime.now(datetime.timezone.utc)
        self.certificate = (
            x509.CertificateBuilder()
            .subject_name(self.name)
            .issuer_name(signer.name)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(authority, None), True)
            .add_extension(
                x509.SubjectAlternativeName([x509.DNSName(HOST)]), False
            )
            .sign(signer.key, hashes.SHA256())
        )

    @property
    def pem(self):
        found = self.certificate.public_bytes(serialization.Encoding.PEM)
        return found.decode()


ROOT = Issued("root")
BELOW = Issued("below", ROOT)
SERVER = Issued(HOST, BELOW, authority=False)
OTHER = Issued("other")


@pytest.fixture
def server(tmp_path):
    """The context of a server that sends its whole chain but the root."""
    file = tmp_path / "chain.pem"
    key = SERVER.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_text(SERVER.pem + BELOW.pem + key.decode())
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(file)
    return made


def shaken(client, server, name=HOST):
    """Carry out a handshake in memory; raises what the client raises."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(back, there, server_hostname=name),
        server.wrap_bio(there, back, server_side=True),
    ]
    while ends:
        for end in tuple(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)


def trusting(*authorities):
    text = "".join(authority.pem for authority in authorities)
    return tls.create_trust_context(
        Kubeconfig(where="a", server="https://a:1", ca=text)
    )


@pytest.mark.parametrize(
    "authorities", [(ROOT,), (BELOW,), (SERVER,), (OTHER, BELOW)]
)
def test_any_certificate_of_the_chain_may_be_trusted(authorities, server):
    """As kubectl has it; OpenSSL alone would want the root."""
    shaken(trusting(*authorities), server)


def test_another_authority_is_not_trusted(server):
    """It has signed nothing of the chain."""
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(trusting(OTHER), server)


def test_the_name_of_the_server_counts_all_the_same(server):
    """Also where its own certificate is what is trusted."""
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        shaken(trusting(SERVER), server, "b.example.org")
