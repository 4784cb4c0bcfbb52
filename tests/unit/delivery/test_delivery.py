"""A workload cluster's kubeconfig, from its Secret to a receipt.

The objects are written by hand in the form in which Cluster API v1.14 and
its kubeadm control plane write them; certificates are made for the test.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
import jsonschema
import pytest

from tacker_k8s_cr import delivery as deliver
from tacker_k8s_cr.delivery import kubeconfig_secret
from tacker_k8s_cr.delivery import message
from tacker_k8s_cr.delivery import receipt as receipts
from tacker_k8s_cr.delivery import webhook
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
SECRET = ObjectRef("", "Secret", "default", "site-a-kubeconfig")
ENDPOINT = "https://192.0.2.10:6443"
RECEIVER = webhook.Receiver("https://hooks.example/kubeconfigs?tenant=a")
NOW = 1_700_000_000.0
ENDS = datetime.datetime(2027, 11, 21, tzinfo=datetime.timezone.utc)
SCHEMA = json.loads(
    pathlib.Path("doc/source/reference/delivery.schema.json").read_text()
)


@pytest.fixture(scope="module")
def certificate():
    """A client certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [x509.NameAttribute(x509.NameOID.COMMON_NAME, "kubernetes-admin")]
    )
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(ENDS - datetime.timedelta(days=365))
        .not_valid_after(ENDS)
        .sign(key, hashes.SHA256())
    )
    return (
        made.public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode(),
    )


@pytest.fixture
def admin(certificate):
    """As the kubeadm control plane writes it."""
    return Kubeconfig(
        where="test",
        server=ENDPOINT,
        context="site-a-admin@site-a",
        cluster_name="site-a",
        user_name="site-a-admin",
        ca=certificate[0],
        client_certificate=certificate[0],
        client_key=certificate[1],
    )


def definition(group, kind, plural):
    version = {
        "name": "v1beta2",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [version],
        },
    }


def workload(host="192.0.2.10", port=6443, **spec):
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "site-a", "namespace": "default"},
        "spec": {
            "controlPlaneEndpoint": {"host": host, "port": port},
            "controlPlaneRef": {
                "apiGroup": "controlplane.cluster.x-k8s.io",
                "kind": "KubeadmControlPlane",
                "name": "site-a",
            },
            **spec,
        },
    }


CONTROL_PLANE = {
    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
    "kind": "KubeadmControlPlane",
    "metadata": {"name": "site-a", "namespace": "default"},
    "spec": {"version": "v1.35.0"},
}


def secret_of(text, **metadata):
    labels = {"cluster.x-k8s.io/cluster-name": "site-a"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "site-a-kubeconfig",
            "namespace": "default",
            "labels": labels,
            **metadata,
        },
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": base64.b64encode(text.encode()).decode()},
    }


class Clock:
    """A clock that moves on when the fake cluster has nothing to show."""

    def __init__(self):
        self.at = 0.0
        self.events = []
        """What happens a second after nothing was left to show."""

    def __call__(self):
        return self.at

    def idle(self, seconds):
        if self.events:
            self.at += 1
            self.events.pop(0)()
        else:
            self.at += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cluster(clock):
    """A management cluster with one instance, which owns one Cluster."""
    fake = FakeCluster(idle=clock.idle)
    fake.apply(definition("cluster.x-k8s.io", "Cluster", "clusters"), "t")
    fake.apply(
        definition(
            "controlplane.cluster.x-k8s.io",
            "KubeadmControlPlane",
            "kubeadmcontrolplanes",
        ),
        "t",
    )
    made = fake.apply(workload(), "t").obj
    fake.apply(CONTROL_PLANE, "t")
    owned = {SITE: made["metadata"]["uid"]}
    store.write(fake, Inventory(ID, "default", owned=owned), None)
    return fake


@pytest.fixture
def sent_messages():
    return SentMessages()


@pytest.fixture
def delivered(cluster, clock, sent_messages):
    """Deliver for the instance; probes are answered unless one is given."""

    def run(seconds=60, ask=lambda kubeconfig, deadline: None, **settings):
        delivery = deliver.Delivery(
            settings.pop("receiver", RECEIVER),
            check_api=ask,
            post=settings.pop("post", sent_messages),
            now=lambda: NOW,
            **settings,
        )
        return deliver.deliver(
            cluster, ID, delivery, deadline=Deadline.after(seconds, clock)
        )

    return run


# -- The messages -------------------------------------------------------------


@pytest.mark.requirement("TK-15", "P24")
def test_the_message_has_all_that_a_vim_needs(
    cluster, delivered, sent_messages, admin
):
    """Endpoint, CA, credential, version, expiry and fingerprint."""
    cluster.apply(secret_of(admin.to_yaml()), "t")

    delivered()

    [body] = sent_messages.bodies
    jsonschema.validate(json.loads(body), SCHEMA)
    [data] = sent_messages.data
    assert {
        "vnfInstanceId": ID,
        "cluster": {
            "name": "site-a",
            "namespace": "default",
            "uid": cluster.get(SITE)["metadata"]["uid"],
        },
        "credential": "admin",
        "role": None,
        "apiServer": ENDPOINT,
        "certificateAuthority": admin.ca,
        "bearerToken": None,
        "kubeconfig": admin.to_yaml(),
        "kubernetesVersion": "v1.35.0",
        "expires": "2027-11-21T00:00:00Z",
        "fingerprint": admin.fingerprint,
        "vimRegistrable": False,
        "vimRegistrableReason": "a Kubernetes VIM needs a bearer token, and "
        "this is by client certificate",
    } == data


@pytest.mark.requirement("TK-15")
def test_a_token_can_be_registered_as_a_vim(admin):
    """With a bearer token nothing stands against it."""
    token = dataclasses.replace(
        admin, client_certificate="", client_key="", token="t"
    )

    told = json.loads(message.issued_message(ID, _stored(), token))

    jsonschema.validate(told, SCHEMA)
    assert (True, None, None, None) == (
        told["data"]["vimRegistrable"],
        told["data"]["vimRegistrableReason"],
        told["data"]["expires"],
        told["data"]["kubernetesVersion"],
    )


def test_a_terminate_notification_has_no_credential():
    """It names the instance and the cluster that no longer exists."""
    told = json.loads(message.terminated_message(ID, SITE, "u-1"))

    jsonschema.validate(told, SCHEMA)
    assert {
        "type": "workload-cluster.terminated",
        "version": 2,
        "data": {
            "vnfInstanceId": ID,
            "cluster": {
                "name": "site-a",
                "namespace": "default",
                "uid": "u-1",
            },
        },
    } == told


def test_the_same_content_is_the_same_message(admin):
    """So its id is the same, however often it is made."""
    assert message.issued_message(
        ID, _stored(), admin
    ) == message.issued_message(ID, _stored(), admin)


def test_a_recreated_cluster_is_another_one():
    """Its termination does not repeat that of the cluster before it."""
    assert message.terminated_message(
        ID, SITE, "u-1"
    ) != message.terminated_message(ID, SITE, "u-2")


def _stored(uid="u-1"):
    made = workload()
    return {**made, "metadata": {**made["metadata"], "uid": uid}}


@pytest.mark.parametrize(
    ("changes", "version"),
    [
        ({"topology": {"class": "c", "version": "v1.36.0"}}, "v1.36.0"),
        ({"controlPlaneRef": None}, None),
        (
            {
                "controlPlaneRef": {
                    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1",
                    "kind": "KubeadmControlPlane",
                    "name": "site-a",
                }
            },
            "v1.35.0",
        ),
        (
            {
                "controlPlaneRef": {
                    "apiGroup": "unheard.example.org",
                    "kind": "Managed",
                    "name": "site-a",
                }
            },
            None,
        ),
    ],
)
@pytest.mark.requirement("P13")
def test_the_version_is_sent_where_it_is_known(
    cluster, delivered, sent_messages, admin, changes, version
):
    """By the topology, or any control plane, in both contracts."""
    cluster.apply(workload(**changes), "t")
    cluster.apply(secret_of(admin.to_yaml()), "t")

    delivered()

    assert version == sent_messages.data[0]["kubernetesVersion"]


# -- The Secret --------------------------------------------------------------


@pytest.mark.requirement("TK-13")
def test_a_secret_that_is_late_is_waited_for(
    cluster, clock, delivered, sent_messages, admin
):
    """The watch brings it; nothing is asked for meanwhile."""

    def made():
        cluster.apply(secret_of(admin.to_yaml()), "t")

    clock.events.append(made)

    delivered()

    assert 1 == len(sent_messages.bodies)
    assert 1 == clock.at


def test_a_secret_without_the_label_is_found(
    cluster, clock, delivered, sent_messages, admin
):
    """One that a person made is looked for by its name, at the end too."""

    def made():
        cluster.apply(secret_of(admin.to_yaml(), labels={}), "t")

    clock.events.append(made)

    found = kubeconfig_secret.wait_for_kubeconfig_secret(
        cluster, SITE, Deadline.after(60, clock)
    )

    assert SECRET == ObjectRef.of(found)


def test_a_secret_that_never_comes_is_named(delivered, sent_messages):
    """The error names the Secret, and whose it is."""
    with pytest.raises(errors.ReadinessTimeout) as caught:
        delivered()

    assert (
        "1 object(s) not current after 60 s:\n"
        "  Secret/default/site-a-kubeconfig: in progress: does not exist; "
        "Cluster.cluster.x-k8s.io/default/site-a stores its kubeconfig in it "
        "(for 60 s)"
    ) == caught.value.outcome()
    assert [] == sent_messages.bodies


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "it has no key value; its keys: none"),
        ({"ca.crt": "", "tls": ""}, "it has no key value; its keys: ca.crt"),
        ({"value": "p1anted!"}, ", key value: it is not text in base64"),
        ({"value": "/w=="}, ", key value: it is not text in base64"),
        ({"value": ""}, ", key value: it is not a kubeconfig"),
        ({"value": "cDFhbnRlZA=="}, ", key value: it is not a kubeconfig"),
        ({"value": "cDFhbnRlZDogWw=="}, ", key value: it is not YAML"),
    ],
)
def test_a_secret_without_a_kubeconfig_is_named(
    cluster, delivered, sent_messages, data, said
):
    """Secret and key are named, and nothing of the content is shown."""
    cluster.apply({**secret_of(""), "data": data}, "t")

    with pytest.raises(errors.KubeconfigInvalid) as caught:
        delivered()

    assert "Secret/default/site-a-kubeconfig" in str(caught.value)
    assert said in str(caught.value)
    assert "p1anted" not in str(caught.value)
    assert [] == sent_messages.bodies


@pytest.mark.requirement("P24")
def test_a_kubeconfig_with_a_command_is_refused(
    cluster, delivered, sent_messages
):
    """A Secret may not make us, or the receiver, run anything."""
    text = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [
                {"name": "c", "context": {"cluster": "a", "user": "u"}}
            ],
            "clusters": [{"name": "a", "cluster": {"server": ENDPOINT}}],
            "users": [{"name": "u", "user": {"exec": {"command": "p1anted"}}}],
        }
    )
    cluster.apply(secret_of(text), "t")

    with pytest.raises(errors.KubeconfigInvalid, match="exec") as caught:
        delivered()

    assert "Secret/default/site-a-kubeconfig, key value" in str(caught.value)
    assert "p1anted" not in str(caught.value)
    assert [] == sent_messages.bodies


@pytest.mark.parametrize(
    "changes", [{"insecure": True}, {"server": "http://192.0.2.10:6443"}]
)
@pytest.mark.requirement("P24")
def test_a_kubeconfig_without_verification_is_refused(
    cluster, delivered, admin, changes
):
    """No receiver gets a credential that is sent to any server."""
    text = dataclasses.replace(admin, **changes).to_yaml()
    cluster.apply(secret_of(text), "t")

    with pytest.raises(errors.KubeconfigInvalid, match="does not verify"):
        delivered()


@pytest.mark.requirement("P24")
def test_a_kubeconfig_for_another_server_is_refused(
    cluster, delivered, sent_messages, admin
):
    """Server and endpoint of the Cluster must be the same."""
    text = dataclasses.replace(
        admin, server="https://192.0.2.66:6443"
    ).to_yaml()
    cluster.apply(secret_of(text), "t")

    with pytest.raises(errors.KubeconfigInvalid) as caught:
        delivered()

    assert (
        "Secret/default/site-a-kubeconfig, key value: its server is "
        "https://192.0.2.66:6443, and Cluster.cluster.x-k8s.io/default/site-a "
        "has the endpoint 192.0.2.10:6443"
    ) == caught.value.outcome()
    assert [] == sent_messages.bodies


@pytest.mark.parametrize(
    ("server", "host", "port"),
    [
        ("https://api.example:6443", "API.example", 6443),
        ("https://api.example", "api.example", 443),
        ("https://[2001:db8::1]:6443", "2001:db8::1", 6443),
        (ENDPOINT, "", 0),
    ],
)
def test_the_same_server_may_be_written_otherwise(admin, server, host, port):
    """Case, brackets and a port left out make no difference."""
    found = dataclasses.replace(admin, server=server)

    assert None is kubeconfig_secret.check_endpoint(
        found, workload(host, port)
    )


# -- The probe ---------------------------------------------------------------


def fails(kubeconfig, deadline):
    raise errors.Unreachable(kubeconfig.server, "connection refused")


def test_a_probe_that_fails_ends_it(cluster, delivered, sent_messages, admin):
    """Nothing is posted; the error names Secret, key, server and cause."""
    cluster.apply(secret_of(admin.to_yaml()), "t")

    with pytest.raises(errors.KubeconfigInvalid) as caught:
        delivered(ask=fails)

    assert (
        "Secret/default/site-a-kubeconfig, key value: the check of the "
        f"API failed: the API server {ENDPOINT} cannot be reached: connection "
        "refused"
    ) == caught.value.outcome()
    assert [] == sent_messages.bodies


def test_an_optional_api_check_logs_a_warning(
    cluster, delivered, sent_messages, admin, caplog
):
    """With try the message is sent, and the log has the cause."""
    cluster.apply(secret_of(admin.to_yaml()), "t")

    delivered(ask=fails, api_check=deliver.ApiCheck.TRY)

    assert 1 == len(sent_messages.bodies)
    assert "connection refused" in caplog.text


def test_a_probe_that_may_fail_is_brief(cluster, delivered, admin):
    """It has ten seconds of the whole time."""
    cluster.apply(secret_of(admin.to_yaml()), "t")
    left = []

    delivered(
        ask=lambda kubeconfig, deadline: left.append(deadline.remaining),
        api_check=deliver.ApiCheck.TRY,
    )

    assert [10.0] == left


def test_the_api_check_can_be_skipped(
    cluster, delivered, sent_messages, admin
):
    """With skip no request is sent."""
    cluster.apply(secret_of(admin.to_yaml()), "t")

    delivered(ask=fails, api_check=deliver.ApiCheck.SKIP)

    assert 1 == len(sent_messages.bodies)


# -- Receipts ----------------------------------------------------------------


def stored_receipts(cluster):
    entry = store.read(cluster, ID, "default")
    return [
        deliver.Receipt.of(item)
        for item in json.loads(json.dumps(entry.inventory.receipts))
    ]


@pytest.mark.requirement("TK-19")
def test_a_receipt_is_stored_in_the_record(
    cluster, delivered, sent_messages, admin
):
    """It has content, receiver and time, and no credential."""
    cluster.apply(secret_of(admin.to_yaml()), "t")

    [found] = delivered()

    assert (
        deliver.Receipt(
            cluster=SITE,
            url="https://hooks.example/kubeconfigs",
            receiver=RECEIVER.id,
            message=webhook.message_id(sent_messages.bodies[0]),
            fingerprint=admin.fingerprint,
            at="2023-11-14T22:13:20Z",
            credential="admin",
            role="",
            expires="2027-11-21T00:00:00Z",
            uid=cluster.get(SITE)["metadata"]["uid"],
        )
        == found
    )
    assert [found] == stored_receipts(cluster)
    assert admin.client_key not in json.dumps(found.as_dict())


@pytest.mark.requirement("J3")
def test_the_same_is_not_sent_twice(cluster, delivered, sent_messages, admin):
    """A second call finds the receipt, and neither probes nor posts."""
    cluster.apply(secret_of(admin.to_yaml()), "t")
    first = delivered()

    assert first == delivered(ask=fails)
    assert 1 == len(sent_messages.bodies)


def test_another_receiver_gets_it_too(
    cluster, delivered, sent_messages, admin
):
    """A receipt counts for the one who took it."""
    cluster.apply(secret_of(admin.to_yaml()), "t")
    delivered()
    other = webhook.Receiver("https://hooks.example/kubeconfigs?tenant=b")

    delivered(receiver=other)

    assert 2 == len(sent_messages.bodies)
    assert {RECEIVER.id, other.id} == {
        item.receiver for item in stored_receipts(cluster)
    }


@pytest.mark.requirement("P24", "I9", "J5")
def test_a_renewed_credential_is_sent(
    cluster, delivered, sent_messages, admin
):
    """Other content is another message; its receipt replaces the former."""
    cluster.apply(secret_of(admin.to_yaml()), "t")
    delivered()
    renewed = dataclasses.replace(admin, token="new", client_certificate="")
    cluster.apply(secret_of(renewed.to_yaml()), "t")

    delivered()

    assert 2 == len(sent_messages.bodies)
    assert [renewed.fingerprint] == [
        item.fingerprint for item in stored_receipts(cluster)
    ]


def test_an_upgrade_is_not_a_new_credential(
    cluster, delivered, sent_messages, admin
):
    """The message would be another one, and what is in it is known."""
    cluster.apply(secret_of(admin.to_yaml()), "t")
    first = delivered()
    cluster.apply({**CONTROL_PLANE, "spec": {"version": "v1.36.0"}}, "t")

    assert first == delivered()
    assert 1 == len(sent_messages.bodies)


def test_a_rejected_message_leaves_no_receipt(cluster, delivered, admin):
    """A repeat sends it again, under the same id."""
    cluster.apply(secret_of(admin.to_yaml()), "t")

    def refuses(receiver, body, deadline):
        raise errors.DeliveryFailed(receiver.shown, 500, "out of order")

    with pytest.raises(errors.DeliveryFailed):
        delivered(post=refuses)

    assert [] == stored_receipts(cluster)


def test_an_instance_without_clusters_delivers_nothing(cluster, sent_messages):
    """There is nothing to deliver, which is not an error."""
    store.write(cluster, Inventory("other", "default"), None)

    assert () == deliver.deliver(
        cluster,
        "other",
        deliver.Delivery(RECEIVER, post=sent_messages),
        deadline=Deadline.never(),
    )


def test_an_instance_without_a_record_is_unknown(cluster, sent_messages):
    """Whose Clusters would it be?"""
    with pytest.raises(errors.InstanceNotFound):
        deliver.deliver(
            cluster,
            "absent",
            deliver.Delivery(RECEIVER, post=sent_messages),
            deadline=Deadline.never(),
        )


def test_only_the_last_receipt_of_each_is_kept():
    """The record does not grow with every renewal."""

    def receipt(message, receiver="r"):
        return deliver.Receipt(SITE, "u", receiver, message, "f", "t")

    assert (receipt("b"), receipt("c", "s")) == receipts.latest(
        [receipt("a"), receipt("b"), receipt("c", "s")]
    )
