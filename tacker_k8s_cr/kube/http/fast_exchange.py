"""Send a request on an open connection, without urllib3's ``urlopen``.

``urlopen`` creates nine objects for each request, and examines its URL, its
redirects and its proxy, which are the same for all requests of a connection.
This takes a tenth of the processor time of an apply; the page on performance
has the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
import errno
import http.client
import logging
import ssl
from typing import Any

from urllib3 import exceptions

from tacker_k8s_cr.kube.http.deadline_reader import ReadTimeout
from tacker_k8s_cr.kube.http.read_body import FullResponse

LOG = logging.getLogger("urllib3.connectionpool")
"""The pool's logger: a filter or level for its lines applies to these too."""

_CLOSED_BY_PEER = (errno.EPIPE, errno.EPROTOTYPE, errno.ECONNRESET)
"""Errors of a write when the server has closed the connection; it may have
answered before."""


def exchange(
    pool: Any,
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    limit: ReadTimeout,
) -> FullResponse | None:
    """Return the answer; None if urllib3 has to send the request.

    :param limit: seconds of silence, and the deadline of the whole answer.

    Raises what the pool would raise.
    """
    if pool.proxy is not None or not hasattr(pool, "_get_conn"):
        return None
    conn = pool._get_conn()
    if not getattr(conn, "ready", False):
        pool._put_conn(conn)
        return None
    keep = None
    try:
        if not _write(conn, method, url, body, headers, limit):
            keep = conn
            return None
        answer: FullResponse = conn.getresponse()
        keep = conn
    except TimeoutError as error:
        why = f"Read timed out. (read timeout={limit})"
        raise exceptions.ReadTimeoutError(pool, url, why) from error
    except ssl.SSLError as error:
        raise exceptions.SSLError(error) from error
    except (OSError, http.client.HTTPException) as error:
        broken = "Connection aborted."
        raise exceptions.ProtocolError(broken, error) from error
    finally:
        if keep is None:
            conn.close()
        pool._put_conn(keep)
    LOG.debug(
        '%s://%s:%s "%s %s %s" %s %s',
        pool.scheme,
        pool.host,
        pool.port,
        method,
        url,
        answer.version_string,
        answer.status,
        answer.length_remaining,
    )
    return answer


def _write(conn: Any, *request: Any) -> bool:
    try:
        written: bool = conn.written(*request)
    except OSError as error:
        if error.errno not in _CLOSED_BY_PEER:
            raise
        return True
    return written
