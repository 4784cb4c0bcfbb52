"""A kubeconfig from a Secret to a receiver, with a real server behind it."""

from __future__ import annotations

import base64
from collections.abc import Callable
import contextlib
import dataclasses
import datetime
import itertools
import logging
import threading
from typing import Any

import pytest

from tacker_k8s_cr import cluster as clusters
from tacker_k8s_cr import deliver
from tacker_k8s_cr import errors
from tacker_k8s_cr import kubeconfig as kubeconfigs
from tacker_k8s_cr import objects
from tacker_k8s_cr import webhook
from tacker_k8s_cr.cluster import probe
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.inventory import Inventory
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record
from tools.receiver import Answer
from tools.receiver import Receiver

pytestmark = pytest.mark.plane

KEY = base64.b64encode(b"planted-key-of-the-tests, 32 bytes").decode()


@pytest.fixture
def account(kubectl, kubeconfig, namespace):
    """A kubeconfig of an account without rights, for the same server."""
    kubectl("create", "serviceaccount", "somebody", "-n", namespace)
    token = kubectl("create", "token", "somebody", "-n", namespace).strip()
    admin = kubeconfigs.load(str(kubeconfig))
    return kubeconfigs.Kubeconfig(
        where="test", server=admin.server, ca=admin.ca, token=token
    )


def test_a_server_that_answers_passes_the_probe(account):
    """Reading /api needs no rights but to be somebody."""
    assert None is probe.probe(account, Deadline.after(20))


def test_a_wrong_token_fails_the_probe(account):
    """At once: it would not become right by waiting."""
    wrong = dataclasses.replace(account, token="planted-token-0815")

    with pytest.raises(errors.Unauthenticated) as caught:
        probe.probe(wrong, Deadline.after(600))

    assert "planted" not in str(caught.value)


def test_a_server_that_is_not_trusted_fails_the_probe(account, tmp_path):
    """At once: another CA's certificate does not become right either."""
    with Receiver(tmp_path) as receiver:
        wrong = dataclasses.replace(account, ca=receiver.ca_file.read_text())

        with pytest.raises(errors.Unreachable, match="certificate"):
            probe.probe(wrong, Deadline.after(600))


def test_a_server_that_is_away_is_tried_until_the_deadline(account):
    """Nobody listens on port 1."""
    away = dataclasses.replace(account, server="https://127.0.0.1:1")
    deadline = Deadline.after(2)

    with pytest.raises(errors.Unreachable, match=r"127\.0\.0\.1:1"):
        probe.probe(away, deadline)

    assert deadline.left < 2


@pytest.fixture
def workload(cluster, kubectl, namespace, account, unique):
    """An instance with a Cluster that nobody works on: the test plays."""
    host, port = account.server.removeprefix("https://").split(":")
    made = cluster.apply(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": "site-a", "namespace": namespace},
            "spec": {
                "paused": True,
                "controlPlaneEndpoint": {"host": host, "port": int(port)},
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "DevCluster",
                    "name": "site-a",
                },
            },
        },
        "test",
    ).obj
    ref = ObjectRef.of(made)
    owned = {ref: objects.uid(made)}
    record.write(cluster, Inventory(unique, namespace, owned=owned), None)
    yield ref
    # Its controller lets it go only when it is not paused.
    kubectl(
        "patch",
        "cluster",
        ref.name,
        "-n",
        namespace,
        "--type=merge",
        "-p",
        '{"spec":{"paused":false}}',
    )
    kubectl("delete", "cluster", ref.name, "-n", namespace, "--wait=false")


@pytest.fixture
def secret(cluster, namespace, account):
    """Make the Secret, as a control plane provider does."""

    def make(text=None):
        text = text or account.text()
        cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {
                    "name": "site-a-kubeconfig",
                    "namespace": namespace,
                    "labels": {"cluster.x-k8s.io/cluster-name": "site-a"},
                },
                "type": "cluster.x-k8s.io/secret",
                "data": {"value": base64.b64encode(text.encode()).decode()},
            },
            "test",
        )

    return make


@pytest.mark.capi
def test_a_late_secret_is_delivered_once(
    cluster, namespace, unique, workload, secret, account, tmp_path
):
    """Waited for, probed, signed, tried again, and noted (TK-13, TK-14)."""
    prepared = [Answer(503, "busy", {"retry-after": "0"})]
    with Receiver(tmp_path, KEY, prepared) as receiver:
        delivery = deliver.Delivery(
            webhook.Receiver(
                receiver.url, (KEY,), ca_file=str(receiver.ca_file)
            )
        )

        def run():
            return deliver.deliver(
                cluster,
                unique,
                delivery,
                namespace=namespace,
                deadline=Deadline.after(60),
            )

        later = threading.Thread(target=secret)
        later.start()
        [receipt] = run()
        later.join()

        assert [receipt] == list(run())
        [posted] = receiver.accepted.values()

    assert 2 == len(receiver.posted)
    assert receipt.message == posted.id
    data = posted.message["data"]
    assert (account.server, account.fingerprint, True) == (
        data["apiServer"],
        data["fingerprint"],
        data["vimRegistrable"],
    )
    got = kubeconfigs.parse(data["kubeconfig"], "what was posted")
    assert None is probe.probe(got, Deadline.after(20))
    entry = record.read(cluster, unique, namespace)
    assert [receipt] == [
        deliver.Receipt.of(item) for item in entry.inventory.receipts
    ]


@pytest.mark.capi
def test_a_secret_that_never_comes_is_named(
    cluster, namespace, unique, workload, tmp_path
):
    """The deadline ends the wait on a real watch."""
    delivery = deliver.Delivery(webhook.Receiver("https://hooks.invalid"))

    with pytest.raises(errors.NotReady) as caught:
        deliver.deliver(
            cluster,
            unique,
            delivery,
            namespace=namespace,
            deadline=Deadline.after(2),
        )

    assert f"Secret/{namespace}/site-a-kubeconfig" in str(caught.value)
    assert "it is not there" in str(caught.value)


@pytest.mark.capi
def test_a_server_behind_the_kubeconfig_must_answer(
    cluster, namespace, unique, workload, secret, account, tmp_path
):
    """A credential that its server refuses is not handed on."""
    secret(dataclasses.replace(account, token="planted-0815").text())
    with Receiver(tmp_path, KEY) as receiver:
        delivery = deliver.Delivery(webhook.Receiver(receiver.url, (KEY,)))

        with pytest.raises(errors.KubeconfigInvalid) as caught:
            deliver.deliver(
                cluster,
                unique,
                delivery,
                namespace=namespace,
                deadline=Deadline.after(60),
            )

    assert "the probe failed" in str(caught.value)
    assert "refuses the credential" in str(caught.value)
    assert "planted" not in str(caught.value)
    assert [] == receiver.posted


# -- A credential with rights of its own --------------------------------------
#
# The API server plays both parts: it has the record, and it is the workload
# cluster, with RBAC and the controller that fills Secrets of tokens.


@pytest.fixture
def scoped(cluster, kubeconfig, namespace, unique, workload, secret, tmp_path):
    """Delivers a scoped credential to a receiver; everything goes after."""
    admin = kubeconfigs.load(str(kubeconfig))
    secret(admin.text())
    with Receiver(tmp_path, KEY) as receiver:

        def how(role="view", expires_after=0, **settings):
            return deliver.Delivery(
                webhook.Receiver(
                    receiver.url, (KEY,), ca_file=str(receiver.ca_file)
                ),
                access=deliver.Access(
                    deliver.Mode.SCOPED, role, expires_after
                ),
                **settings,
            )

        def run(act, **settings):
            return act(
                cluster,
                unique,
                how(**settings),
                namespace=namespace,
                deadline=Deadline.after(60),
            )

        yield Scoped(
            lambda **settings: run(deliver.deliver, **settings),
            lambda **settings: run(deliver.withdraw, **settings),
            receiver,
            admin,
        )
        run(deliver.withdraw)


@dataclasses.dataclass
class Scoped:
    """The two acts, and who is told."""

    deliver: Callable[..., Any]
    withdraw: Callable[..., Any]
    receiver: Receiver
    admin: kubeconfigs.Kubeconfig

    @property
    def told(self):
        return [posted.message for posted in self.receiver.posted]

    def given(self, number=-1):
        """The kubeconfig of a message."""
        issued = [told for told in self.told if "kubeconfig" in told["type"]]
        text = issued[number]["data"]["kubeconfig"]
        return kubeconfigs.parse(text, "what was posted")


def made(cluster, instance):
    """What lies in the workload cluster for an instance's access."""
    selector = f"k8s-cr.tacker.openstack.org/access={instance}"
    kinds = (
        ("", "Namespace"),
        ("", "ServiceAccount"),
        ("", "Secret"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    )
    return [
        kind.kind
        for kind in itertools.starmap(objects.GroupKind, kinds)
        for obj in cluster.list_metadata(kind, "", selector)
        # A namespace takes its time.
        if "deletionTimestamp" not in obj["metadata"]
    ]


def refused(given):
    """Whether the server no longer takes a credential.

    It remembers for some seconds whom it knew.
    """
    until = Deadline.after(30)
    while not until.passed:
        try:
            probe.probe(given, Deadline.after(10))
        except errors.Unauthenticated:
            return True
        threading.Event().wait(0.5)
    return False


@pytest.mark.capi
def test_a_scoped_credential_may_do_what_its_role_says(
    cluster, namespace, unique, scoped, caplog
):
    """It reads, does not write, is made once, and ends when revoked.

    (TK-15, TK-19)
    """
    caplog.set_level(logging.DEBUG)
    [receipt] = scoped.deliver()
    given = scoped.given()

    with contextlib.closing(clusters.connect(given)) as narrow:
        place = ObjectRef("", "ConfigMap", namespace, "kube-root-ca.crt")
        assert narrow.get(place)
        with pytest.raises(errors.Forbidden):
            narrow.get(ObjectRef("", "Secret", namespace, "any"))
    assert [receipt] == list(scoped.deliver())
    assert 1 == len(scoped.told)
    assert ["Namespace", "ServiceAccount", "Secret", "ClusterRoleBinding"] == (
        made(cluster, unique)
    )

    assert scoped.withdraw()

    assert refused(given)
    assert "workload-cluster.terminated" == scoped.told[-1]["type"]
    assert [] == made(cluster, unique)
    for secret in (given.token, scoped.admin.client_key, scoped.admin.token):
        assert not secret or secret not in caplog.text


@pytest.mark.capi
def test_a_token_that_ends_says_so(cluster, unique, scoped):
    """The server's word is in the message, and a repeat makes none."""
    [receipt] = scoped.deliver(expires_after=600)

    given = scoped.given()
    left = given.expires - datetime.datetime.now(datetime.timezone.utc)
    assert 500 < left.total_seconds() <= 600
    assert receipt.expires == scoped.told[0]["data"]["expires"]
    assert None is probe.probe(given, Deadline.after(20))
    assert [receipt] == list(scoped.deliver(expires_after=600))
    assert 1 == len(scoped.told)
    assert "Secret" not in made(cluster, unique)


@pytest.mark.capi
@pytest.mark.parametrize("expires_after", [0, 600])
def test_a_renewed_credential_is_another_and_the_former_ends(
    scoped, expires_after
):
    """Of both sorts; the role may change with it."""
    scoped.deliver(expires_after=expires_after)

    scoped.deliver(expires_after=expires_after, role="edit", renew=True)

    assert refused(scoped.given(0))
    assert None is probe.probe(scoped.given(1), Deadline.after(20))
    assert ["view", "edit"] == [told["data"]["role"] for told in scoped.told]
