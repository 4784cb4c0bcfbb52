"""Keys and certificates of the plane: made once for its run folder."""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.oid import NameOID

from tools.plane.folders import write_private

VALID = datetime.timedelta(days=365)
RENEW = datetime.timedelta(days=7)

_Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclasses.dataclass(frozen=True)
class KeyPair:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


@dataclasses.dataclass(frozen=True)
class CertificateRequest:
    """What a certificate is for.

    :param names: under which a server is reached; empty for a client.
    :param group: the group of a client, in Kubernetes' sense.
    """

    name: str
    names: tuple[str, ...] = ()
    group: str = ""


@dataclasses.dataclass(frozen=True)
class ServerCertificate:
    """What a server on 127.0.0.1 needs, each in PEM.

    :param ca: of the authority that vouches for it.
    """

    ca: bytes
    certificate: bytes
    key: bytes


def create_server_certificate(name: str) -> ServerCertificate:
    """For one server of a test, by an authority of its own."""
    now = datetime.datetime.now(datetime.timezone.utc)
    ca = create_authority(name, now)
    own = issue(ca, CertificateRequest(name, ("127.0.0.1",)), now)
    return ServerCertificate(_public(ca), _public(own), _private(own.key))


def create_authority(name: str, now: datetime.datetime) -> KeyPair:
    """A certificate that signs others."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(name)
    builder = _builder(subject, subject, key, key, now)
    builder = builder.add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    ).add_extension(_usage(signs=True), critical=True)
    return KeyPair(builder.sign(key, hashes.SHA256()), key)


def issue(
    ca: KeyPair, request: CertificateRequest, now: datetime.datetime
) -> KeyPair:
    """A certificate for a server or a client, signed by the authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(request.name, request.group)
    builder = _builder(subject, ca.certificate.subject, key, ca.key, now)
    purpose = ExtendedKeyUsageOID.CLIENT_AUTH
    if request.names:
        purpose = ExtendedKeyUsageOID.SERVER_AUTH
        # Go reads alternative names only, never the common name.
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_general(n) for n in request.names]),
            critical=False,
        )
    builder = (
        builder.add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        )
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    )
    return KeyPair(builder.sign(ca.key, hashes.SHA256()), key)


def is_fresh(folder: pathlib.Path, now: datetime.datetime) -> bool:
    """Whether the folder has all of them, and none that ends soon."""
    try:
        content = (folder / "complete").read_text()
        return now < datetime.datetime.fromisoformat(content) - RENEW
    except (OSError, ValueError):
        return False


def make(
    folder: pathlib.Path,
    servers: dict[str, CertificateRequest],
    clients: dict[str, CertificateRequest],
    now: datetime.datetime,
) -> None:
    """Write everything: authorities, servers, clients, account keys."""
    (folder / "complete").unlink(missing_ok=True)
    ca = create_authority("plane", now)
    _write(folder, "ca", ca)
    for name, request in {**servers, **clients}.items():
        _write(folder, name, issue(ca, request, now))
    # Requests that kube-apiserver forwards to aggregated servers bear the
    # user's name in headers: only a certificate of this authority may do
    # that, so nothing else is signed by it.
    front = create_authority("plane aggregation", now)
    _write(folder, "aggregation-ca", front)
    _write(
        folder,
        "aggregator",
        issue(front, CertificateRequest("aggregator"), now),
    )
    # Service account tokens are signed as most clusters do it.
    account = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    write_private(folder / "sa.key", _private(account))
    write_private(
        folder / "sa.pub",
        account.public_key().public_bytes(
            serialization.Encoding.PEM,
            serialization.PublicFormat.SubjectPublicKeyInfo,
        ),
    )
    end = (now + VALID).isoformat()
    write_private(folder / "complete", end.encode())


def _write(folder: pathlib.Path, name: str, pair: KeyPair) -> None:
    path = folder / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path.with_suffix(".crt"), _public(pair))
    write_private(path.with_suffix(".key"), _private(pair.key))


def _public(pair: KeyPair) -> bytes:
    return pair.certificate.public_bytes(serialization.Encoding.PEM)


def _private(key: _Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _subject(name: str, group: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if group:
        attributes.insert(
            0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)
        )
    return x509.Name(attributes)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    now: datetime.datetime,
) -> x509.CertificateBuilder:
    # Python from 3.13 on insists on both key identifiers.
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + VALID)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
            critical=False,
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(
                signer.public_key()
            ),
            critical=False,
        )
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
