"""The sample receiver, against a Tacker and a Keystone that are played.

A real Tacker is behind it in the end-to-end tests. Here stand-ins answer
over HTTP, so that what it sends is seen.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
import json
import pathlib
import subprocess
import sys
import threading

import pytest
from receiver import Receiver
from receiver import Refused
from receiver import check
from receiver import keys_of
from receiver import server
import requests
from vims import Keystone
from vims import Tacker

from tacker_k8s_cr import delivery
from tacker_k8s_cr.delivery import message
from tacker_k8s_cr.delivery import webhook
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef

KEY = base64.b64encode(b"a key of the tests, 28 bytes").decode()
OTHER = base64.b64encode(b"another key of 24 bytes!").decode()
NOW = 1_700_000_000
UID = "f0e7a2b4-93f1-4e58-a1c7-5b6d7e8f9a0b"
SITE = ObjectRef("cluster.x-k8s.io", "Cluster", "edge", "site-a")
TOKEN = "planted-token"
SCOPED = delivery.CredentialMode(delivery.CredentialKind.SCOPED)


def issued(token=TOKEN, access=SCOPED, **fields):
    """What our own sender would tell of a cluster."""
    found = Kubeconfig(
        where="test", server="https://192.0.2.1:6443", ca="CA", token=token
    )
    found = dataclasses.replace(found, **fields)
    workload = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": "site-a", "namespace": "edge", "uid": UID},
    }
    return message.issued_message("i-1", workload, found, access=access)


TERMINATED = message.terminated_message("i-1", SITE, UID)


def headers(body, key=KEY, at=NOW, id_=""):
    id_ = id_ or webhook.message_id(body)
    return {
        "webhook-id": id_,
        "webhook-timestamp": str(at),
        "webhook-signature": webhook.receiver.signature(key, id_, at, body),
    }


# -- What is played -----------------------------------------------------------


class Played:
    """Tacker's VIMs in memory, and a Keystone."""

    def __init__(self):
        self.vims = {}
        self.requests = []
        self.fail = 0

    def answer(self, method, path, headers, body):
        self.requests.append((method, path, headers, body))
        if self.fail:
            return self.fail, {"secret": "planted"}, {}
        if path.endswith("/auth/tokens"):
            return 201, {}, {"x-subject-token": "t0ken"}
        id_ = path.removeprefix("/v1.0/vims").strip("/")
        if method == "GET":
            return 200, {"vims": list(self.vims.values())}, {}
        if method == "DELETE":
            del self.vims[id_]
            return 204, None, {}
        id_ = id_ or f"vim-{len(self.vims)}"
        self.vims[id_] = {**self.vims.get(id_, {"id": id_}), **body["vim"]}
        return 201, {"vim": self.vims[id_]}, {}


@contextlib.contextmanager
def running(listening):
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}"
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


@pytest.fixture
def play_receiver():
    """Plays Tacker and Keystone; ``url`` is where."""
    found = Played()

    class Handler(BaseHTTPRequestHandler):
        def _do(self):
            size = int(self.headers.get("content-length", "0"))
            text = self.rfile.read(size)
            status, said, more = found.answer(
                self.command,
                self.path,
                {k.lower(): v for k, v in self.headers.items()},
                json.loads(text) if text else None,
            )
            answer = json.dumps(said).encode() if said is not None else b""
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def __getattr__(self, name):
            if name.startswith("do_"):
                return self._do
            raise AttributeError(name)

        def log_message(self, format, *arguments):
            """Say nothing."""

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        found.url = url
        yield found


@pytest.fixture
def receiver(play_receiver):
    tacker = Tacker(play_receiver.url, project="p-1")
    return Receiver(tacker, keys_of(KEY), now=lambda: NOW)


def take(receiver, body):
    return receiver.handle(headers(body), body)


# -- Signatures ---------------------------------------------------------------


@pytest.mark.parametrize("key", [KEY, OTHER])
def test_what_one_of_the_keys_signed_is_genuine(key):
    """While a key is being changed there are two."""
    body = TERMINATED

    assert None is check(
        headers(body, key), body, keys_of(f"whsec_{KEY}\n\n{OTHER}\n"), NOW
    )


@pytest.mark.parametrize(
    ("changes", "body", "said"),
    [
        ({}, b"{}", "no signature is valid"),
        ({"webhook-id": "msg_other"}, TERMINATED, "no signature is valid"),
        ({"webhook-signature": ""}, TERMINATED, "no signature is valid"),
        ({"webhook-signature": "v1,%%"}, TERMINATED, "no signature"),
        ({"webhook-signature": "v2,aaaa"}, TERMINATED, "no signature"),
        ({"webhook-timestamp": ""}, TERMINATED, "is not a number"),
        ({"webhook-timestamp": "\u0661"}, TERMINATED, "is not a number"),
        ({"webhook-timestamp": str(NOW - 301)}, TERMINATED, "differs by more"),
        ({"webhook-timestamp": str(NOW + 301)}, TERMINATED, "differs by more"),
        ({"webhook-timestamp": str(NOW + 1)}, TERMINATED, "no signature"),
    ],
)
def test_a_tampered_message_is_refused(changes, body, said):
    """Body, id, time and signature are held against each other."""
    sent = {**headers(TERMINATED), **changes}

    with pytest.raises(Refused, match=said) as caught:
        check(sent, body, keys_of(KEY), NOW)

    assert 401 == caught.value.status


# -- VIMs ---------------------------------------------------------------------


@pytest.mark.requirement("TK-15")
def test_a_cluster_becomes_a_vim(receiver, play_receiver):
    """With token, endpoint and CA; known again by its UID."""
    assert "VIM edge-site-a-f0e7a2b4 is registered" == take(receiver, issued())

    [vim] = play_receiver.vims.values()
    assert {
        "id": "vim-0",
        "type": "kubernetes",
        "name": "edge-site-a-f0e7a2b4",
        "description": f"workload cluster {UID} of VNF instance i-1",
        "auth_url": "https://192.0.2.1:6443",
        "vim_project": {"name": "default"},
        "auth_cred": {"bearer_token": "planted-token", "ssl_ca_cert": "CA"},
        "is_default": False,
        "tenant_id": "p-1",
    } == vim


def test_a_new_credential_is_put_into_the_vim(receiver, play_receiver):
    """Instances on it go on under the same VIM."""
    take(receiver, issued())

    said = take(receiver, issued("renewed"))

    assert "VIM edge-site-a-f0e7a2b4 has the new credential" == said
    [vim] = play_receiver.vims.values()
    assert "renewed" == vim["auth_cred"]["bearer_token"]


def test_the_vim_is_deleted_with_the_cluster(receiver, play_receiver):
    """And once it is deleted, nothing is left to do."""
    take(receiver, issued())

    assert "VIM edge-site-a-f0e7a2b4 is removed" == take(receiver, TERMINATED)
    assert {} == play_receiver.vims
    assert take(receiver, TERMINATED).startswith("there is no VIM")


def test_an_administrators_certificate_is_accepted_and_not_used(
    receiver, play_receiver
):
    """A VIM cannot have one; the reason has the credential of the sender."""
    body = issued("", delivery.CredentialMode(), username="u")

    assert "a Kubernetes VIM needs a bearer token" in take(receiver, body)
    assert [] == play_receiver.requests


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"[]", 400),
        (b"{", 400),
        (b'{"type": "workload-cluster.terminated"}', 400),
        (TERMINATED.replace(b'"version":2', b'"version":3'), 400),
    ],
)
def test_an_invalid_message_is_refused(receiver, text, status):
    """Permanently: it would not be valid when sent again."""
    with pytest.raises(Refused) as caught:
        take(receiver, text)

    assert status == caught.value.status


def test_another_kind_of_message_is_accepted(receiver, play_receiver):
    """Later versions of the sender may have more to tell."""
    other = TERMINATED.replace(b"terminated", b"painted")

    assert "is ignored" in take(receiver, other)


@pytest.mark.parametrize("status", [400, 409, 500])
def test_a_tacker_that_refuses_is_tried_again(receiver, play_receiver, status):
    """503 asks the sender to; nothing of the answer is repeated."""
    play_receiver.fail = status

    with pytest.raises(Refused, match=f"answered {status}") as caught:
        take(receiver, issued())

    assert 503 == caught.value.status
    assert "planted" not in str(caught.value)


def test_an_unreachable_tacker_is_tried_again():
    """No process listens on port 1."""
    away = Receiver(Tacker("http://127.0.0.1:1"), keys_of(KEY), lambda: NOW)

    with pytest.raises(Refused, match="refused") as caught:
        take(away, TERMINATED)

    assert 503 == caught.value.status


def test_the_token_comes_from_keystone(play_receiver):
    """With the environment of OpenStack's clients."""
    environ = {
        "OS_AUTH_URL": f"{play_receiver.url}/v3",
        "OS_USERNAME": "nfv",
        "OS_PASSWORD": "planted",
        "OS_PROJECT_NAME": "p",
        "OS_USER_DOMAIN_NAME": "D",
    }
    tacker = Tacker(play_receiver.url, Keystone(environ))

    assert None is tacker.find_vim(UID)

    (_, path, _, body), (_, _, sent, _) = play_receiver.requests
    assert ("/v3/auth/tokens", "t0ken") == (path, sent["x-auth-token"])
    user = body["auth"]["identity"]["password"]["user"]
    assert ("nfv", "planted", "D") == (
        user["name"],
        user["password"],
        user["domain"]["name"],
    )
    assert {"name": "p", "domain": {"name": "Default"}} == body["auth"][
        "scope"
    ]["project"]


# -- Over HTTP ----------------------------------------------------------------


@pytest.fixture
def listening(play_receiver):
    """The receiver as a server, and how our own sender finds it."""
    sample = Receiver(Tacker(play_receiver.url), keys_of(KEY))
    with running(server(sample, ("127.0.0.1", 0))) as url:
        yield lambda key: webhook.Receiver(url, (key,), allow_http=True)


def test_messages_of_the_package_are_accepted(listening, play_receiver):
    """Signed now, and posted."""
    taken = webhook.post(listening(KEY), issued(), Deadline.after(20))

    assert (204, 1) == (taken.status, taken.attempts)
    assert 1 == len(play_receiver.vims)


def test_another_key_is_refused_at_once(listening, play_receiver):
    """401 ends the sender's attempts."""
    with pytest.raises(errors.DeliveryFailed, match="no signature is valid"):
        webhook.post(listening(OTHER), issued(), Deadline.after(20))

    assert [] == play_receiver.requests


def test_a_message_without_a_length_is_refused(listening):
    """Nor is one read that is too long."""
    url = listening(KEY).url
    for more in ({}, {"content-length": str(2**30)}):
        answer = requests.post(url, headers=more, timeout=10)

        assert 413 == answer.status_code


def test_it_starts_as_a_program(tmp_path):
    """By the file's own path; a file without keys ends it."""
    key = tmp_path / "key"
    key.write_text("\n")
    path = pathlib.Path("samples/receiver/receiver.py").absolute()

    done = subprocess.run(
        [sys.executable, path, "--tacker", "http://h", "--key-file", key],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )

    assert 2 == done.returncode
    assert f"{key} has no key" in done.stderr
