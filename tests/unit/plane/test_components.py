"""The table of processes, and who may speak to them."""

from __future__ import annotations

import collections
import csv
import datetime
import io
import json
import pathlib
import stat

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
import pytest
import yaml

from tools.plane import capi
from tools.plane import certificates
from tools.plane import components
from tools.plane import credentials
from tools.plane import node_components
from tools.plane import server_components
from tools.plane.certificates import CertificateRequest
from tools.plane.errors import PlaneError
from tools.plane.folders import Folders
from tools.plane.folders import write_private

FOLDERS = Folders(pathlib.Path("/run/plane"))
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def whole(folders):
    return (
        *server_components.table(folders),
        *components.table(folders),
        *node_components.table(folders),
    )


TABLE = whole(FOLDERS)


def named(name):
    return next(one for one in TABLE if one.name == name)


@pytest.fixture
def three_server_folders(tmp_path):
    """A plane with three API servers."""
    folders = Folders(tmp_path)
    folders.keep_servers(3)
    return folders


@pytest.mark.parametrize("servers", [1, 3])
def test_no_port_is_used_twice(servers, three_server_folders):
    """All components run on one machine."""
    folders = FOLDERS if servers == 1 else three_server_folders
    counted = collections.Counter(
        port for one in whole(folders) for port in one.ports
    )

    assert [] == [port for port, times in counted.items() if times > 1]


@pytest.mark.parametrize("component", TABLE, ids=lambda one: one.name)
def test_a_component_answers_on_this_machine(component):
    """Nothing is asked that lies elsewhere."""
    assert any(
        f"//{address}:" in component.url
        for address in ("127.0.0.1", node_components.NODE_ADDRESS)
    )


def test_the_api_server_listens_on_loopback_only():
    """No other host reaches it, with a real node or without."""
    assert "--bind-address=127.0.0.1" in named("kube-apiserver").arguments


def test_all_default_controllers_run():
    """The autoscaler's is one of them."""
    arguments = named("kube-controller-manager").arguments

    assert "--controllers=*" in arguments


def test_aggregated_apis_get_their_requests_signed():
    """The aggregation layer has an authority of its own."""
    arguments = " ".join(named("kube-apiserver").arguments)

    assert "--proxy-client-cert-file=/run/plane/pki/aggregator.crt" in (
        arguments
    )
    assert (
        "--requestheader-client-ca-file=/run/plane/pki/aggregation-ca.crt"
    ) in arguments


def test_processes_do_not_inherit_the_environment(three_server_folders):
    """Secrets of who starts the plane stay where they are."""
    usual = components.environ(FOLDERS, pathlib.Path("/built"))
    more = components.environ(three_server_folders, pathlib.Path("/built"))

    names = {"HOME", "PATH", "PYTHONPATH", "TMPDIR", "POD_IP", "DOCKER_HOST"}
    assert names == set(usual)
    assert {
        "HTTP2_READ_IDLE_TIMEOUT_SECONDS",
        "HTTP2_PING_TIMEOUT_SECONDS",
    } == set(more) - names


def test_cluster_api_gets_contract_labels_conversion_and_webhooks(tmp_path):
    """What kustomize adds to a release is added."""
    write(
        tmp_path / "capi-dev/crd/bases/a.yaml",
        {
            "metadata": {"name": "a"},
            "spec": {"versions": [{"name": "v1alpha1"}, {"name": "v1beta2"}]},
        },
    )

    (found,) = capi.definitions(tmp_path, "capi-dev", b"ca")

    labels = found["metadata"]["labels"]
    assert {"cluster.x-k8s.io/v1beta2": "v1beta2"} == labels
    client = found["spec"]["conversion"]["webhook"]["clientConfig"]
    assert {"url": "https://127.0.0.1:9446/convert", "caBundle": "Y2E="} == (
        client
    )


def test_the_core_of_cluster_api_declares_no_contract(tmp_path):
    """It reads the labels of other providers."""
    write(
        tmp_path / "capi-core/crd/bases/a.yaml",
        {"metadata": {"name": "a"}, "spec": {"versions": []}},
    )

    (found,) = capi.definitions(tmp_path, "capi-core", b"ca")

    assert {"name": "a"} == found["metadata"]


def test_webhooks_of_different_managers_have_different_names(tmp_path):
    """Upstream all are called the same; the path is kept."""
    hooks = [{"clientConfig": {"service": {"path": "/validate-a"}}}]
    content = {"metadata": {"name": "validating"}, "webhooks": hooks}
    for manager in capi.MANAGERS:
        write(tmp_path / manager / "webhook/manifests.yaml", content)

    found = [
        configuration
        for manager in capi.MANAGERS
        for configuration in capi.webhooks(tmp_path, manager, b"ca")
    ]

    assert 4 == len({one["metadata"]["name"] for one in found})
    assert (
        "https://127.0.0.1:9443/validate-a"
        == (found[0]["webhooks"][0]["clientConfig"]["url"])
    )


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))


def test_a_server_certificate_names_what_it_is_reached_by():
    """Names and addresses are alternative names; the authority signed it."""
    ca = certificates.create_authority("test", NOW)

    pair = certificates.issue(
        ca, CertificateRequest("server", names=("localhost", "127.0.0.1")), NOW
    )

    pair.certificate.verify_directly_issued_by(ca.certificate)
    names = extension(pair, x509.SubjectAlternativeName)
    assert ["localhost"] == names.get_values_for_type(x509.DNSName)
    assert ["127.0.0.1"] == [
        str(one) for one in names.get_values_for_type(x509.IPAddress)
    ]
    assert [ExtendedKeyUsageOID.SERVER_AUTH] == list(
        extension(pair, x509.ExtendedKeyUsage)
    )


def test_a_client_certificate_has_user_and_group():
    """Kubernetes reads them from common name and organization."""
    ca = certificates.create_authority("test", NOW)

    pair = certificates.issue(ca, CertificateRequest("me", group="us"), NOW)

    assert "CN=me,O=us" == pair.certificate.subject.rfc4514_string()
    assert [ExtendedKeyUsageOID.CLIENT_AUTH] == list(
        extension(pair, x509.ExtendedKeyUsage)
    )


@pytest.mark.parametrize(
    "kind", [x509.AuthorityKeyIdentifier, x509.SubjectKeyIdentifier]
)
def test_certificates_carry_key_identifiers(kind):
    """Python from 3.13 on refuses those without."""
    ca = certificates.create_authority("test", NOW)
    pair = certificates.issue(ca, CertificateRequest("a", names=("a",)), NOW)

    assert extension(pair, kind)
    assert extension(ca, kind)


def extension(pair, kind):
    return pair.certificate.extensions.get_extension_for_class(kind).value


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Everything that credentials writes, in a folder."""
    folders = Folders(tmp_path_factory.mktemp("plane"))
    folders.make()
    credentials.ensure(folders)
    return folders


def test_keys_and_tokens_are_for_their_user_alone(made):
    """No other user can read a file or a folder."""
    assert [] == [
        path
        for path in made.run.rglob("*")
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    ]


def test_existing_credentials_are_kept(made):
    """A plane that starts again is the same for its clients."""
    before = made.kubeconfig.read_bytes()

    credentials.ensure(made)

    assert before == made.kubeconfig.read_bytes()


def test_credentials_that_end_soon_are_not_fresh(made):
    """They are created again a week before."""
    now = datetime.datetime.now(datetime.timezone.utc)
    soon = now + certificates.VALID - datetime.timedelta(days=6)

    assert certificates.is_fresh(made.pki, now)
    assert not certificates.is_fresh(made.pki, soon)


def test_the_kubeconfig_needs_no_other_file(made):
    """It holds certificate and key, and one context."""
    content = yaml.safe_load(made.kubeconfig.read_text())

    assert "plane" == content["current-context"]
    assert {"client-certificate-data", "client-key-data"} == set(
        content["users"][0]["user"]
    )


def test_each_plane_has_tokens_of_its_own(made):
    """They are random; users and groups are always the same."""
    one, two = (
        list(csv.reader(io.StringIO(credentials.tokens()))) for _ in range(2)
    )

    assert [["admin-token", "1", "system:masters"]] == [
        line[1:] for line in one[:1]
    ]
    assert {line[0] for line in one}.isdisjoint(line[0] for line in two)
    assert credentials.token(made, "plain-token")


def test_an_unknown_user_has_no_token(made):
    """Asking for one is a mistake of the caller."""
    with pytest.raises(KeyError):
        credentials.token(made, "unknown")


def test_a_private_file_is_replaced_whole(tmp_path):
    """Who reads it at that moment sees the old or the new content."""
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o644)

    write_private(path, b"new")

    assert b"new" == path.read_bytes()
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert [path] == list(tmp_path.iterdir())


def test_keys_are_of_a_curve_that_all_components_support(made):
    """The keys of servers and clients are quick to make and to use."""
    certificate = x509.load_pem_x509_certificate(
        (made.pki / "apiserver.crt").read_bytes()
    )

    assert isinstance(certificate.public_key(), ec.EllipticCurvePublicKey)


@pytest.mark.parametrize(
    "path",
    [p for p in node_components.files(FOLDERS) if p.suffix != ".toml"],
    ids=lambda path: path.name,
)
def test_configuration_files_of_the_node_are_json(path):
    """They parse, and lie in the node's own folder."""
    assert json.loads(node_components.files(FOLDERS)[path])
    assert path.is_relative_to(FOLDERS.node)


def test_pods_of_a_real_node_reach_the_server_of_their_own_plane():
    """Its address for them stays, what is behind it is shifted."""
    other = Folders(pathlib.Path("/run/other"), shift=1000)
    (forward,) = (
        one for one in node_components.table(other) if one.name == "forward"
    )

    assert ("10.245.0.1:16443", "127.0.0.1:17443") == forward.arguments[1:]


def test_a_shifted_control_plane_has_other_ports():
    """So a second one runs beside the first, without Cluster API."""

    def wanted(folders):
        return {
            port
            for component in (
                *server_components.table(folders),
                *components.table(folders),
            )
            if component.part != "cluster api"
            for port in component.ports
        }

    other = Folders(pathlib.Path("/run/other"), shift=1000)

    assert {port + 1000 for port in wanted(FOLDERS)} == wanted(other)
    assert "https://127.0.0.1:17443" == credentials.server(other)


def test_the_environment_sets_the_place_of_a_second_one():
    """A folder and a shift belong together."""
    environ = {"PLANE_RUN": "/run/other", "PLANE_SHIFT": "1000"}

    assert Folders(pathlib.Path("/run/other"), 1000) == Folders.from_environ(
        environ
    )
    with pytest.raises(PlaneError, match="PLANE_SHIFT is x"):
        Folders.from_environ({**environ, "PLANE_SHIFT": "x"})
