"""The Tacker of the suite starts, survives what tests do to it, and stops."""

from __future__ import annotations

import pathlib

import pytest

from tests.e2e import held_vnf
from tools.plane.errors import PlaneError
from tools.tacker import Host
from tools.tacker import Options
from tools.tacker import services
from tools.tacker.host import CONDUCTOR
from tools.tacker.host import SERVER
from tools.tacker.rest_api import Api


def processes_of(folder: pathlib.Path) -> set[str]:
    """The processes that have a file of this folder as argument."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_text()
        except OSError:
            continue
        if f"{folder}/" in words:
            found.add(words.replace("\0", " "))
    return found


@pytest.fixture
def own_host(tmp_path):
    """A host that is not up yet, beside the one of the other tests."""
    found = Host.from_folder(tmp_path / "run")
    yield found
    found.down()


def test_a_tacker_starts_and_stops(own_host):
    """All answer when up returns; after down no process and no file."""
    assert own_host.up(Options(management=("vnflcm_noop",)))

    assert own_host.running()
    assert not own_host.up()
    api = Api(own_host.url, "v1")
    assert [] == api.vims()
    assert "kubernetes_cr" in own_host.log()
    assert own_host.memory() > 2**20
    conductor = own_host.records[CONDUCTOR]

    own_host.kill(CONDUCTOR)
    assert not own_host.is_alive(CONDUCTOR)
    url = f"rabbit://guest:guest@{queue(own_host)}/"
    held_vnf.wait_for("no consumer", lambda: not services.has_consumer(url))
    own_host.start(CONDUCTOR)
    assert services.has_consumer(url)
    assert conductor != own_host.records[CONDUCTOR]

    own_host.reload(
        Options(drivers=("kubernetes",), management=("vnflcm_noop",))
    )
    assert own_host.running()
    assert [] == api.vims()
    api.close()

    assert own_host.down()
    assert not own_host.folders.run.exists()
    assert set() == processes_of(own_host.folders.run)
    assert not own_host.down()


def queue(host: Host) -> str:
    return f"127.0.0.1:{host.state.ports['rabbitmq']}"


def test_what_cannot_start_leaves_nothing_running(own_host):
    """The error shows the service's log."""
    options = Options(settings=(("DEFAULT.transport_url", "nonsense://"),))

    with pytest.raises(PlaneError, match=r"(?s)the last lines of .*log"):
        own_host.up(options)

    assert set() == processes_of(own_host.folders.run)
    assert () == own_host.records.names()


def test_a_driver_that_tacker_cannot_load_is_an_error(own_host):
    """Tacker itself would go on, and fail at the first operation."""
    with pytest.raises(PlaneError, match=r"Could not load '?no_such"):
        own_host.up(Options(drivers=("no_such",), management=("vnflcm_noop",)))


def test_an_unknown_service_is_named(host):
    """With those that there are."""
    with pytest.raises(PlaneError, match=f"no service nonsense.*{SERVER}"):
        host.stop("nonsense")
