"""What is posted to a receiver, and what becomes of each kind of answer.

The receiver is a real HTTPS server on the loopback interface; pauses are
recorded instead of slept.
"""

import base64
import dataclasses
import email.utils
import threading

import hypothesis
from hypothesis import strategies
import pytest

from tacker_k8s_cr.delivery import webhook
from tacker_k8s_cr.delivery.webhook import responses
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tools.receiver import Answer
from tools.receiver import Receiver
from tools.receiver import is_signature_valid

KEY = base64.b64encode(b"k" * 24).decode()
PLANTED = "planted-credential-4711"
BODY = b'{"credential": "planted-credential-4711", "name": "site-a"}'
NOW = 1_700_000_000.0


class Pauses:
    """A clock that moves on by what is slept, and by nothing else."""

    def __init__(self):
        self.slept = []

    def __call__(self, seconds):
        self.slept.append(seconds)

    def clock(self):
        return sum(self.slept)

    def deadline(self, seconds):
        return Deadline.after(seconds, self.clock)


@pytest.fixture
def recorded_pauses():
    return Pauses()


@pytest.fixture
def start(tmp_path):
    """Start a receiver with prepared answers; it ends with the test."""
    started = []

    def starter(*prepared, **settings):
        receiver = Receiver(tmp_path, answers=prepared, **settings)
        started.append(receiver)
        return receiver.open()

    yield starter
    for receiver in started:
        receiver.close()


def to(receiver, **settings):
    ca = {"ca_file": str(receiver.ca_file)}
    return webhook.Receiver(receiver.url, **{**ca, **settings})


def post(receiver, pauses, seconds=600, **settings):
    return webhook.post(
        to(receiver, **settings),
        BODY,
        pauses.deadline(seconds),
        sleep=pauses,
    )


def refused(receiver, pauses, seconds=600, **settings):
    with pytest.raises(errors.DeliveryFailed) as caught:
        post(receiver, pauses, seconds, **settings)
    assert PLANTED not in str(caught.value)
    assert PLANTED not in repr(caught.value)
    return caught.value


@pytest.mark.requirement("J3")
def test_a_message_is_accepted_and_its_signature_is_valid(
    start, recorded_pauses
):
    """A receiver with the key accepts the message at once."""
    receiver = start(secret=KEY)

    taken = post(receiver, recorded_pauses, secrets=(KEY,))

    assert webhook.Accepted(webhook.message_id(BODY), 204, 1) == taken
    assert BODY == receiver.accepted[taken.id].body
    assert "application/json" == receiver.posted[0].headers["content-type"]
    assert [] == recorded_pauses.slept


def test_the_prefix_of_a_secret_changes_nothing(start, recorded_pauses):
    """A key with whsec_ before it signs as the key alone does."""
    receiver = start(secret=KEY)

    post(receiver, recorded_pauses, secrets=(f"whsec_{KEY}",))

    assert 1 == len(receiver.accepted)


def test_each_of_several_keys_signs(start, recorded_pauses):
    """While a key is changed, a receiver with either accepts."""
    receiver = start(secret=KEY)
    newer = base64.b64encode(b"n" * 32).decode()

    post(receiver, recorded_pauses, secrets=(newer, KEY))

    assert 1 == len(receiver.accepted)


def test_the_signature_is_that_of_the_specification():
    """The specification's own example gives the signature it shows.

    https://github.com/standard-webhooks/standard-webhooks, "Signature scheme".
    """
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert expected == webhook.signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )


@hypothesis.given(
    strategies.binary(min_size=24, max_size=64),
    strategies.binary(),
    strategies.binary(),
)
def test_a_signature_holds_for_its_own_body_only(key, body, other):
    """A receiver accepts what was signed, and no other body."""
    secret = base64.b64encode(key).decode()
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(NOW)),
        "webhook-signature": webhook.signature(
            secret, "msg_1", int(NOW), body
        ),
    }

    assert is_signature_valid(headers, body, secret, NOW)
    assert (body == other) == is_signature_valid(headers, other, secret, NOW)


def test_the_same_content_has_the_same_id():
    """A repeat can be recognised; other content has another id."""
    assert webhook.message_id(BODY) == webhook.message_id(bytes(BODY))
    assert webhook.message_id(BODY) != webhook.message_id(BODY + b" ")


def test_a_bearer_token_is_sent(start, recorded_pauses):
    """A token goes into the authorization header."""
    receiver = start()

    post(receiver, recorded_pauses, token="t0ken")

    assert "Bearer t0ken" == receiver.posted[0].headers["authorization"]


def test_a_user_and_password_are_sent(start, recorded_pauses):
    """A user and password make basic authentication."""
    receiver = start()

    post(receiver, recorded_pauses, user="u", password="p")

    expected = "Basic " + base64.b64encode(b"u:p").decode()
    assert expected == receiver.posted[0].headers["authorization"]


def test_a_netrc_file_is_not_read(
    start, recorded_pauses, tmp_path, monkeypatch
):
    """A password in a .netrc file is not sent."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login u password p\n")
    monkeypatch.setenv("NETRC", str(netrc))
    receiver = start()

    post(receiver, recorded_pauses)

    assert "authorization" not in receiver.posted[0].headers


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
@pytest.mark.requirement("TK-14", "J3")
def test_a_transient_error_is_retried(start, recorded_pauses, status):
    """After 408, 429 and 5xx the message is sent again, with the same id."""
    receiver = start(Answer(status), Answer(status))

    taken = post(receiver, recorded_pauses)

    assert 3 == taken.attempts
    assert 1 == len({posted.id for posted in receiver.posted})
    assert 2 == len(recorded_pauses.slept)


def test_pauses_grow(start, recorded_pauses):
    """Each pause is at least about twice the one before."""
    receiver = start(*[Answer(500)] * 4)

    post(receiver, recorded_pauses)

    least = [0.5, 1.0, 2.0, 4.0]
    assert least == [
        min(seconds, most)
        for most, seconds in zip(least, recorded_pauses.slept, strict=True)
    ]


def test_retry_after_in_seconds_is_honoured(start, recorded_pauses):
    """A server's own number of seconds is waited for."""
    receiver = start(Answer(429, headers={"retry-after": "77"}))

    post(receiver, recorded_pauses)

    assert [77.0] == recorded_pauses.slept


def test_retry_after_as_a_date_is_honoured():
    """A server's own moment is waited for, on the wall's clock."""
    date = email.utils.formatdate(NOW + 90, usegmt=True)

    assert 90.0 == responses.retry_after(date, NOW)


@pytest.mark.parametrize("value", ["", "soon", "-5", "Mon, 99 Foo"])
def test_an_unreadable_retry_after_is_ignored(value):
    """A header that cannot be read asks for no pause of its own."""
    assert 0.0 == responses.retry_after(value, NOW)


def test_a_date_that_is_past_asks_for_no_pause():
    """A moment before now counts as now."""
    date = email.utils.formatdate(NOW - 90, usegmt=True)

    assert 0.0 == responses.retry_after(date, NOW)


def test_a_retry_after_beyond_the_deadline_ends_it(start, recorded_pauses):
    """No pause goes past the deadline: the error comes at once."""
    receiver = start(Answer(503, "busy", {"retry-after": "700"}))

    error = refused(receiver, recorded_pauses)

    assert [] == recorded_pauses.slept
    assert (
        f"{receiver.url}: answered 503: busy (tried once)" == error.outcome()
    )


@pytest.mark.requirement("TK-14")
def test_it_is_retried_until_the_deadline(start, recorded_pauses):
    """The error of a receiver that keeps failing counts the attempts."""
    receiver = start(*[Answer(500, "out of order")] * 99)

    error = refused(receiver, recorded_pauses, 60)

    assert recorded_pauses.clock() <= 60
    assert (500, len(receiver.posted)) == (
        error.status,
        len(recorded_pauses.slept) + 1,
    )
    tried = len(receiver.posted)
    assert f"out of order (tried {tried} times)" == error.response


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 413, 422])
@pytest.mark.requirement("TK-14")
def test_other_refusals_end_it_at_once(start, recorded_pauses, status):
    """A 4xx that waiting does not fix is not repeated."""
    receiver = start(Answer(status, "no\nmore"))

    error = refused(receiver, recorded_pauses)

    assert f"{receiver.url}: answered {status}: no" == error.outcome()
    assert 1 == len(receiver.posted)


@pytest.mark.requirement("TK-14")
def test_a_redirect_is_not_followed(start, recorded_pauses):
    """The error names where it points, without path and query."""
    receiver = start(
        Answer(307, headers={"location": "https://u:p@other.example/a?k=v"})
    )

    error = refused(receiver, recorded_pauses)

    assert 307 == error.status
    assert "it points to https://other.example, not followed" == error.response
    assert 1 == len(receiver.posted)


def test_a_redirect_within_the_server_is_not_followed(start, recorded_pauses):
    """A location without a host is named as such."""
    receiver = start(Answer(302, headers={"location": "/login?k=v"}))

    expected = "it points to another path of the same server, not followed"
    assert expected == refused(receiver, recorded_pauses).response


def test_an_answer_that_repeats_the_message_is_not_shown(
    start, recorded_pauses
):
    """A receiver that echoes what it got does not put it into our logs."""
    receiver = start(Answer(422, f'bad input: {{"credential": "{PLANTED}"}}'))

    assert "bad input: …}" == refused(receiver, recorded_pauses).response


def test_an_answer_that_repeats_the_token_is_not_shown(start, recorded_pauses):
    """Nor does a receiver that echoes our headers."""
    receiver = start(Answer(403, "unknown token s3cret-t0ken-00 sent"))

    error = refused(receiver, recorded_pauses, token="s3cret-t0ken-00")

    assert "unknown token … sent" == error.response


def test_an_answer_is_shown_in_one_printable_line(start, recorded_pauses):
    """Control characters and the rest of a long answer are left out."""
    receiver = start(Answer(400, "\x1b[31mred\x07\nsecond" + "x" * 9999))

    assert "?[31mred?" == refused(receiver, recorded_pauses).response


def test_an_answer_without_text_is_shown_by_its_phrase(start, recorded_pauses):
    """An empty answer leaves the status line's own words."""
    receiver = start(Answer(404))

    assert "Not Found" == refused(receiver, recorded_pauses).response


@pytest.mark.requirement("T9")
def test_an_untrusted_certificate_is_refused(start, recorded_pauses):
    """Nothing is sent, and it is not tried again."""
    receiver = start()

    error = refused(receiver, recorded_pauses, ca_file="")

    assert "its certificate is not trusted" in error.response
    assert [] == receiver.posted
    assert [] == recorded_pauses.slept


def test_a_certificate_for_another_name_is_refused(start, recorded_pauses):
    """The right authority is not enough: the name must be the URL's."""
    receiver = start()
    receiver.url = receiver.url.replace("127.0.0.1", "localhost")

    assert "not trusted" in refused(receiver, recorded_pauses).response
    assert [] == receiver.posted


def test_verification_can_be_turned_off(start, recorded_pauses, caplog):
    """By explicit choice any certificate will do, with a warning."""
    receiver = start()

    with pytest.warns(Warning, match="Unverified HTTPS"):
        post(receiver, recorded_pauses, ca_file="", insecure=True)

    assert "its certificate is not verified" in caplog.text


def test_a_refused_connection_is_retried(start, recorded_pauses):
    """A refused connection is tried again until the deadline."""
    receiver = start()
    receiver.close()

    error = refused(receiver, recorded_pauses, 5)

    assert 0 == error.status
    assert "no connection: Connection refused" in error.response
    assert recorded_pauses.slept


def test_a_silent_receiver_is_not_waited_for(start):
    """A request ends with the deadline when there is no answer."""
    receiver = start(Answer(0, silent=True))

    def clock():
        """It comes to the deadline with the message."""
        return 1.0 if receiver.posted else 0.0

    with pytest.raises(errors.DeliveryFailed) as caught:
        webhook.post(to(receiver), BODY, Deadline(1.0, clock))

    said = f"{receiver.url}: no answer in time (tried once)"
    assert said == caught.value.outcome()


def test_nothing_is_sent_when_no_time_is_left(start, recorded_pauses):
    """A deadline that is past leaves the receiver alone."""
    receiver = start()

    assert "no time was left" in refused(receiver, recorded_pauses, 0).response
    assert [] == receiver.posted


def test_the_query_of_a_url_is_in_no_log(start, recorded_pauses, caplog):
    """Other libraries log the path of each request at DEBUG."""
    receiver = start(Answer(500))
    whole = f"{receiver.url}?key={PLANTED}"
    given = dataclasses.replace(to(receiver), url=whole)

    webhook.post(
        given, BODY, recorded_pauses.deadline(600), sleep=recorded_pauses
    )

    assert 2 == len(receiver.posted)
    assert receiver.url in caplog.text
    assert PLANTED not in caplog.text


def test_the_wait_between_attempts_is_logged_without_secrets(
    start, recorded_pauses, caplog
):
    """A log line has the response, the URL, and the time of the next try."""
    receiver = start(Answer(500, f"failed on {PLANTED}"))

    post(receiver, recorded_pauses, token="s3cret-t0ken-00")

    assert f"{receiver.url}: answered 500: failed on …" in caplog.text
    assert PLANTED not in caplog.text
    assert "s3cret" not in caplog.text


def test_a_url_without_tls_is_refused():
    """HTTP without TLS needs an explicit choice."""
    with pytest.raises(errors.RequestInvalid, match="wanted: a URL with http"):
        webhook.Receiver("http://hooks.example/a?key=s3cret")


def test_a_url_without_tls_can_be_allowed(start, recorded_pauses):
    """With that choice it is used."""
    receiver = start(tls=False)

    assert (
        204
        == post(receiver, recorded_pauses, allow_http=True, ca_file="").status
    )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks",
        "ftp://h/s3cret",
        "https://",
        "https://h:s3cret/",
        "https://[",
    ],
)
def test_a_url_that_cannot_be_used_is_not_shown(url):
    """What cannot be parsed may hold a password anywhere."""
    with pytest.raises(errors.RequestInvalid) as caught:
        webhook.Receiver(url)

    assert "webhook: the URL cannot be read" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("secret", "said"),
    [("s3cret!", "is not base64"), ("czNjcmV0", "has 6 bytes")],
)
def test_a_key_that_cannot_sign_is_refused(secret, said):
    """The key is checked before anything is sent, and not shown."""
    with pytest.raises(errors.RequestInvalid, match=said) as caught:
        webhook.Receiver("https://hooks.example", secrets=(secret,))

    assert secret not in str(caught.value)


def test_two_ways_to_authenticate_are_refused():
    """Only one of them can be in the one header."""
    with pytest.raises(errors.RequestInvalid, match="both a bearer token"):
        webhook.Receiver("https://u:p@hooks.example", token="s3cret")


def test_a_token_with_a_line_break_is_refused():
    """A credential cannot add headers of its own."""
    with pytest.raises(errors.RequestInvalid, match="a header cannot hold"):
        webhook.Receiver("https://hooks.example", token="a\r\nb: c")


def test_a_file_without_certificates_is_refused(tmp_path, recorded_pauses):
    """The file is named, before anything is sent."""
    (tmp_path / "ca.pem").write_text("nothing\n")
    receiver = webhook.Receiver(
        "https://hooks.example", ca_file=str(tmp_path / "ca.pem")
    )

    with pytest.raises(errors.RequestInvalid, match=r"ca\.pem"):
        webhook.post(
            receiver, BODY, recorded_pauses.deadline(1), sleep=recorded_pauses
        )


def test_a_receiver_cannot_be_printed():
    """Its repr has neither secrets nor what a URL may hide."""
    receiver = webhook.Receiver(
        f"https://u:{PLANTED}@hooks.example:8443/a?k={PLANTED}",
        secrets=(KEY,),
    )

    assert "Receiver('https://hooks.example:8443/a')" == repr(receiver)
    assert "https://hooks.example:8443/a" == receiver.shown


def test_receivers_differ_by_their_query_but_not_by_their_password():
    """A changed password is not another receiver; another query is."""

    def id_of(url):
        return webhook.Receiver(url).id

    assert id_of("https://a:b@h/x?k=1") == id_of("https://a:c@h/x?k=1")
    assert id_of("https://h/x?k=1") != id_of("https://h/x?k=2")


def test_a_proxy_is_taken_from_the_environment(
    start, recorded_pauses, monkeypatch
):
    """HTTPS_PROXY is used, and NO_PROXY excepts from it."""
    receiver = start()
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")

    assert "no connection" in refused(receiver, recorded_pauses, 1).response

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert 204 == post(receiver, recorded_pauses).status


without_marks = strategies.text(
    strategies.characters(exclude_characters="…"), max_size=40
)


@hypothesis.given(without_marks, without_marks, without_marks)
def test_no_long_piece_of_what_was_sent_is_left(before, sent, after):
    """What was sent is found in an answer wherever it stands, or in part."""
    left = responses.redact(f"{before}{sent}{after}", (sent,))

    assert not [
        left[start : start + responses.REPEATED]
        for start in range(len(left) - responses.REPEATED + 1)
        if left[start : start + responses.REPEATED] in sent
    ]


@hypothesis.given(without_marks)
def test_what_was_not_sent_is_left(line):
    """An answer in the receiver's own words is shown as it is."""
    assert line == responses.redact(line, ("something else", ""))


def test_threads_can_post_at_the_same_time(start):
    """Nothing is shared between two deliveries."""
    receiver = start(secret=KEY)
    threads = [
        threading.Thread(
            target=webhook.post,
            args=(to(receiver, secrets=(KEY,)), b"%d" % i, Deadline.after(30)),
        )
        for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {b"%d" % i for i in range(8)} == {
        posted.body for posted in receiver.accepted.values()
    }
