"""What is read from /proc: listening ports, processes, mounts."""

from __future__ import annotations

import pathlib

import pytest

from tools.plane import host_cleanup
from tools.plane import ports
from tools.plane import processes
from tools.plane.ports import Holder
from tools.plane.ports import Listener

# From a machine with an SSH server; the second line is one of its sessions.
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\
   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000\
     0        0 12345 1 0000000000000000 100 0 0 10 0
   1: 0100007F:0016 0100007F:C8F2 01 00000000:00000000 02:000A7214 00000000\
     0        0 23456 2 0000000000000000 20 4 30 10 -1
   2: 0100007F:405B 00000000:0000 0A 00000000:00000000 00:00000000 00000000\
  1000        0 34567 1 0000000000000000 100 0 0 10 0
"""
TCP6 = """\
  sl  local_address                         remote_address                \
        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000001000000:24E3 \
00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 \
00000000     0        0 45678 1 0000000000000000 100 0 0 10 0
"""


def test_only_sockets_that_listen_are_listed():
    """A connection holds no port against a server."""
    assert [Listener(22, 0, 12345), Listener(16475, 1000, 34567)] == list(
        ports.read_listeners(TCP)
    )


def test_sockets_of_ipv6_are_read_too():
    """A server on all addresses often shows there alone."""
    assert [Listener(9443, 0, 45678)] == list(ports.read_listeners(TCP6))


def test_a_table_without_sockets_has_no_listeners():
    """The heading is not a socket."""
    assert [] == list(ports.read_listeners(TCP.splitlines()[0]))


def test_an_unreadable_holder_is_reported():
    """Another user's process has no name for us, but a user."""
    assert (
        "port 80 is held by a process that this user cannot see, of user www"
    ) == str(Holder(80, "", "www"))


@pytest.mark.parametrize(
    "name", ["(etcd)", "(a b)", "(a) R 1 (b)", "()", "(((weird)"]
)
def test_state_and_start_are_found_whatever_the_name(name):
    """A process may call itself anything, brackets and blanks included."""
    rest = "S 1 4242 4242 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 987654 111 5"

    assert ("S", 987654) == processes.parse_stat(f"4242 {name} {rest}\n")


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:26 / /run/plane/node/state/shm rw - tmpfs shm rw
31 22 0:27 / /run/plane/nodes rw - tmpfs tmpfs rw
32 22 0:28 / /run/plane/node/a\\040b rw - tmpfs tmpfs rw
33 30 0:29 / /run/plane/node/state/shm/in rw - tmpfs tmpfs rw
"""


def test_mounts_are_found_innermost_first():
    """A mount over another one has to be unmounted before it."""
    assert (
        "/run/plane/node/state/shm/in",
        "/run/plane/node/a b",
        "/run/plane/node/state/shm",
    ) == host_cleanup.mounts(pathlib.Path("/run/plane/node"), MOUNTS)
