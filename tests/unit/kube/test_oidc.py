"""Tokens of an OpenID provider, for a user name and a password."""

from __future__ import annotations

import base64
from collections.abc import Callable
from collections.abc import Iterator
import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import logging
import socket
import time
from typing import Any
import urllib.parse

import pytest

from tacker_k8s_cr.kube import connect
from tacker_k8s_cr.kube import oidc
from tacker_k8s_cr.kube import oidc_token
from tacker_k8s_cr.kube.http.http_model import Retryable
from tacker_k8s_cr.kube.kubeconfig import Kubeconfig
from tacker_k8s_cr.kube.kubeconfig import OidcUser
from tacker_k8s_cr.kube.oidc_token import OidcToken
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import KubeconfigInvalid
from tacker_k8s_cr.model.errors import TokenRequestFailed
from tacker_k8s_cr.model.errors import Unauthenticated
from tacker_k8s_cr.model.errors import Unavailable
from tests.unit.kube.scripted_server import Reply
from tests.unit.kube.scripted_server import ScriptedServer
from tests.unit.kube.scripted_server import answer_json
from tests.unit.kube.scripted_server import answer_status
from tests.unit.kube.scripted_server import close_connection

PASSWORD = "planted-pa55"
SECRET = "planted-secret"


def jwt(number: int, life: float = 3600.0, made: float | None = None) -> str:
    """A token as a provider issues it; its signature is not verified."""
    now = time.time() if made is None else made
    claims = {"iat": now, "exp": now + life, "n": number}
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode())
    return f"e30.{payload.decode().rstrip('=')}.planted"


def gives(text: str, refresh: str = "") -> Reply:
    more = {"refresh_token": refresh} if refresh else {}
    return answer_json(200, {"access_token": "a", "id_token": text, **more})


@pytest.fixture
def of(url: str) -> Callable[..., Kubeconfig]:
    """A kubeconfig with a user of the scripted provider."""

    def make(**changes: Any) -> Kubeconfig:
        user = OidcUser(f"{url}/token", "alice", PASSWORD, "tacker", SECRET)
        return Kubeconfig(
            where="VIM edge",
            server=url,
            openid=dataclasses.replace(user, **changes),
        )

    return make


@pytest.mark.requirement("K3")
def test_a_token_for_a_password(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """The form is the one that Tacker sends; the ID token is used."""
    script.then(gives(jwt(1)))

    found = oidc.token(of())

    assert jwt(1)[:20] == found.text[:20]
    [sent] = script.sent
    assert ("POST", "/token") == (sent.method, sent.path)
    assert {
        "grant_type": "password",
        "scope": "openid",
        "username": "alice",
        "password": PASSWORD,
        "client_id": "tacker",
        "client_secret": SECRET,
    } == sent.body


def test_a_public_client_has_no_secret(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """A field that a VIM does not have is not sent."""
    script.then(gives(jwt(1)))

    oidc.token(of(client_secret=""))

    assert "client_secret" not in script.sent[0].body


def test_it_is_fetched_once(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """Operations at the same time share one login."""
    script.then(gives(jwt(1)))

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: oidc.token(of()), range(16)))

    assert 1 == len({token.text for token in found})
    assert 1 == len(script.sent)


def test_users_do_not_mix(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """Another password, client or VIM has a token of its own."""
    script.then(gives(jwt(1)), gives(jwt(2)), gives(jwt(3)))
    others = [
        of(),
        of(password="other"),
        dataclasses.replace(of(), where="VIM core"),
    ]

    found = [oidc.token(kubeconfig).text for kubeconfig in others]

    assert 3 == len(set(found))
    assert found == [oidc.token(kubeconfig).text for kubeconfig in others]


def test_a_refused_token_is_replaced_once(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """Threads that met a 401 with the same token fetch one other."""
    script.then(gives(jwt(1)), gives(jwt(2)))
    first = oidc.token(of()).text

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: oidc.token(of(), first), range(16)))

    assert 2 == len(script.sent)
    assert first not in {token.text for token in found}


@pytest.mark.requirement("K3")
def test_the_refresh_token_comes_before_the_password(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """It is used once; the one of the answer is the next."""
    script.then(gives(jwt(1), "r1"), gives(jwt(2), "r2"), gives(jwt(3), "r3"))

    first = oidc.token(of()).text
    second = oidc.token(of(), first).text
    oidc.token(of(), second)

    assert [None, "r1", "r2"] == [
        sent.body.get("refresh_token") for sent in script.sent
    ]
    assert "password" not in script.sent[1].body
    assert SECRET == script.sent[1].body["client_secret"]


@pytest.mark.parametrize(
    "reply",
    [
        answer_json(400, {"error": "invalid_grant"}),
        answer_json(200, {"access_token": "a"}),
    ],
)
def test_a_refresh_token_that_does_not_do(
    script: ScriptedServer, of: Callable[..., Kubeconfig], reply: Reply
) -> None:
    """The password is sent again when it ended, or brings no ID token."""
    script.then(gives(jwt(1), "r1"), reply, gives(jwt(2)))
    first = oidc.token(of()).text

    oidc.token(of(), first)

    assert ["password", "refresh_token", "password"] == [
        sent.body["grant_type"] for sent in script.sent
    ]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            answer_json(
                401,
                {
                    "error": "access_denied",
                    "error_description": f"no user with {PASSWORD}",
                },
            ),
            "access_denied: no user with *** (401)",
        ),
        (answer_json(404, "<html>planted</html>"), "it answers 404"),
        (
            answer_json(302, "", Location="http://planted.example"),
            "it answers 302",
        ),
        (
            answer_json(400, {"error": "invalid_request"}),
            "invalid_request (400)",
        ),
        (
            answer_json(200, ["planted"]),
            "it answers 200, and not with a token",
        ),
        (
            answer_json(
                200, {"access_token": "planted", "expires_in": "planted"}
            ),
            "it answers 200, and not with a token",
        ),
        (
            answer_json(200, {"id_token": "planted"}),
            "its answer has no token",
        ),
        (
            answer_json(200, {"access_token": "planted"}),
            "its answer has no ID token; does the scope include openid?",
        ),
    ],
)
def test_a_refusal_of_the_provider(
    script: ScriptedServer,
    of: Callable[..., Kubeconfig],
    url: str,
    reply: Reply,
    said: str,
) -> None:
    """It names the provider and the VIM, and shows no secret."""
    script.then(reply)

    with pytest.raises(TokenRequestFailed) as caught:
        oidc.token(of())

    assert (
        f"the identity provider {url}/token gives no token for VIM edge: "
        f"{said}"
    ) == caught.value.outcome()
    assert isinstance(caught.value, Unauthenticated)


def test_a_wrong_password_is_not_tried_by_each_thread(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """Providers lock a user out after a few; each gets its own error."""
    script.then(*[answer_json(401, {"error": "access_denied"})] * 16)

    def refused(_: int) -> TokenRequestFailed:
        with pytest.raises(TokenRequestFailed) as caught:
            oidc.token(of())
        return caught.value

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = list(pool.map(refused, range(16)))

    assert 1 == len(script.sent)
    assert 16 == len({id(error) for error in found})


@pytest.mark.parametrize(
    "reply", [answer_json(503, ""), answer_json(429, ""), close_connection]
)
def test_an_unreachable_provider(
    script: ScriptedServer, of: Callable[..., Kubeconfig], reply: Reply
) -> None:
    """It is not a refusal: the request that needs the token is sent again.

    Not before a moment has passed: all callers that waited share the answer.
    """
    script.then(reply, gives(jwt(1)))
    now = 0.0

    def away() -> Retryable:
        with pytest.raises(Retryable) as caught:
            oidc.token(of(), clock=lambda: now)
        return caught.value

    found = [away()]
    now = 0.75
    found.append(away())

    assert 1 == len(script.sent)
    assert "gives no token for VIM edge" in str(found[0])
    assert str(found[0]) == str(found[1])
    assert found[0].why is not found[1].why
    assert found[0].patience == found[1].patience
    assert 0.25 == pytest.approx(found[1].after)
    now = 1.0
    assert oidc.token(of(), clock=lambda: now).text


def test_a_client_with_a_token_needs_no_other_yet(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """A provider that failed clients without one does not block others."""
    script.then(gives(jwt(1, 100.0)), answer_json(503, ""), gives(jwt(2)))
    now = 0.0
    first = oidc.token(of(), clock=lambda: now)
    now = 90.0
    with pytest.raises(Retryable):
        oidc.token(of(), first.text, clock=lambda: now)

    assert first.text == oidc.token(of(), clock=lambda: now).text
    late = Deadline.after(0)
    now = 92.0
    assert first.text == oidc.token(of(), "", late, lambda: now).text
    assert 2 == len(script.sent)


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """It accepts connections, and sends nothing on them."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield listening


def tried(listening: socket.socket) -> int:
    """Connections that it has got."""
    listening.setblocking(False)
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            listening.accept()[0].close()
            count += 1
    return count


def test_a_silent_provider_does_not_queue_callers(
    silent_server: socket.socket, of: Callable[..., Kubeconfig]
) -> None:
    """Each waits as long as it may, and one try serves all."""
    port = silent_server.getsockname()[1]
    user = of(url=f"http://127.0.0.1:{port}/token")
    started = time.monotonic()

    def refused(_: int) -> str:
        with pytest.raises(Retryable) as caught:
            oidc.token(user, deadline=Deadline.after(1.0))
        return str(caught.value)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = set(pool.map(refused, range(8)))

    assert 6.0 > time.monotonic() - started
    assert 1 == tried(silent_server)
    assert all("gives no token for VIM edge" in said for said in found)


def test_requests_keep_their_deadline_beside_a_silent_provider(
    silent_server: socket.socket, of: Callable[..., Kubeconfig]
) -> None:
    """Also those that wait for the credential of another thread."""
    port = silent_server.getsockname()[1]
    cluster = connect(of(url=f"http://127.0.0.1:{port}/token"))
    started = time.monotonic()

    def ended(_: int) -> None:
        with pytest.raises((TokenRequestFailed, Unavailable)):
            cluster.with_deadline(Deadline.after(1.0)).version()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(ended, range(8)))

    assert 6.0 > time.monotonic() - started
    cluster.close()


def test_a_client_without_time_left_sends_no_request(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """And no other client sees a failed provider."""
    script.then(gives(jwt(1)))

    with pytest.raises(Retryable, match="has not answered by the deadline"):
        oidc.token(of(), deadline=Deadline.after(0))

    assert oidc.token(of()).text


def test_both_ways_to_a_token_share_the_time(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """After a refusal that took long, the password is not tried."""
    script.then(answer_json(400, {"error": "invalid_grant"}), gives(jwt(1)))
    kubeconfig = of()
    user = kubeconfig.openid
    assert user is not None
    now = itertools.count(0.0, 6.0)

    with pytest.raises(Retryable, match="take too long"):
        oidc_token.fetch_token(
            kubeconfig, user, "planted-old", 5.0, lambda: next(now)
        )

    assert 1 == len(script.sent)


def test_a_token_is_renewed_before_it_ends(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """In the last fifth of its life, or the last minute."""
    script.then(gives(jwt(1, 10.0)), gives(jwt(2, 7200.0)))
    before = time.monotonic()

    short = oidc.token(of())
    long = oidc.token(of(), short.text)

    after = time.monotonic()
    assert before <= short.until - 8.0 <= after
    assert before <= short.end - 10.0 <= after
    assert before <= long.until - 7140.0 <= after


@pytest.mark.parametrize(
    "text",
    ["opaque", jwt(1, 0.0), jwt(1, -60.0)],
    # Not the tokens: they hold the time of day, and a test has one name.
    ids=["opaque", "over at once", "long over"],
)
def test_a_token_without_an_expiry(
    script: ScriptedServer, of: Callable[..., Kubeconfig], text: str
) -> None:
    """It holds until it is refused, and is not fetched for each request."""
    script.then(gives(text))

    found = [oidc.token(of()) for _ in range(3)]

    assert [float("inf")] * 3 == [token.end for token in found]
    assert 1 == len(script.sent)


def test_clocks_need_not_agree(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """How long a token lasts is read on the clock of who made it."""
    script.then(gives(jwt(1, 600.0, made=1000.0)))

    before = time.monotonic()
    found = oidc.token(of())
    after = time.monotonic()

    assert before <= found.end - 600.0 <= after


def test_a_token_that_holds_bridges_an_outage(
    script: ScriptedServer,
    of: Callable[..., Kubeconfig],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A renewal that fails early costs nothing; it is tried again."""
    script.then(gives(jwt(1, 100.0)), answer_json(503, ""), gives(jwt(2)))
    now = 0.0
    first = oidc.token(of(), clock=lambda: now)
    assert (80.0, 100.0) == (
        pytest.approx(first.until, abs=1.0),
        pytest.approx(first.end, abs=1.0),
    )

    now = 90.0
    bridged = oidc.token(of(), clock=lambda: now)
    now = 96.0
    second = oidc.token(of(), clock=lambda: now)

    assert first.text == bridged.text
    assert first.text != second.text
    assert "the current token is still valid" in caplog.text


def test_nothing_secret_is_logged(
    script: ScriptedServer,
    of: Callable[..., Kubeconfig],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever the level of the log."""
    caplog.set_level(logging.DEBUG)
    script.then(gives(jwt(1), "planted-r1"), answer_json(401, {"error": "no"}))
    script.then(answer_json(401, {"error": "no"}))

    found = oidc.token(of())
    with pytest.raises(TokenRequestFailed):
        oidc.token(of(), found.text)

    assert "planted" not in caplog.text
    assert "planted" not in repr([found, of(), of().openid])


def test_a_request_outlives_its_token(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """A 401 in mid-operation fetches another token and goes on."""
    script.then(
        gives(jwt(1)),
        answer_status(401, "Unauthorized"),
        gives(jwt(2)),
        answer_json(200, {"gitVersion": "v1.36.0"}),
    )
    cluster = connect(of())

    assert "v1.36.0" == cluster.with_deadline(Deadline.after(20)).version()

    cluster.close()
    used = [
        sent.headers["Authorization"]
        for sent in script.sent
        if sent.method == "GET"
    ]
    assert 2 == len(set(used))


def test_a_provider_that_comes_back_is_waited_for(
    script: ScriptedServer, of: Callable[..., Kubeconfig]
) -> None:
    """As an API server is: the request is tried again."""
    script.then(
        answer_json(503, ""),
        gives(jwt(1)),
        answer_json(200, {"gitVersion": "v1.36.0"}),
    )
    cluster = connect(of())

    assert "v1.36.0" == cluster.with_deadline(Deadline.after(20)).version()

    cluster.close()


def test_it_cannot_be_handed_on(of: Callable[..., Kubeconfig]) -> None:
    """A kubeconfig document has no place for a password grant."""
    with pytest.raises(KubeconfigInvalid, match="by openid cannot be passed"):
        of().portable()


def test_a_token_cannot_be_printed() -> None:
    """Its repr shows nothing of it."""
    assert "planted" not in repr(OidcToken("planted", "planted"))


def test_the_path_of_the_end_point_is_kept(
    script: ScriptedServer, of: Callable[..., Kubeconfig], url: str
) -> None:
    """Realms are part of it."""
    script.then(gives(jwt(1)))
    path = "/realms/nfv/protocol/openid-connect/token"

    oidc.token(of(url=urllib.parse.urljoin(url, path)))

    assert path == script.sent[0].path
