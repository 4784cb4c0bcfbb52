"""What only a real API server can show: credentials, denials, ends."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import json
import logging
import os
import pathlib
import socket
import threading
from typing import Any

import pytest

from tacker_k8s_cr.kube import connect
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.kube.connection import Connection
from tacker_k8s_cr.kube.http.requests import Client
from tacker_k8s_cr.kube.http.requests import Counter
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.kubeconfig import for_server
from tacker_k8s_cr.kube.pagination import ListQuery
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Snapshot
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.kube.protocol import WatchEvent
from tacker_k8s_cr.kube.reflector import Reflector
from tacker_k8s_cr.kube.reflector import StreamClosed
from tacker_k8s_cr.kube.reflector import StreamGroup
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import DependencyMissing
from tacker_k8s_cr.model.errors import Forbidden
from tacker_k8s_cr.model.errors import Rejected
from tacker_k8s_cr.model.errors import Unauthenticated
from tacker_k8s_cr.model.errors import Unreachable
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.wait import served
from tests.contracts.manifests import MANAGER
from tests.contracts.manifests import config_map
from tests.contracts.manifests import definition
from tests.contracts.manifests import deployment
from tests.contracts.manifests import labelled
from tests.contracts.watch_events import SECONDS
from tests.contracts.watch_events import is_event_of
from tests.contracts.watch_events import read_events_until
from tools.plane.kubectl import Kubectl

pytestmark = pytest.mark.plane

CONFIG_MAP = GroupKind("", "ConfigMap")
Connect = Callable[..., Cluster]


@pytest.fixture
def admin(kubeconfig: pathlib.Path) -> Kubeconfig:
    return kubeconfigs.load(str(kubeconfig))


@pytest.fixture
def connecting() -> Iterator[Connect]:
    """Connects, with a limit, and closes what it connected."""
    made: list[Cluster] = []

    def connected(
        *args: Any, seconds: float = SECONDS, **more: Any
    ) -> Cluster:
        cluster = connect(*args, **more)
        made.append(cluster)
        return cluster.with_deadline(Deadline.after(seconds))

    yield connected
    for cluster in made:
        cluster.close()


@pytest.fixture
def restricted_cluster(
    kubectl: Kubectl, namespace: str, admin: Kubeconfig
) -> Kubeconfig:
    """An account that may apply, get and watch one named ConfigMap."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "few", "namespace": namespace},
        "rules": [
            {
                "apiGroups": [""],
                "resources": ["configmaps"],
                "resourceNames": ["one"],
                "verbs": ["get", "watch", "patch"],
            }
        ],
    }
    kubectl.apply([role])
    kubectl("create", "serviceaccount", "few", f"--namespace={namespace}")
    kubectl(
        "create",
        "rolebinding",
        "few",
        "--role=few",
        f"--serviceaccount={namespace}:few",
        f"--namespace={namespace}",
    )
    token = kubectl("create", "token", "few", f"--namespace={namespace}")
    return dataclasses.replace(
        admin, client_certificate="", client_key="", token=token.strip()
    )


def test_an_unknown_authority(
    connecting: Connect, admin: Kubeconfig, other_ca: str
) -> None:
    """A server whose certificate we do not trust is left at once."""
    cluster = connecting(dataclasses.replace(admin, ca=other_ca))

    with pytest.raises(Unreachable) as caught:
        cluster.version()

    assert "its certificate is not trusted" in str(caught.value)
    assert 1 == cluster.requests


def test_a_certificate_for_another_name(
    connecting: Connect, admin: Kubeconfig
) -> None:
    """The certificate must be for the name that the kubeconfig gives."""
    named = dataclasses.replace(admin, tls_server_name="other.example.org")
    cluster = connecting(named)

    with pytest.raises(Unreachable, match=r"other\.example\.org"):
        cluster.version()

    assert 1 == cluster.requests


def test_the_name_of_the_certificate(
    connecting: Connect, admin: Kubeconfig
) -> None:
    """With tls-server-name the certificate is checked for that name."""
    named = dataclasses.replace(admin, tls_server_name="kubernetes.default")

    assert connecting(named).version()


def test_no_verification_by_choice(
    connecting: Connect,
    admin: Kubeconfig,
    other_ca: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Verification can be switched off, which is said aloud once."""
    cluster = connecting(dataclasses.replace(admin, ca=other_ca), verify=False)

    assert cluster.version()
    (said,) = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert "its certificate is not verified" in said.getMessage()


def test_a_wrong_token(connecting: Connect, admin: Kubeconfig) -> None:
    """A credential that is refused is named as such, without its value."""
    cluster = connecting(
        for_server(admin.server, ca=admin.ca, token="planted-no-token-at-all")
    )

    with pytest.raises(Unauthenticated) as caught:
        cluster.version()

    assert admin.server in str(caught.value)
    assert "planted-no-token-at-all" not in str(caught.value)


@pytest.mark.requirement("K2")
def test_a_valid_token(
    connecting: Connect, restricted_cluster: Kubeconfig, namespace: str
) -> None:
    """A bearer token and an authority are enough."""
    cluster = connecting(
        for_server(
            restricted_cluster.server,
            ca=restricted_cluster.ca,
            token=restricted_cluster.token,
        )
    )

    one = ObjectRef("", "ConfigMap", namespace, "one")
    assert cluster.get(one) is None


@pytest.mark.requirement("K2", "CR-8")
def test_a_client_certificate(connecting: Connect, admin: Kubeconfig) -> None:
    """A client certificate and its key, as text, are enough."""
    if not admin.client_certificate:
        pytest.skip("this cluster's kubeconfig has no client certificate")
    cluster = connecting(
        for_server(
            admin.server,
            ca=admin.ca,
            client_certificate=admin.client_certificate,
            client_key=admin.client_key,
        )
    )

    assert cluster.resource(CONFIG_MAP).namespaced


@pytest.mark.requirement("P24")
def test_a_token_file_that_is_renewed(
    connecting: Connect,
    restricted_cluster: Kubeconfig,
    namespace: str,
    tmp_path: pathlib.Path,
) -> None:
    """A refused token is read once more from its file, which may be new."""
    path = tmp_path / "token"
    path.write_text("outworn")
    document = dataclasses.replace(restricted_cluster, token="").to_dict()
    document["users"][0]["user"] = {"tokenFile": "token"}
    (tmp_path / "config").write_text(json.dumps(document))
    cluster = connecting(str(tmp_path / "config"))
    one = ObjectRef("", "ConfigMap", namespace, "one")
    with pytest.raises(Unauthenticated):
        cluster.get(one)
    path.write_text(restricted_cluster.token)

    assert cluster.get(one) is None


@pytest.mark.requirement("IN-3", "CR-8", "CL-8")
def test_a_pod(
    connecting: Connect,
    restricted_cluster: Kubeconfig,
    namespace: str,
    tmp_path: pathlib.Path,
) -> None:
    """An account's mounted files are an identity."""
    (tmp_path / "token").write_text(restricted_cluster.token)
    (tmp_path / "ca.crt").write_text(restricted_cluster.ca)
    host, port = restricted_cluster.server.removeprefix("https://").split(":")
    environ = {
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
    }

    found = kubeconfigs.in_cluster(environ, str(tmp_path))

    one = ObjectRef("", "ConfigMap", namespace, "one")
    assert connecting(found).get(one) is None


def test_a_forbidden_write(
    connecting: Connect, restricted_cluster: Kubeconfig, namespace: str
) -> None:
    """A forbidden request is reported by verb, resource and namespace."""
    cluster = connecting(restricted_cluster)

    with pytest.raises(Forbidden) as caught:
        cluster.apply(deployment(namespace, 0), MANAGER)

    assert "patch" == caught.value.verb
    assert "deployments.apps" == caught.value.resource
    assert namespace == caught.value.namespace
    assert f"in the namespace {namespace}" in str(caught.value)


def test_a_forbidden_list(
    connecting: Connect, restricted_cluster: Kubeconfig
) -> None:
    """Without a namespace the scope is the cluster."""
    cluster = connecting(restricted_cluster)

    with pytest.raises(Forbidden, match="at the cluster scope"):
        list(cluster.list_objects(CONFIG_MAP))


def test_watching_by_name(
    connecting: Connect,
    connected: Cluster,
    restricted_cluster: Kubeconfig,
    namespace: str,
) -> None:
    """Where listing is forbidden, each object is watched by its name."""
    manifest = labelled(config_map(namespace, a="1"), part="x")
    made = connected.apply(manifest, MANAGER).obj
    watch = Watch(CONFIG_MAP, namespace, "part=x", frozenset(["one"]))
    one = ObjectRef("", "ConfigMap", namespace, "one")

    with connecting(restricted_cluster).watch([watch]) as watching:
        (listed,) = read_events_until(
            watching, lambda item: isinstance(item, Snapshot)
        )
        connected.delete(one, objects.uid(made))
        read_events_until(watching, is_event_of("one", gone=True))
        connected.apply(manifest, MANAGER)
        read_events_until(watching, is_event_of("one"))

    assert isinstance(listed, Snapshot)
    assert [objects.uid(made)] == [objects.uid(obj) for obj in listed.objs]


def test_a_list_without_names_is_forbidden(
    connecting: Connect, restricted_cluster: Kubeconfig, namespace: str
) -> None:
    """With nothing to watch by name, the stream ends with the error."""
    watch = Watch(CONFIG_MAP, namespace, "part=x")

    with (
        connecting(restricted_cluster).watch([watch]) as watching,
        pytest.raises(Forbidden),
    ):
        read_events_until(watching, lambda item: False)


def test_words_of_a_policy(
    connected: Cluster, kubectl: Kubectl, namespace: str
) -> None:
    """A denial keeps the words of who denied it."""
    name = f"deny.{namespace}.example.org"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ]
            },
            "validations": [
                {
                    "expression": "!('forbidden' in object.data)",
                    "message": "no forbidden fruit",
                }
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": namespace}
                }
            },
        },
    }
    kubectl.apply([policy, binding])
    try:
        caught = _refused(connected, config_map(namespace, forbidden="1"))
    finally:
        for kind in ("policy", "policybinding"):
            kubectl("delete", f"validatingadmission{kind}", name)

    assert "no forbidden fruit" in str(caught)


def _refused(cluster: Cluster, manifest: dict[str, Any]) -> Rejected:
    """The policy comes into force after a moment."""
    deadline = Deadline.after(SECONDS)
    while not deadline.expired:
        try:
            cluster.apply(manifest, MANAGER, dry_run=True)
        except Rejected as error:
            return error
    raise AssertionError("the policy was not enforced")


def test_a_webhook_that_does_not_answer(
    connected: Cluster, kubectl: Kubectl, namespace: str
) -> None:
    """A webhook that is away may come: not yet, and which one it is."""
    name = f"away.{namespace}.example.org"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
        "scope": "*",
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    webhook = {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 1,
        "clientConfig": {"url": "https://127.0.0.1:1/away"},
        "rules": [rule],
        "namespaceSelector": selector,
    }
    kubectl.apply(
        [
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": [webhook],
            }
        ]
    )
    deadline = Deadline.after(SECONDS)
    caught = None
    try:
        while caught is None and not deadline.expired:
            try:
                connected.apply(
                    config_map(namespace, a="1"), MANAGER, dry_run=True
                )
            except DependencyMissing as error:
                caught = error
    finally:
        kubectl("delete", "validatingwebhookconfiguration", name)

    assert f'failed calling webhook "{name}"' in str(caught)


def test_a_field_that_is_not_in_the_schema(
    connected: Cluster, namespace: str
) -> None:
    """A misspelt field is refused by name, whatever the server's code."""
    manifest = {**config_map(namespace), "datta": {"a": "1"}}

    with pytest.raises(Rejected, match="datta"):
        connected.apply(manifest, MANAGER)


def test_values_of_a_secret_stay_unsaid(
    connected: Cluster, namespace: str
) -> None:
    """The server's error about a Secret is reported without its values."""
    manifest = {
        **config_map(namespace),
        "kind": "Secret",
        "data": {"password": 271828},
    }

    with pytest.raises(Rejected) as caught:
        connected.apply(manifest, MANAGER)

    assert "271828" not in str(caught.value)
    assert "password" in str(caught.value)


def test_a_refused_connection(connecting: Connect, admin: Kubeconfig) -> None:
    """A refused connection is tried again until the deadline, then told."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = f"https://127.0.0.1:{port}"
    cluster = connecting(dataclasses.replace(admin, server=server))

    def clock() -> float:
        """It comes to the deadline when there were three attempts."""
        return 60.0 if cluster.requests > 2 else 0.0

    with pytest.raises(Unreachable) as caught:
        cluster.with_deadline(Deadline(60.0, clock)).version()

    assert 3 == cluster.requests
    assert caught.value.outcome().endswith(
        "Connection refused; the deadline passed"
    )


def test_streams_end_with_their_context(
    connected: Cluster, namespace: str
) -> None:
    """Closing does not wait for the server to say something."""
    watches = [
        Watch(GroupKind("", kind), namespace, "")
        for kind in ("ConfigMap", "Secret", "Service")
    ]
    before = set(threading.enumerate())
    deadline = Deadline.after(SECONDS)
    with connected.with_deadline(deadline).watch(watches) as watching:
        read_events_until(watching, lambda item: isinstance(item, Snapshot))

    left = deadline.remaining

    assert left > SECONDS - 5
    new = set(threading.enumerate()) - before
    assert not [each for each in new if each.name == "watch"]


# Where Tacker was imported before, eventlet warns of every fork.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_has_connections_of_its_own(
    connected: Cluster, namespace: str
) -> None:
    """A child of a fork neither waits for, nor disturbs, its parent."""
    made = connected.apply(config_map(namespace, a="1"), MANAGER).obj
    one = ObjectRef("", "ConfigMap", namespace, "one")
    list(connected.map_parallel(connected.get, [one] * 20))

    child = os.fork()
    if not child:
        found = list(connected.map_parallel(connected.get, [one] * 20))
        same = all(
            isinstance(obj, dict) and objects.uid(obj) == objects.uid(made)
            for _, obj in found
        )
        os._exit(0 if same and len(found) == 20 else 1)
    _, status = os.waitpid(child, 0)

    assert 0 == os.waitstatus_to_exitcode(status)
    assert connected.get(one)


def test_nothing_secret_is_logged(
    connecting: Connect,
    restricted_cluster: Kubeconfig,
    admin: Kubeconfig,
    namespace: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not even the DEBUG log shows a token, a key or a Secret's value."""
    caplog.set_level(logging.DEBUG)
    secret = {
        **config_map(namespace),
        "kind": "Secret",
        "data": {"password": "Z2VoZWlt"},
    }
    cluster = connecting(restricted_cluster)
    administrator = connecting(admin)
    administrator.apply(secret, MANAGER)
    assert cluster.get(ObjectRef("", "ConfigMap", namespace, "one")) is None
    # Some releases of the client raise this level when they are set up.
    caplog.set_level(logging.DEBUG, "urllib3")
    administrator.apply(secret, MANAGER)
    with pytest.raises(Forbidden) as caught:
        cluster.apply(secret, MANAGER)

    shown = "\n".join(
        [
            caplog.text,
            str(caught.value),
            repr(caught.value),
            repr(restricted_cluster),
        ]
    )
    assert "Z2VoZWlt" not in shown
    assert restricted_cluster.token not in shown
    assert "PRIVATE KEY" not in shown
    assert "urllib3" in {
        record.name.split(".")[0] for record in caplog.records
    }


def test_pages_are_put_together(connected: Cluster, namespace: str) -> None:
    """A list longer than a page has every object once."""
    manifests = [config_map(namespace, f"n{n}") for n in range(510)]
    for _, result in connected.map_parallel(
        lambda manifest: connected.create(manifest, MANAGER), manifests
    ):
        assert isinstance(result, dict)
    before = connected.requests

    names = [
        obj["metadata"]["name"]
        for obj in connected.list_metadata(CONFIG_MAP, namespace)
        if obj["metadata"]["name"].startswith("n")
    ]

    assert before + 2 == connected.requests
    assert 510 == len(names) == len(set(names))


def test_a_changed_object_comes_with_its_kind(
    connected: Cluster, namespace: str
) -> None:
    """An event shows the whole object."""
    watch = Watch(CONFIG_MAP, namespace, "part=x")
    with connected.watch([watch]) as watching:
        read_events_until(watching, lambda item: isinstance(item, Snapshot))
        connected.apply(
            labelled(config_map(namespace, a="1"), part="x"), MANAGER
        )
        (item,) = read_events_until(watching, is_event_of("one"))

    assert isinstance(item, WatchEvent)
    assert "ConfigMap" == item.obj["kind"]


def test_a_version_that_is_too_old(
    kubeconfig: pathlib.Path, connected: Cluster, namespace: str
) -> None:
    """The server answers 200 and an error 410: there is another look.

    What it remembers of a kind begins when the kind does, so that nothing
    of a new one is as old as the first version of all.
    """
    kind = GroupKind(f"{namespace}.example.org", "Sprocket")
    new = connected.apply(definition(kind.group), MANAGER).obj
    served.wait_served(connected, {kind: ("v1",)}, Deadline.after(SECONDS))
    made = kubeconfigs.load(str(kubeconfig))
    connection = Connection(lambda: made, verify=True, size=1)
    sender = Client(
        connection, made.server, Counter(), Deadline.after(SECONDS)
    )
    selection = ListQuery(connected.resource(kind), namespace)
    stream = Reflector(
        sender, StreamGroup(), selection, lambda obj, gone: None
    )
    looks = iter(["1"])

    def look() -> str:
        for version in looks:
            return version
        raise StreamClosed

    with pytest.raises(StreamClosed):
        stream.follow(look)
    connection.close()
    connected.delete(ObjectRef.of(new), new["metadata"]["uid"])
