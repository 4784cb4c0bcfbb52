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

from tacker_k8s_cr import delivery as deliver
from tacker_k8s_cr import kube as clusters
from tacker_k8s_cr.delivery import message
from tacker_k8s_cr.delivery import webhook
from tacker_k8s_cr.kube import check_api
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.state import store
from tools.receiver import Answer
from tools.receiver import Receiver

pytestmark = pytest.mark.plane

KEY = base64.b64encode(b"planted-key-of-the-tests, 32 bytes").decode()


@pytest.fixture
def account(kubectl, kubeconfig, namespace):
    """A kubeconfig of an account without rights, for the same server."""
    kubectl("create", "serviceaccount", "other-account", "-n", namespace)
    token = kubectl(
        "create", "token", "other-account", "-n", namespace
    ).strip()
    admin = kubeconfigs.load(str(kubeconfig))
    return kubeconfigs.Kubeconfig(
        where="test", server=admin.server, ca=admin.ca, token=token
    )


def test_a_server_that_answers_passes_the_probe(account):
    """Reading /api requires authentication and no other permissions."""
    assert None is check_api.check(account, Deadline.after(20))


def test_a_wrong_token_fails_the_probe(account):
    """At once: it would not become right by waiting."""
    wrong = dataclasses.replace(account, token="planted-token-0815")

    with pytest.raises(errors.Unauthenticated) as caught:
        check_api.check(wrong, Deadline.after(600))

    assert "planted" not in str(caught.value)


@pytest.mark.requirement("P24")
def test_a_server_that_is_not_trusted_fails_the_probe(account, tmp_path):
    """At once: another CA's certificate does not become right either."""
    with Receiver(tmp_path) as receiver:
        wrong = dataclasses.replace(account, ca=receiver.ca_file.read_text())

        with pytest.raises(errors.Unreachable, match="certificate"):
            check_api.check(wrong, Deadline.after(600))


def test_an_unreachable_server_is_retried_until_the_deadline(account):
    """No server listens on port 1."""
    away = dataclasses.replace(account, server="https://127.0.0.1:1")
    deadline = Deadline.after(2)

    with pytest.raises(errors.Unreachable, match=r"127\.0\.0\.1:1"):
        check_api.check(away, deadline)

    assert deadline.remaining < 2


@pytest.fixture
def workload(cluster, kubectl, namespace, account, unique_name):
    """An instance with a Cluster without a controller: the test plays it."""
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
    store.write(cluster, Inventory(unique_name, namespace, owned=owned), None)
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
        text = text or account.to_yaml()
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
@pytest.mark.requirement("TK-13", "TK-14", "I8", "J2", "J3")
def test_a_late_secret_is_delivered_once(
    cluster, namespace, unique_name, workload, secret, account, tmp_path
):
    """Waited for, probed, signed, tried again, and noted."""
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
                unique_name,
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
    assert None is check_api.check(got, Deadline.after(20))
    entry = store.read(cluster, unique_name, namespace)
    assert [receipt] == [
        deliver.Receipt.of(item) for item in entry.inventory.receipts
    ]


@pytest.mark.capi
def test_a_secret_that_never_comes_is_named(
    cluster, namespace, unique_name, workload, tmp_path
):
    """The deadline ends the wait on a real watch."""
    delivery = deliver.Delivery(webhook.Receiver("https://hooks.invalid"))

    with pytest.raises(errors.ReadinessTimeout) as caught:
        deliver.deliver(
            cluster,
            unique_name,
            delivery,
            namespace=namespace,
            deadline=Deadline.after(2),
        )

    assert f"Secret/{namespace}/site-a-kubeconfig" in str(caught.value)
    assert "does not exist" in str(caught.value)


@pytest.mark.capi
def test_a_server_behind_the_kubeconfig_must_answer(
    cluster, namespace, unique_name, workload, secret, account, tmp_path
):
    """A credential that its server refuses is not handed on."""
    secret(dataclasses.replace(account, token="planted-0815").to_yaml())
    with Receiver(tmp_path, KEY) as receiver:
        delivery = deliver.Delivery(webhook.Receiver(receiver.url, (KEY,)))

        with pytest.raises(errors.KubeconfigInvalid) as caught:
            deliver.deliver(
                cluster,
                unique_name,
                delivery,
                namespace=namespace,
                deadline=Deadline.after(60),
            )

    assert "the check of the API failed" in str(caught.value)
    assert "refuses the credential" in str(caught.value)
    assert "planted" not in str(caught.value)
    assert [] == receiver.posted


@pytest.fixture
def rotate(cluster, kubectl, namespace, account):
    """Write another credential of the same user into the Secret."""
    ref = ObjectRef("", "Secret", namespace, "site-a-kubeconfig")

    def act():
        token = kubectl("create", "token", "other-account", "-n", namespace)
        found = dataclasses.replace(account, token=token.strip())
        value = base64.b64encode(found.to_yaml().encode()).decode()
        cluster.patch(ref, {"data": {"value": value}}, "test")
        return found

    return act


@pytest.mark.capi
@pytest.mark.requirement("P24", "I9", "J5")
def test_a_kubeconfig_that_was_rotated_is_delivered_again(
    cluster,
    namespace,
    unique_name,
    workload,
    secret,
    account,
    rotate,
    tmp_path,
):
    """By the next operation, once; the receiver sees which one is new.

    Each message has the fingerprint and the expiry of its credential. What
    is unchanged is not sent again, and neither is the former credential.
    """
    secret()
    with Receiver(tmp_path, KEY) as receiver:
        delivery = deliver.Delivery(
            webhook.Receiver(
                receiver.url, (KEY,), ca_file=str(receiver.ca_file)
            )
        )

        def run():
            return deliver.deliver(
                cluster,
                unique_name,
                delivery,
                namespace=namespace,
                deadline=Deadline.after(60),
            )

        [first] = run()
        assert [first] == list(run())
        rotated = rotate()
        [second] = run()
        assert [second] == list(run())

    sent = [posted.message["data"] for posted in receiver.posted]
    assert [account.fingerprint, rotated.fingerprint] == [
        data["fingerprint"] for data in sent
    ]
    assert first.fingerprint != second.fingerprint
    assert first.message != second.message
    for data, found in zip(sent, (account, rotated), strict=True):
        got = kubeconfigs.parse(data["kubeconfig"], "what was posted")
        assert found.token == got.token
        assert None is check_api.check(got, Deadline.after(20))
        assert found.expires is not None
        assert data["expires"] == message.rfc3339(found.expires)
    entry = store.read(cluster, unique_name, namespace)
    assert [second] == [
        deliver.Receipt.of(item) for item in entry.inventory.receipts
    ]


# -- A credential with rights of its own --------------------------------------
#
# The API server plays both parts: it has the record, and it is the workload
# cluster, with RBAC and the controller that fills Secrets of tokens.


@pytest.fixture
def scoped(
    cluster, kubeconfig, namespace, unique_name, workload, secret, tmp_path
):
    """Delivers a scoped credential to a receiver; everything goes after."""
    admin = kubeconfigs.load(str(kubeconfig))
    secret(admin.to_yaml())
    with Receiver(tmp_path, KEY) as receiver:

        def how(role="view", expires_after=0, **settings):
            return deliver.Delivery(
                webhook.Receiver(
                    receiver.url, (KEY,), ca_file=str(receiver.ca_file)
                ),
                access=deliver.CredentialMode(
                    deliver.CredentialKind.SCOPED, role, expires_after
                ),
                **settings,
            )

        def run(act, **settings):
            return act(
                cluster,
                unique_name,
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
    """The two acts, and the receivers that are notified."""

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
    selector = f"k8s-cr.tacker.openstack.org/credential-receiver={instance}"
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
    while not until.expired:
        try:
            check_api.check(given, Deadline.after(10))
        except errors.Unauthenticated:
            return True
        threading.Event().wait(0.5)
    return False


@pytest.mark.capi
@pytest.mark.requirement("TK-19", "F7", "J4", "J5")
def test_a_scoped_credential_has_the_permissions_of_its_role(
    cluster, namespace, unique_name, scoped, caplog
):
    """It reads, does not write, is made once, and ends when revoked."""
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
        made(cluster, unique_name)
    )

    assert scoped.withdraw()

    assert refused(given)
    assert "workload-cluster.terminated" == scoped.told[-1]["type"]
    assert [] == made(cluster, unique_name)
    for secret in (given.token, scoped.admin.client_key, scoped.admin.token):
        assert not secret or secret not in caplog.text


@pytest.mark.capi
def test_a_token_with_an_expiry_states_it(cluster, unique_name, scoped):
    """The server's word is in the message, and a repeat makes none."""
    [receipt] = scoped.deliver(expires_after=600)

    given = scoped.given()
    left = given.expires - datetime.datetime.now(datetime.timezone.utc)
    assert 500 < left.total_seconds() <= 600
    assert receipt.expires == scoped.told[0]["data"]["expires"]
    assert None is check_api.check(given, Deadline.after(20))
    assert [receipt] == list(scoped.deliver(expires_after=600))
    assert 1 == len(scoped.told)
    assert "Secret" not in made(cluster, unique_name)


@pytest.mark.capi
@pytest.mark.parametrize("expires_after", [0, 600])
def test_a_renewed_credential_is_another_and_the_former_ends(
    scoped, expires_after
):
    """Of both sorts; the role may change with it."""
    scoped.deliver(expires_after=expires_after)

    scoped.deliver(expires_after=expires_after, role="edit", renew=True)

    assert refused(scoped.given(0))
    assert None is check_api.check(scoped.given(1), Deadline.after(20))
    assert ["view", "edit"] == [told["data"]["role"] for told in scoped.told]
