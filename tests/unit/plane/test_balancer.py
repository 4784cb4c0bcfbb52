"""The balancer: routes, rotation, and the frames that it holds."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies
import pytest

from tools.balancer.routes import Mode
from tools.balancer.routes import Rotation
from tools.balancer.routes import Route
from tools.balancer.watch_streams import PREFACE
from tools.balancer.watch_streams import Frames
from tools.balancer.watch_streams import WatchStreams

DATA, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE = 0, 1, 3, 4, 8
END_STREAM = 1
WATCH, READ = 1, 3


def frame(kind: int, stream: int, body: bytes = b"", flags: int = 0) -> bytes:
    return (
        len(body).to_bytes(3, "big")
        + bytes([kind, flags])
        + stream.to_bytes(4, "big")
        + body
    )


def asking(watch: bool = True, read: bool = True) -> WatchStreams:
    """Return a connection on which a watch and a read were requested."""
    streams = WatchStreams()
    sent = PREFACE
    if watch:
        sent += frame(HEADERS, WATCH) + frame(DATA, WATCH, b"watch")
    if read:
        sent += frame(HEADERS, READ) + frame(DATA, READ, b"get", END_STREAM)
    assert sent == streams.requested(sent).to_server
    return streams


ROUTES = {name: Route(name, number) for number, name in enumerate("abc")}


def test_connections_rotate_over_the_routes():
    """Each route gets every third connection."""
    rotation = Rotation(tuple(ROUTES))
    taken = []
    for _ in range(6):
        route = rotation.candidates(ROUTES)[0]
        taken.append(route.name)
        rotation = rotation.after(route.name)

    assert list("abcabc") == taken


@given(
    strategies.sampled_from("abc"),
    strategies.sets(strategies.sampled_from("abc")),
)
def test_a_route_out_of_rotation_gets_no_connection(last, out):
    """All other routes are candidates, the next one first."""
    routes = {
        name: route.with_changes({"in_rotation": name not in out})
        for name, route in ROUTES.items()
    }

    found = Rotation(tuple(ROUTES)).after(last).candidates(routes)

    following = itertools.islice(
        itertools.cycle("abc"), "abc".index(last) + 1, "abc".index(last) + 4
    )
    assert [n for n in following if n not in out] == [r.name for r in found]


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ({"speed": 1}, "unknown: speed"),
        ({"mode": "slow"}, "'slow' is not a valid Mode"),
        ({"delay": -1}, "got -1.0 and True"),
        ({"in_rotation": "no"}, "got 0.0 and no"),
    ],
)
def test_an_order_that_is_not_valid_is_refused(order, why):
    """The route keeps its state."""
    with pytest.raises(ValueError, match=why):
        ROUTES["a"].with_changes(order)


def test_an_order_changes_what_it_names():
    """Everything else stays."""
    route = ROUTES["b"].with_changes({"mode": "hang", "delay": 2})

    assert Route("b", 1, Mode.HANG, 2.0) == route
    assert "hang" == route.as_dict()["mode"]


@given(
    strategies.lists(strategies.binary(max_size=40), max_size=8),
    strategies.lists(strategies.integers(0, 300), max_size=8),
)
def test_frames_are_cut_alike_wherever_the_bytes_are_split(bodies, cuts):
    """A frame is returned when its last byte has come."""
    raw = [frame(DATA, 2 * n + 1, body) for n, body in enumerate(bodies)]
    whole = b"".join(raw)
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    frames = Frames()

    found = [
        each.raw
        for begin, end in itertools.pairwise(places)
        for each in frames.cut(whole[begin:end])
    ]

    assert raw == found


def test_events_of_a_watch_are_held_and_answers_pass():
    """The watch is the stream that its client has left open."""
    streams = asking()
    event = frame(DATA, WATCH, b"event")
    answer = frame(HEADERS, READ) + frame(DATA, READ, b"value", END_STREAM)

    found = streams.answered(event + answer, hold=True)

    assert answer == found.to_client
    assert streams.is_holding
    assert event == streams.released()
    assert not streams.is_holding


def test_what_is_held_is_acknowledged_for_the_connection():
    """Otherwise answers to reads would wait for the connection's window."""
    found = asking().answered(frame(DATA, WATCH, b"12345"), hold=True)

    size = (5).to_bytes(4, "big")
    assert frame(WINDOW_UPDATE, 0, size) == found.to_server


def test_nothing_is_held_unless_asked():
    """Without an order the balancer passes all bytes."""
    event = frame(DATA, WATCH, b"event")

    found = asking().answered(event, hold=False)

    assert (b"", event) == found


def test_events_keep_their_order():
    """Events that were held come before the first one that passes."""
    streams = asking()
    first, second = frame(DATA, WATCH, b"1"), frame(DATA, WATCH, b"2")
    streams.answered(first, hold=True)

    found = streams.answered(second, hold=False)

    assert first + second == found.to_client


def test_settings_and_headers_are_never_held():
    """HPACK needs all headers in their order."""
    sent = frame(SETTINGS, 0) + frame(HEADERS, WATCH)

    assert sent == asking().answered(sent, hold=True).to_client


def test_a_reset_stream_is_delivered_what_was_held():
    """Its bytes count for the connection even if they are not read."""
    streams = asking()
    event = frame(DATA, WATCH, b"event")
    streams.answered(event, hold=True)
    reset = frame(RST_STREAM, WATCH, bytes(4))

    assert (reset, event) == streams.requested(reset)
    assert not streams.is_holding
