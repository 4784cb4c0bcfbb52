"""Fetch a file of a package that is named by a URL."""

from __future__ import annotations

from urllib import parse

import requests
import urllib3

from tacker_k8s_cr.model import log_filters
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import Problem

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0

_BLOCK = 2**16


def fetch(url: str, limit: int, deadline: Deadline) -> bytes:
    """What is at an http or https URL.

    Raises PackageInvalid, which shows the URL without its query: more than
    the limit, another answer than 200, no answer in time, a certificate
    that is not trusted. A pointer to another place is not followed, so that
    only the package decides where the conductor sends requests.
    """
    try:
        with _session(url) as session:
            return _read(session, url, limit, deadline)
    except _Unfit as error:
        raise PackageInvalid(
            [Problem(redacted_url(url), str(error))]
        ) from None
    except requests.exceptions.SSLError:
        why = "cannot be fetched: its server's certificate is not trusted"
    except requests.Timeout:
        why = "cannot be fetched: no answer in time"
    except (
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        ValueError,
    ) as error:
        # Its own text may show all of the URL.
        why = f"cannot be fetched: {type(error).__name__}"
    raise PackageInvalid([Problem(redacted_url(url), why)])


def redacted_url(url: str) -> str:
    """A URL without what may be meant for its server alone."""
    try:
        parts = parse.urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return parse.urlunsplit((parts.scheme, host, parts.path, "", ""))
    except ValueError:
        return "a URL that cannot be read"


class _Unfit(Exception):
    """The response cannot be used; the text is the reason."""


def _session(url: str) -> requests.Session:
    """Of the environment only the proxies count; see ``trust_env``."""
    session = requests.Session()
    session.trust_env = False
    session.proxies = requests.utils.get_environ_proxies(url)
    return session


def _read(
    session: requests.Session, url: str, limit: int, deadline: Deadline
) -> bytes:
    remaining = deadline.remaining
    if not remaining:
        raise _Unfit("was not fetched: no time was left")
    with log_filters.suppress_urllib3_logs():
        answer = session.get(
            url,
            timeout=(
                min(remaining, CONNECT_SECONDS),
                min(remaining, READ_SECONDS),
            ),
            allow_redirects=False,
            stream=True,
        )
    with answer:
        if answer.status_code != 200:
            raise _Unfit(
                f"cannot be fetched: answered {answer.status_code}, wanted 200"
            )
        held = bytearray()
        # One read at a time, so that no server can be slow within a block.
        while block := answer.raw.read1(_BLOCK, decode_content=True):
            held += block
            if len(held) > limit:
                raise _Unfit(f"is larger than {limit // 2**20} MiB")
            if deadline.expired:
                raise _Unfit("was not fetched: no time was left")
        return bytes(held)
