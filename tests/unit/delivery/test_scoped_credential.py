"""A credential with rights of its own, and its revocation, on fakes.

The workload cluster's token controller is played by the test. What a real
server does with such a credential is shown in the functional tests.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import pathlib

import jsonschema
import pytest

from tacker_k8s_cr import delivery as deliver
from tacker_k8s_cr.delivery import webhook
from tacker_k8s_cr.delivery.scoped_credential import WorkloadClients
from tacker_k8s_cr.delivery.service_account import CREDENTIAL_RECEIVER
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.unit.delivery.sent_messages import SentMessages

ID = "3f0d2a5e-5d2c-4c9e-8a7e-0f1e2d3c4b5a"
SITE = ObjectRef("cluster.x-k8s.io", "Cluster", "default", "site-a")
ENDPOINT = "https://192.0.2.10:6443"
RECEIVER = webhook.Receiver("https://hooks.example/kubeconfigs")
OTHER = webhook.Receiver("https://hooks.example/others")
NOW = 1_700_000_000.0
HOUR = 3600
SCOPED = deliver.CredentialMode(deliver.CredentialKind.SCOPED)
BOUNDED = deliver.CredentialMode(
    deliver.CredentialKind.SCOPED, expires_after=HOUR
)
RBAC = "rbac.authorization.k8s.io"
SCHEMA = json.loads(
    pathlib.Path("doc/source/reference/delivery.schema.json").read_text()
)
ADMIN = Kubeconfig(
    where="test",
    server=ENDPOINT,
    context="site-a-admin@site-a",
    cluster_name="site-a",
    user_name="site-a-admin",
    ca="-----BEGIN CERTIFICATE-----\n",
    token="planted-admin-token",
)


def fill_tokens(cluster, obj):
    """Play the controller that fills Secrets of an account's token."""
    if obj.get("type") == "kubernetes.io/service-account-token":
        if obj.get("data", {}).get("token"):
            return
        uid = obj["metadata"]["annotations"][
            "kubernetes.io/service-account.uid"
        ]
        token = base64.b64encode(f"token-of-{uid}".encode()).decode()
        cluster.patch(
            ObjectRef.of(obj), {"data": {"token": token}}, "controller"
        )


def role(name):
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
    }


class Workload(FakeCluster):
    """A workload cluster; counts how often its connection was closed."""

    def __init__(self, controller=fill_tokens, idle=lambda seconds: None):
        super().__init__(controller, idle)
        for name in ("cluster-admin", "view"):
            self.apply(role(name), "t")
        self.sent.clear()
        self.asked_tokens = []
        self.refusals = 0
        self.paused = []

    @property
    def way(self):
        return WorkloadClients(
            lambda admin: self, self.token, self.ask, self.paused.append
        )

    def ask(self, kubeconfig, deadline):
        """Play a server whose view is a little older."""
        if self.refusals:
            self.refusals -= 1
            raise errors.Unauthenticated(ENDPOINT, kubeconfig.where)

    def made(self):
        """What the namespace holds for the access of the receiver."""
        return {
            ref.kind: stored.obj
            for ref, stored in self.world.objects.items()
            if CREDENTIAL_RECEIVER in stored.obj["metadata"].get("labels", {})
        }

    def token(self, kubeconfig, account, seconds, deadline):
        """Play TokenRequest: a token has its expiry."""
        self.asked_tokens.append((kubeconfig.token, account, seconds))
        end = int(NOW) + seconds + len(self.asked_tokens)
        claims = base64.urlsafe_b64encode(json.dumps({"exp": end}).encode())
        return f"e30.{claims.decode().rstrip('=')}.c2ln"


@pytest.fixture
def workload_clients():
    return Workload()


@pytest.fixture
def cluster():
    """A management cluster with one instance, which owns one Cluster."""
    fake = FakeCluster()
    version = {
        "name": "v1beta2",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    fake.apply(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "clusters.cluster.x-k8s.io"},
            "spec": {
                "group": "cluster.x-k8s.io",
                "scope": "Namespaced",
                "names": {"kind": "Cluster", "plural": "clusters"},
                "versions": [version],
            },
        },
        "t",
    )
    made = fake.apply(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": "site-a", "namespace": "default"},
            "spec": {},
        },
        "t",
    ).obj
    value = base64.b64encode(ADMIN.to_yaml().encode()).decode()
    fake.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "site-a-kubeconfig", "namespace": "default"},
            "data": {"value": value},
        },
        "t",
    )
    owned = {SITE: made["metadata"]["uid"]}
    store.write(fake, Inventory(ID, "default", owned=owned), None)
    return fake


@pytest.fixture
def sent_messages():
    return SentMessages()


@pytest.fixture
def delivery(workload_clients, sent_messages):
    """How to deliver to the workload cluster of the test."""

    def made(access=SCOPED, receiver=RECEIVER, now=NOW, **settings):
        return deliver.Delivery(
            receiver,
            access=access,
            check_api=lambda kubeconfig, deadline: None,
            post=settings.pop("post", sent_messages),
            workload_clients=workload_clients.way,
            now=lambda: now,
            **settings,
        )

    return made


@pytest.fixture
def delivered(cluster, delivery):
    def run(*arguments, **settings):
        return deliver.deliver(
            cluster,
            ID,
            delivery(*arguments, **settings),
            deadline=Deadline.after(60),
        )

    return run


@pytest.fixture
def withdrawn(cluster, delivery, workload_clients):
    def run(*arguments, **settings):
        return deliver.withdraw(
            cluster,
            ID,
            delivery(*arguments, **settings),
            workload_clients=workload_clients.way,
            deadline=Deadline.after(60),
        )

    return run


def receipts(cluster):
    entry = store.read(cluster, ID, "default")
    return [deliver.Receipt.of(item) for item in entry.inventory.receipts]


# -- Making it ---------------------------------------------------------------


def test_the_account_is_bound_and_has_a_token(
    cluster, delivered, sent_messages, workload_clients
):
    """A VIM can be registered with what is delivered."""
    [receipt] = delivered()

    [message] = sent_messages.messages
    jsonschema.validate(message, SCHEMA)
    data = message["data"]
    made = workload_clients.made()
    token = f"token-of-{made['ServiceAccount']['metadata']['uid']}"
    assert ("scoped", "cluster-admin", token, True, None) == (
        data["credential"],
        data["role"],
        data["bearerToken"],
        data["vimRegistrable"],
        data["expires"],
    )
    assert (ENDPOINT, ADMIN.ca) == (
        data["apiServer"],
        data["certificateAuthority"],
    )
    assert token in data["kubeconfig"]
    assert ADMIN.token not in sent_messages.bodies[0].decode()
    place = f"tacker-k8s-cr-{data['cluster']['uid']}"
    name = f"tacker-k8s-cr-{RECEIVER.id}"
    assert {
        "Namespace",
        "ServiceAccount",
        "Secret",
        "ClusterRoleBinding",
    } == set(made)
    assert {ID} == {
        one["metadata"]["labels"][CREDENTIAL_RECEIVER] for one in made.values()
    }
    assert {
        "Namespace": place,
        "ServiceAccount": name,
        "Secret": name,
        "ClusterRoleBinding": f"{place}-{RECEIVER.id}",
    } == {kind: one["metadata"]["name"] for kind, one in made.items()}
    binding = made["ClusterRoleBinding"]
    assert "cluster-admin" == binding["roleRef"]["name"]
    assert [
        {"kind": "ServiceAccount", "namespace": place, "name": name}
    ] == binding["subjects"]
    assert ("scoped", "cluster-admin", "") == (
        receipt.credential,
        receipt.role,
        receipt.expires,
    )
    assert token not in json.dumps(receipt.as_dict())


def test_a_repeat_creates_nothing_and_sends_nothing(
    delivered, sent_messages, workload_clients
):
    """The same account has the same token."""
    first = delivered()
    before = workload_clients.made()

    assert first == delivered()
    assert before == workload_clients.made()
    assert 1 == len(sent_messages.bodies)


@pytest.mark.parametrize("expires_after", [0, HOUR])
def test_another_role_is_bound_instead_of_the_former(
    cluster, delivered, sent_messages, workload_clients, expires_after
):
    """The server does not let a binding refer to another role.

    The receiver is notified of the permissions that the credential has now.
    """
    wide = deliver.CredentialMode(
        deliver.CredentialKind.SCOPED, expires_after=expires_after
    )
    narrow = dataclasses.replace(wide, role="view")
    delivered(wide)

    delivered(narrow)
    delivered(narrow)

    assert (
        "view"
        == workload_clients.made()["ClusterRoleBinding"]["roleRef"]["name"]
    )
    assert ["cluster-admin", "view"] == [
        message["data"]["role"] for message in sent_messages.messages
    ]
    assert ["view"] == [receipt.role for receipt in receipts(cluster)]


def test_an_absent_role_is_named(delivered, sent_messages, workload_clients):
    """Nothing is made for it."""
    with pytest.raises(errors.RequestInvalid, match="no ClusterRole absent"):
        delivered(
            deliver.CredentialMode(deliver.CredentialKind.SCOPED, "absent")
        )

    assert {} == workload_clients.made()
    assert [] == sent_messages.bodies


def test_a_server_may_accept_its_token_with_a_delay(
    delivered, sent_messages, workload_clients
):
    """It is asked again, and then the credential is handed on."""
    workload_clients.refusals = 3

    delivered()

    assert 3 == len(workload_clients.paused)
    assert 1 == len(sent_messages.bodies)


def test_a_credential_that_its_server_never_accepts_is_not_delivered(
    cluster, sent_messages, workload_clients
):
    """Waiting does not fix the cause."""
    workload_clients.refusals = 1000
    clock = [0.0]

    def pause(seconds):
        clock[0] += seconds

    delivery = deliver.Delivery(
        RECEIVER,
        access=SCOPED,
        post=sent_messages,
        workload_clients=dataclasses.replace(
            workload_clients.way, pause=pause
        ),
    )

    with pytest.raises(errors.KubeconfigInvalid, match="it is not accepted"):
        deliver.deliver(
            cluster,
            ID,
            delivery,
            deadline=Deadline.after(60, lambda: clock[0]),
        )

    assert 30 <= clock[0] < 31
    assert [] == sent_messages.bodies


def test_renewing_revokes_the_former_token(
    delivered, sent_messages, workload_clients
):
    """The account is another one, so that no former token is good."""
    delivered()
    before = workload_clients.made()["ServiceAccount"]["metadata"]["uid"]

    delivered(renew=True)

    after = workload_clients.made()["ServiceAccount"]["metadata"]["uid"]
    assert before != after
    assert [f"token-of-{before}", f"token-of-{after}"] == [
        message["data"]["bearerToken"] for message in sent_messages.messages
    ]


def test_renewing_for_one_receiver_leaves_the_other_its_token(
    delivered, sent_messages, workload_clients
):
    """Each has an account of its own."""
    delivered()
    delivered(receiver=OTHER)
    first, second = (
        message["data"]["bearerToken"] for message in sent_messages.messages
    )
    assert first != second

    delivered(receiver=OTHER, renew=True)

    accounts = [
        stored.obj["metadata"]
        for ref, stored in workload_clients.world.objects.items()
        if ref.kind == "ServiceAccount"
    ]
    tokens = {f"token-of-{account['uid']}" for account in accounts}
    assert {first, sent_messages.messages[-1]["data"]["bearerToken"]} == tokens
    assert second not in tokens


# -- Another mode ------------------------------------------------------------

ADMINS = deliver.CredentialMode()


def test_a_scoped_credential_is_revoked_when_another_takes_its_place(
    cluster, delivered, sent_messages, workload_clients
):
    """Once the receiver has the administrator's, and once only."""
    delivered()

    [receipt] = delivered(ADMINS)

    assert ["scoped", "admin"] == [
        message["data"]["credential"] for message in sent_messages.messages
    ]
    assert {} == workload_clients.made()
    assert [receipt] == receipts(cluster)
    workload_clients.sent.clear()
    assert (receipt,) == delivered(ADMINS)
    assert [] == workload_clients.sent


def test_what_could_not_be_revoked_stays_noted(
    cluster, delivered, withdrawn, sent_messages, workload_clients, caplog
):
    """The next operation tries again, and so does the end."""
    delivered()
    workload_clients.fail(errors.Unreachable(ENDPOINT, "connection refused"))
    delivered(ADMINS)
    assert "was not revoked" in caplog.text
    assert "ServiceAccount" in workload_clients.made()
    assert [True] == [receipt.unrevoked for receipt in receipts(cluster)]

    delivered(ADMINS)

    assert {} == workload_clients.made()
    assert 2 == len(sent_messages.bodies)


def test_the_end_revokes_what_a_change_of_mode_could_not(
    delivered, withdrawn, workload_clients
):
    """Though the last receipt is for the administrator's."""
    delivered()
    workload_clients.fail(errors.Unreachable(ENDPOINT, "connection refused"))
    delivered(ADMINS)

    assert withdrawn(ADMINS)

    assert {} == workload_clients.made()


def test_an_account_is_recorded_before_it_is_created(
    cluster, delivered, workload_clients
):
    """An undelivered account is revoked too, whatever the settings are."""

    def away(receiver, body, deadline):
        raise errors.DeliveryFailed(receiver.shown, 0, "no answer in time")

    with pytest.raises(errors.DeliveryFailed):
        delivered(post=away)
    assert "ServiceAccount" in workload_clients.made()

    delivered(ADMINS)

    assert {} == workload_clients.made()


def test_a_revocation_leaves_the_account_of_another_receiver(
    delivered, workload_clients
):
    """And the namespace with it."""
    delivered()
    delivered(receiver=OTHER)

    delivered(ADMINS)

    made = workload_clients.made()
    assert {
        "Namespace",
        "ServiceAccount",
        "Secret",
        "ClusterRoleBinding",
    } == set(made)
    assert made["ServiceAccount"]["metadata"]["name"].endswith(OTHER.id)


def test_a_token_that_never_comes_is_named(cluster, sent_messages):
    """As in a cluster without that controller."""
    clock = [0.0]

    def idle(seconds):
        clock[0] += seconds

    far = Workload(controller=None, idle=idle)
    delivery = deliver.Delivery(
        RECEIVER,
        access=SCOPED,
        post=sent_messages,
        workload_clients=WorkloadClients(lambda admin: far),
    )

    with pytest.raises(errors.ReadinessTimeout) as caught:
        deliver.deliver(
            cluster,
            ID,
            delivery,
            deadline=Deadline.after(60, lambda: clock[0]),
        )

    assert "Secret/tacker-k8s-cr-" in str(caught.value)
    assert "no token yet" in str(caught.value)


def test_a_workload_cluster_out_of_reach_is_named(
    delivered, sent_messages, workload_clients
):
    """The error names the Secret by which we wanted to get there."""
    workload_clients.fail(errors.Unreachable(ENDPOINT, "connection refused"))

    with pytest.raises(errors.KubeconfigInvalid) as caught:
        delivered()

    assert "Secret/default/site-a-kubeconfig, key value" in str(caught.value)
    assert "connection refused" in str(caught.value)
    assert "planted" not in str(caught.value)
    assert [] == sent_messages.bodies


# -- Tokens that end ---------------------------------------------------------


def test_a_bounded_token_has_its_expiry(
    delivered, sent_messages, workload_clients
):
    """There is no Secret, and the message has the time."""
    [receipt] = delivered(BOUNDED)

    [message] = sent_messages.messages
    jsonschema.validate(message, SCHEMA)
    assert "2023-11-14T23:13:21Z" == message["data"]["expires"]
    assert "2023-11-14T23:13:21Z" == receipt.expires
    [(credential, account, seconds)] = workload_clients.asked_tokens
    assert (ADMIN.token, "ServiceAccount", HOUR) == (
        credential,
        account.kind,
        seconds,
    )
    assert "Secret" not in workload_clients.made()


@pytest.mark.parametrize(
    ("later", "tokens"), [(0, 1), (HOUR * 0.8, 1), (HOUR * 0.95, 2), (9e4, 2)]
)
def test_a_bounded_token_is_renewed_before_it_expires(
    delivered, sent_messages, workload_clients, later, tokens
):
    """A repeat brings one where less than a tenth of its time is left."""
    delivered(BOUNDED)

    delivered(BOUNDED, now=NOW + later)

    assert (
        tokens
        == len(workload_clients.asked_tokens)
        == len(sent_messages.bodies)
    )


def test_a_token_of_a_recreated_account_is_requested_again(
    delivered, sent_messages, workload_clients
):
    """A client revoked it; a repeated delivery has a valid one."""
    delivered(BOUNDED)
    account = workload_clients.made()["ServiceAccount"]
    workload_clients.delete(ObjectRef.of(account), account["metadata"]["uid"])

    delivered(BOUNDED)

    assert 2 == len(sent_messages.bodies)


def test_a_permanent_token_is_deleted_when_a_bounded_one_is_requested(
    delivered, workload_clients
):
    """Two would be one too many."""
    delivered()

    delivered(BOUNDED)

    assert "Secret" not in workload_clients.made()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"role": ""}, "requires the name of a ClusterRole"),
        ({"expires_after": 599}, "at least 600 s, got 599"),
    ],
)
def test_an_impossible_expiry_is_refused_early(fields, said):
    """Before anything is made."""
    with pytest.raises(errors.RequestInvalid, match=said):
        deliver.CredentialMode(deliver.CredentialKind.SCOPED, **fields)


# -- The end -----------------------------------------------------------------


@pytest.mark.requirement("F7", "J5")
def test_a_termination_is_notified_and_the_account_deleted(
    cluster, delivered, withdrawn, sent_messages, workload_clients
):
    """Nothing of it stays in the workload cluster, and no receipt."""
    delivered()

    assert withdrawn()

    message = sent_messages.messages[-1]
    jsonschema.validate(message, SCHEMA)
    assert "workload-cluster.terminated" == message["type"]
    assert "token" not in sent_messages.bodies[-1].decode()
    assert {} == workload_clients.made()
    assert [] == receipts(cluster)


def test_the_administrators_credential_is_left_alone(
    delivered, withdrawn, sent_messages, workload_clients
):
    """It cannot be revoked; no request goes to the workload cluster."""
    delivered(deliver.CredentialMode())

    assert withdrawn(deliver.CredentialMode())

    assert [] == workload_clients.sent
    assert 2 == len(sent_messages.bodies)


def test_what_was_scoped_is_revoked_whatever_is_set_now(
    delivered, withdrawn, workload_clients
):
    """The receipt remembers."""
    delivered()

    assert withdrawn(deliver.CredentialMode())

    assert {} == workload_clients.made()


def test_an_unreachable_receiver_delays_nothing(
    cluster, delivered, withdrawn, workload_clients, caplog
):
    """It is logged, and the credential is revoked anyway."""
    delivered()

    def away(receiver, body, deadline):
        raise errors.DeliveryFailed(receiver.shown, 0, "no connection")

    assert not withdrawn(post=away)

    assert "terminate notification to" in caplog.text
    assert {} == workload_clients.made()
    assert 1 == len(receipts(cluster))


def test_an_unreachable_workload_cluster_delays_nothing(
    delivered, withdrawn, sent_messages, workload_clients, caplog
):
    """Its credentials end with it."""
    delivered()
    workload_clients.fail(errors.Unreachable(ENDPOINT, "connection refused"))

    assert not withdrawn()

    assert "was not revoked" in caplog.text
    assert "planted" not in caplog.text
    assert 2 == len(sent_messages.bodies)


def test_without_a_receiver_the_account_is_deleted_anyway(
    cluster, delivered, workload_clients
):
    """The options may have lost the URL since."""
    delivered()

    assert deliver.withdraw(
        cluster,
        ID,
        None,
        workload_clients=workload_clients.way,
        deadline=Deadline.after(60),
    )

    assert {} == workload_clients.made()


def test_an_instance_without_a_record_sends_no_notification(
    cluster, delivery, sent_messages
):
    """Terminating it again is not an error."""
    assert deliver.withdraw(
        cluster, "absent", delivery(), deadline=Deadline.after(60)
    )
    assert [] == sent_messages.bodies


def test_a_record_that_cannot_be_read_holds_nothing_up(
    cluster, withdrawn, caplog
):
    """Terminating will say it better."""
    cluster.fail(errors.Unreachable("https://mgmt", "connection refused"))

    assert not withdrawn()
    assert "terminate notification not sent" in caplog.text


def test_an_instance_that_lives_on_is_delivered_again(
    delivered, withdrawn, sent_messages, workload_clients
):
    """A termination may end early, and the instance be healed."""
    delivered()
    withdrawn()

    delivered()

    kinds = [
        message["type"].rpartition(".")[2]
        for message in sent_messages.messages
    ]
    assert ["kubeconfig", "terminated", "kubeconfig"] == kinds
    assert "ServiceAccount" in workload_clients.made()


def test_only_a_notified_receiver_loses_its_receipt(
    cluster, delivered, withdrawn
):
    """Another receiver, of an earlier setting, was not notified."""
    delivered(receiver=OTHER)
    delivered()

    withdrawn()

    assert [OTHER.id] == [receipt.receiver for receipt in receipts(cluster)]


def test_the_accounts_of_all_receivers_are_deleted(
    delivered, withdrawn, workload_clients
):
    """Those of the receivers in the settings at termination too."""
    delivered(receiver=OTHER)
    delivered()

    assert withdrawn()

    assert {} == workload_clients.made()


class Slow:
    """A receiver that takes all the time it is given, and then fails."""

    def __init__(self, error):
        self.error = error
        self.now = 0.0
        self.calls = 0

    def __call__(self, receiver, body, deadline):
        self.calls += 1
        self.now += deadline.remaining
        raise self.error

    def after(self, seconds):
        return Deadline.after(seconds, lambda: self.now)


@pytest.fixture
def five_clusters(cluster):
    """The instance owns four more Clusters, with kubeconfigs."""
    entry = store.read(cluster, ID, "default")
    owned = dict(entry.inventory.owned)
    value = base64.b64encode(ADMIN.to_yaml().encode()).decode()
    for name in "abcd":
        ref = SITE._replace(name=name)
        made = cluster.apply(
            {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "Cluster",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {},
            },
            "t",
        ).obj
        owned[ref] = made["metadata"]["uid"]
        place = {"name": f"{name}-kubeconfig", "namespace": "default"}
        cluster.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": place,
                "data": {"value": value},
            },
            "t",
        )
    after = dataclasses.replace(entry.inventory, owned=owned)
    store.write(cluster, after, entry)
    return owned


@pytest.mark.parametrize(
    ("status", "calls"), [(0, 1), (503, 1), (429, 1), (404, 5)]
)
def test_a_hanging_receiver_leaves_no_valid_credential(
    cluster, delivery, five_clusters, workload_clients, status, calls
):
    """Credentials are revoked first; one notice without answer is enough."""
    slow = Slow(errors.DeliveryFailed("https://hooks.example", status, "?"))
    deliver.deliver(cluster, ID, delivery(), deadline=slow.after(1000))
    assert "ServiceAccount" in workload_clients.made()

    assert not deliver.withdraw(
        cluster,
        ID,
        delivery(post=slow),
        workload_clients=workload_clients.way,
        deadline=slow.after(1000),
    )

    assert {} == workload_clients.made()
    assert calls == slow.calls


def test_a_hanging_cluster_leaves_time_for_the_others(
    cluster, delivery, five_clusters, workload_clients, sent_messages
):
    """And for the receiver: each has its share of half the time."""
    clock = Slow(None)
    deliver.deliver(cluster, ID, delivery(), deadline=clock.after(1000))
    reached = []

    def connect(admin):
        reached.append(admin)
        if len(reached) == 1:
            clock.now += 30
            raise errors.Unreachable(ENDPOINT, "no answer")
        return workload_clients

    assert not deliver.withdraw(
        cluster,
        ID,
        delivery(),
        workload_clients=dataclasses.replace(
            workload_clients.way, connect=connect
        ),
        deadline=clock.after(100),
    )

    kept = [
        ref
        for ref in workload_clients.world.objects
        if ref.kind == "ServiceAccount"
    ]
    assert 1 == len(kept)
    assert 5 == len(reached)
    assert 5 == sum(
        "terminated" in message["type"] for message in sent_messages.messages
    )


# -- Clusters that the instance owns no longer -------------------------------


@pytest.fixture
def pruned(cluster, delivered):
    """A Cluster that was delivered, and that a change then removed."""
    delivered()
    entry = store.read(cluster, ID, "default")
    after = dataclasses.replace(entry.inventory, owned={})
    store.write(cluster, after, entry)
    return entry.inventory.owned[SITE]


@pytest.mark.parametrize("secret", [True, False])
def test_the_receiver_is_notified_of_a_cluster_that_a_change_deleted(
    cluster, pruned, delivered, sent_messages, workload_clients, secret
):
    """Once, by the hook after the change; what it had is revoked."""
    place = ObjectRef("", "Secret", "default", "site-a-kubeconfig")
    if not secret:
        cluster.delete(place, cluster.get(place)["metadata"]["uid"])

    assert () == delivered()
    assert () == delivered()

    [_, message] = sent_messages.messages
    jsonschema.validate(message, SCHEMA)
    assert ("workload-cluster.terminated", "site-a", pruned) == (
        message["type"],
        message["data"]["cluster"]["name"],
        message["data"]["cluster"]["uid"],
    )
    assert [] == receipts(cluster)
    assert secret == (not workload_clients.made())


def test_a_failed_notification_is_repeated_at_termination(
    cluster, pruned, delivered, withdrawn, sent_messages
):
    """The receipt stays until it is, and the hook does not fail."""

    def away(receiver, body, deadline):
        raise errors.DeliveryFailed(receiver.shown, 0, "no connection")

    delivered(post=away)
    assert 1 == len(receipts(cluster))

    assert withdrawn()

    assert "workload-cluster.terminated" == sent_messages.messages[-1]["type"]
    assert [] == receipts(cluster)


def test_a_recreated_cluster_is_another(
    cluster, delivered, sent_messages, workload_clients
):
    """The receiver is notified of the end of one, and of the new one."""
    delivered(ADMINS)
    entry = store.read(cluster, ID, "default")
    cluster.delete(SITE, entry.inventory.owned[SITE])
    made = cluster.apply(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": "site-a", "namespace": "default"},
            "spec": {},
        },
        "t",
    ).obj
    owned = {SITE: made["metadata"]["uid"]}
    after = dataclasses.replace(entry.inventory, owned=owned)
    store.write(cluster, after, entry)

    [receipt] = delivered(ADMINS)

    assert [(SITE, made["metadata"]["uid"])] == [
        found.cluster_ref for found in receipts(cluster)
    ]
    assert receipt.uid == made["metadata"]["uid"]
    kinds = [
        message["type"].rpartition(".")[2]
        for message in sent_messages.messages
    ]
    assert ["kubeconfig", "terminated", "kubeconfig"] == kinds


def test_a_removed_receiver_gets_no_notification(
    cluster, pruned, delivered, sent_messages
):
    """Its receipt does not stay for ever."""
    delivered(receiver=OTHER)

    assert 1 == len(sent_messages.bodies)
    assert [] == receipts(cluster)


@pytest.mark.parametrize(
    ("fields", "good"),
    [
        ({}, True),
        ({"expires": ""}, False),
        ({"role": "view"}, False),
        ({"credential": "admin"}, False),
        ({"expires": "2023-11-14T22:13:21Z"}, False),
    ],
)
def test_only_a_token_of_the_same_kind_lasts(fields, good):
    """Other settings want another credential."""
    receipt = deliver.Receipt(
        **{
            "cluster": SITE,
            "url": "u",
            "receiver": "r",
            "message": "m",
            "fingerprint": "f",
            "at": "2023-11-14T22:13:20Z",
            "credential": "scoped",
            "role": "cluster-admin",
            "expires": "2023-11-14T23:13:20Z",
            **fields,
        }
    )
    now = datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc)

    assert good is deliver.deliver_cluster.is_token_still_valid(
        receipt, BOUNDED, now
    )
