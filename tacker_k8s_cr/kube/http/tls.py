"""Create TLS contexts: trust in a server, and a client certificate."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
import ssl

from tacker_k8s_cr.kube.http.credential import Credential
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model.errors import KubeconfigInvalid


def create_context(
    kubeconfig: Kubeconfig, credential: Credential, verify: bool
) -> ssl.SSLContext:
    """Return the context of all connections of a pool."""
    created = create_trust_context(kubeconfig, verify)
    if credential.certificate:
        _load_client_certificate(created, kubeconfig.where, credential)
    return created


def create_trust_context(
    kubeconfig: Kubeconfig, verify: bool = True, system: bool = False
) -> ssl.SSLContext:
    """Return a context that trusts the kubeconfig's CA, else the system's.

    :param system: trust the authorities of the system, too.

    Not ``ssl.create_default_context``: from Python 3.13 it refuses
    certificate authorities without a key identifier, which many clusters
    have and kubectl accepts.
    """
    created = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    created.minimum_version = ssl.TLSVersion.TLSv1_2
    if not verify:
        created.check_hostname = False
        created.verify_mode = ssl.CERT_NONE
    elif kubeconfig.ca:
        try:
            created.load_verify_locations(cadata=kubeconfig.ca)
        except (ssl.SSLError, ValueError):
            raise KubeconfigInvalid(
                kubeconfig.where, "the certificate authority cannot be read"
            ) from None
        # kubectl accepts an intermediate authority, or the certificate of the
        # server itself, as the CA; so does Tacker with Python 3.13.
        created.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if system or not kubeconfig.ca:
        created.load_default_certs()
    return created


def _load_client_certificate(
    context: ssl.SSLContext, where: str, credential: Credential
) -> None:
    if not credential.key:
        raise KubeconfigInvalid(where, "the client certificate has no key")

    def refuse() -> str:
        # Without this, OpenSSL asks for a pass phrase on the terminal.
        raise KubeconfigInvalid(where, "the client key is encrypted")

    try:
        with (
            _in_memory(credential.certificate) as certificate,
            _in_memory(credential.key) as key,
        ):
            context.load_cert_chain(certificate, key, password=refuse)
    except (ssl.SSLError, OSError, ValueError) as error:
        mismatch = getattr(error, "reason", "") == "KEY_VALUES_MISMATCH"
        why = (
            "the client certificate and its key do not belong together"
            if mismatch
            else "the client certificate or its key cannot be read"
        )
        raise KubeconfigInvalid(where, why) from None


@contextlib.contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """Yield the name of a file that is not on a disk.

    The ssl module takes a certificate and key from named files only, and
    a key must not be left behind in one.
    """
    data = text.encode()
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pem")
        ends = [descriptor]
        os.write(descriptor, data)
    else:
        # A pipe holds 16 KiB at least; a longer text is refused.
        descriptor, end = os.pipe()
        ends = [descriptor]
        os.set_blocking(end, False)
        with os.fdopen(end, "wb", buffering=0) as pipe:
            if pipe.write(data) != len(data):
                os.close(descriptor)
                raise ValueError
    try:
        yield f"/dev/fd/{descriptor}"
    finally:
        for end in ends:
            os.close(end)
