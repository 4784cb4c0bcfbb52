"""One suite, two clusters: whatever claims to be one."""

from __future__ import annotations

from collections.abc import Iterator
import datetime
import pathlib
import uuid

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
import pytest

from tacker_k8s_cr.kube import connect
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tests.contracts.manifests import MANAGER
from tests.contracts.manifests import namespaced
from tests.contracts.watch_events import SECONDS
from tests.fakes import FakeCluster


@pytest.fixture
def fake_cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture(scope="session")
def connected(kubeconfig: pathlib.Path) -> Iterator[Cluster]:
    cluster = connect(kubeconfig)
    yield cluster
    cluster.close()


@pytest.fixture
def real_cluster(connected: Cluster) -> Cluster:
    return connected.with_deadline(Deadline.after(SECONDS))


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.plane)])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Anything that claims to be a cluster."""
    found: Cluster = request.getfixturevalue(f"{request.param}_cluster")
    return found


@pytest.fixture
def unique_name() -> str:
    """A unique name."""
    return f"contract-{uuid.uuid4().hex[:10]}"


@pytest.fixture
def remove_afterwards(cluster: Cluster) -> Iterator[list[ObjectRef]]:
    """Objects of the whole cluster that a test leaves to be removed."""
    refs: list[ObjectRef] = []
    yield refs
    for ref in refs:
        if obj := cluster.get(ref):
            cluster.delete(ref, objects.uid(obj))


@pytest.fixture
def test_namespace(
    cluster: Cluster, unique_name: str, remove_afterwards: list[ObjectRef]
) -> str:
    """A namespace of the test's own."""
    cluster.apply(namespaced(unique_name), MANAGER)
    remove_afterwards.append(ObjectRef("", "Namespace", "", unique_name))
    return unique_name


@pytest.fixture(scope="session")
def other_ca() -> str:
    """An authority that signed nothing of the cluster's."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "another")])
    now = datetime.datetime.now(datetime.timezone.utc)
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(constraints, critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(Encoding.PEM).decode()
