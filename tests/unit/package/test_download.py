"""Fetching a manifest that a package names by a URL, from a real server."""

import contextlib
from http import server
import threading
import time

import pytest

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.package import download
from tools.receiver import Receiver

PLANTED = "planted-secret-0815"


class Files(server.BaseHTTPRequestHandler):
    """Answers by path."""

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/drips":
            self.drip()
            return
        status = {"/gone": 404, "/moved": 302}.get(path, 200)
        body = {"/large": b"x" * 2000}.get(path, b"kind: A\n")
        self.send_response(status)
        self.send_header("Location", f"http://{PLANTED}/")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def drip(self):
        """A byte every 20 ms, for a minute."""
        self.send_response(200)
        self.send_header("Content-Length", "3000")
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            for _ in range(3000):
                self.wfile.write(b"x")
                if self.server.over.wait(0.02):
                    break

    def log_message(self, *_):
        """Nothing is printed."""


@pytest.fixture(scope="module")
def url():
    """Where the server listens."""
    with server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as running:
        running.over = threading.Event()
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.over.set()
        running.shutdown()
        thread.join()


def fetched(url, limit=1000, seconds=30.0):
    return download.fetch(url, limit, Deadline.after(seconds))


def refused(*args, **more):
    with pytest.raises(errors.PackageInvalid) as caught:
        fetched(*args, **more)
    assert PLANTED not in str(caught.value)
    return str(caught.value)


@pytest.mark.requirement("A6")
def test_a_file_is_fetched(url):
    """Its bytes, whatever the headers of the server are."""
    assert b"kind: A\n" == fetched(f"{url}/a.yaml?key={PLANTED}")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/gone", "answered 404, wanted 200"),
        ("/moved", "answered 302, wanted 200"),
        ("/large", "is larger than"),
    ],
)
def test_an_invalid_file_is_refused(url, path, said):
    """The error shows the URL without its query; nothing is followed."""
    error = refused(f"{url}{path}?key={PLANTED}")

    assert f"{url}{path}: " in error
    assert said in error


def test_what_comes_drop_by_drop_is_not_waited_for(url):
    """The deadline is looked at with each drop."""
    begun = time.monotonic()

    assert "no time was left" in refused(
        f"{url}/drips", limit=2**20, seconds=0.5
    )

    assert time.monotonic() - begun < 15


def test_no_time_left_is_an_error(url):
    """The deadline is that of the whole operation."""
    assert "no time was left" in refused(f"{url}/a", seconds=0.0)


def test_an_unreachable_server_is_an_error():
    """As is a URL that cannot be read."""
    assert "cannot be fetched: ConnectionError" in refused(
        "http://127.0.0.1:1/a"
    )
    assert "cannot be fetched" in refused(f"https://[{PLANTED}")


def test_certificates_are_verified(tmp_path):
    """A server without a trusted certificate gets no request."""
    receiver = Receiver(tmp_path)
    receiver.open()
    try:
        error = refused(receiver.url)
    finally:
        receiver.close()

    assert "its server's certificate is not trusted" in error
