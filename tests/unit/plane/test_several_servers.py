"""A plane of several API servers: its processes and their addresses."""

from __future__ import annotations

import pytest

from tools.plane import server_components
from tools.plane.binaries import Store
from tools.plane.errors import PlaneError
from tools.plane.folders import Folders
from tools.plane.lifecycle import Plane


@pytest.fixture
def folders(tmp_path):
    """Those of a plane of three."""
    made = Folders(tmp_path / "plane")
    made.make()
    made.keep_servers(3)
    return made


def test_each_server_reaches_its_own_member_through_the_balancer(folders):
    """So one of them can be behind the others."""
    table = {one.name: one for one in server_components.table(folders)}
    links = dict(
        argument.removeprefix("--etcd=").split("=")
        for argument in table["balancer"].arguments
        if argument.startswith("--etcd=")
    )

    for number in range(3):
        server = table[server_components.name(number)]
        (etcd,) = (
            argument.rpartition(":")[2]
            for argument in server.arguments
            if argument.startswith("--etcd-servers=")
        )
        name, _, port = links[etcd].rpartition(":")
        assert server_components.link(number) == name
        member = table[server_components.member(number)]
        assert int(port) in member.ports


@pytest.mark.parametrize(
    ("servers", "why"),
    [(2, "expected one of 1, 3, 5"), (5, "take it down first")],
)
def test_an_impossible_number_of_servers(folders, tmp_path, servers, why):
    """The error comes before anything is started."""
    folders.etcd.mkdir(exist_ok=True)
    plane = Plane(folders, Store(tmp_path), lambda said: None)

    with pytest.raises(PlaneError, match=why):
        plane.up(("control plane",), servers=servers)

    assert not plane.records.names()


def test_a_plane_of_one_server_has_no_balancer(tmp_path):
    """Its server has the port of the balancer."""
    plane = Plane(Folders(tmp_path), Store(tmp_path), lambda said: None)

    with pytest.raises(PlaneError, match="one API server"):
        _ = plane.balancer
