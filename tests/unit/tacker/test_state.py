"""What is chosen when a host is brought up."""

from __future__ import annotations

import pathlib
import socket

import pytest

from tools.tacker import TackerError
from tools.tacker import configuration
from tools.tacker import folders
from tools.tacker import services
from tools.tacker import state
from tools.tacker import wheel
from tools.tacker.folders import Folders
from tools.tacker.state import Options
from tools.tacker.state import State

PASTE = "paste.filter_factory = keystonemiddleware.auth_token:filter_factory\n"


@pytest.fixture
def published(tmp_path: pathlib.Path) -> pathlib.Path:
    """An environment with Tacker's paste file."""
    path = tmp_path / "published" / "etc" / "tacker" / "api-paste.ini"
    path.parent.mkdir(parents=True)
    path.write_text(PASTE)
    return tmp_path / "published"


@pytest.fixture
def made(tmp_path, published):
    """A host's folder and its state, with these options."""

    def make(**options) -> tuple[Folders, State]:
        found = Folders(tmp_path / "run")
        found.make()
        ports = dict.fromkeys(state.PORTS, 1)
        return found, State(Options(**options), ports, str(published))

    return make


def test_a_state_is_read_as_it_was_written(made):
    """Options and ports, all of them."""
    where, chosen = made(
        drivers=("kubernetes",), settings=(("a.b", "c"),), sync=5, debug=True
    )

    chosen.write(where.state)

    assert chosen == state.read(where.state)
    assert 0o600 == where.state.stat().st_mode & 0o777


def test_a_folder_without_a_host_is_named(tmp_path):
    """The error has the next step."""
    with pytest.raises(TackerError, match=r"no Tacker in .*bring it up"):
        state.read(tmp_path / "state.json")


def test_ports_are_free_and_differ():
    """No process listens on them, and none is given twice."""
    ports = state.free_ports()

    assert set(state.PORTS) == set(ports)
    assert len(state.PORTS) == len(set(ports.values()))
    for port in ports.values():
        with socket.socket() as one:
            one.bind(("127.0.0.1", port))


def test_both_options_of_tacker_name_the_driver(made):
    """With one of them alone, Tacker changes drivers at the first scale."""
    where, chosen = made(drivers=("kubernetes_cr",))

    found = configuration.sections(where, chosen)["tacker"]

    assert "openstack,kubernetes_cr" == found["vnflcm_infra_driver"]
    assert "noop,openstack,kubernetes_cr" == found["infra_driver"]


def test_named_services_are_used_as_they_are(made):
    """A database and a queue that run are named by their URLs."""
    where, chosen = made(database="mysql://x/y", transport="rabbit://z/")

    found = configuration.sections(where, chosen)

    assert "mysql://x/y" == found["database"]["connection"]
    assert "rabbit://z/" == found["DEFAULT"]["transport_url"]


def test_a_private_database_has_its_own_temporary_folder(made):
    """One that starts removes the temporary tables that it finds there."""
    where, chosen = made()

    environ = services.table(where, chosen)["mariadb"].environ

    assert str(where.database) == environ["TMPDIR"]
    assert environ == services.database_environ(where)


def test_settings_come_last(made):
    """They win over the files, which win over what the suite needs."""
    where, chosen = made(
        settings=(("a.b", "c"), ("a.d", "e")), files=("/x.conf",)
    )

    configuration.write(where, chosen)

    assert "[a]\nb = c\nd = e\n" == (where.conf / "settings.conf").read_text()
    words = configuration.arguments(where, chosen)
    assert ["tacker.conf", "x.conf", "settings.conf"] == [
        pathlib.Path(word).name for word in words if word != "--config-file"
    ]
    paste = (where.conf / "api-paste.ini").read_text()
    assert "local_auth:filter_factory" in paste
    assert "keystonemiddleware" not in paste


def test_a_setting_without_a_section_is_refused(made):
    """The error shows how one is written."""
    where, chosen = made(settings=(("debug", "true"),))

    with pytest.raises(TackerError, match=r"wanted section\.option"):
        configuration.write(where, chosen)


@pytest.mark.parametrize(
    ("environ", "named", "wanted"),
    [
        ({"TACKER_RUN": "/a"}, "/b", "/b"),
        ({"TACKER_RUN": "/a", "XDG_RUNTIME_DIR": "/c"}, "", "/a"),
        ({"XDG_RUNTIME_DIR": "/c"}, "", "/c/tacker-k8s-cr-tacker"),
    ],
)
def test_a_host_has_its_folder(environ, named, wanted):
    """The named one, else TACKER_RUN's, else one for each user."""
    assert pathlib.Path(wanted) == folders.choose(environ, named)


def test_the_wheel_follows_the_tree(tmp_path):
    """Another byte in a source is another wheel, a compiled file is not."""
    source = tmp_path / "tacker_k8s_cr" / "a.py"
    source.parent.mkdir()
    source.write_text("a = 1\n")
    first = wheel.digest(tmp_path)
    cached = source.parent / "__pycache__" / "a.pyc"
    cached.parent.mkdir()
    cached.write_bytes(b"x")

    assert first == wheel.digest(tmp_path)
    source.write_text("a = 2\n")
    assert first != wheel.digest(tmp_path)
