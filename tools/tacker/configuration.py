"""tacker.conf and the paste file of a host."""

from __future__ import annotations

import pathlib

from tools.plane.folders import write_private
from tools.tacker.errors import TackerError
from tools.tacker.folders import Folders
from tools.tacker.state import State

_KEYSTONE = "keystonemiddleware.auth_token:filter_factory"
_LOCAL_AUTH = "local_auth:filter_factory"


def sections(folders: Folders, state: State) -> dict[str, dict[str, object]]:
    """What an operator would put into tacker.conf, and what the tests need."""
    options = state.options
    run = folders.run
    drivers = ",".join(options.drivers)
    return {
        "DEFAULT": {
            "debug": options.debug,
            "auth_strategy": "keystone",
            "api_paste_config": folders.conf / "api-paste.ini",
            "bind_host": "127.0.0.1",
            "bind_port": state.ports["tacker-server"],
            "api_workers": 1,
            "state_path": run / "state",
            "transport_url": transport(state),
            "host": "local",
            "graceful_shutdown_timeout": 2,
            "db_synchronization_interval": options.sync,
        },
        "database": {"connection": database(state)},
        "oslo_concurrency": {"lock_path": run / "state" / "lock"},
        "coordination": {
            "backend_url": f"file://{run / 'state' / 'coordination'}"
        },
        "keystone_authtoken": {
            "auth_url": "http://127.0.0.1:9/v3",
            "username": "local",
            "password": "local",
        },
        # Tacker 16.0.0 registers no VIM without a key manager ...
        "k8s_vim": {"use_barbican": True},
        # ... so one that needs no service takes the keys.
        "key_manager": {"api_class": "local_keys.Keys"},
        "tacker": {
            # Tacker reads one for instantiating, the other for scaling.
            "vnflcm_infra_driver": f"openstack,{drivers}",
            "infra_driver": f"noop,openstack,{drivers}",
            "vnflcm_mgmt_driver": ",".join(options.management),
        },
        "vnf_package": {"vnf_package_csar_path": f"{run / 'csar'}/"},
        "glance_store": {
            "default_backend": "file",
            "filesystem_store_datadir": run / "glance",
        },
        "vnf_lcm": {
            # Tacker puts some paths behind it without a slash.
            "endpoint_url": f"{state.url}/",
            "test_callback_uri": False,
        },
        "v2_vnfm": {"endpoint": state.url},
        "v2_nfvo": {"test_callback_uri": False},
    }


def database(state: State) -> str:
    """The URL of the database."""
    port = state.ports["mariadb"]
    return (
        state.options.database
        or f"mysql+pymysql://tacker:tacker@127.0.0.1:{port}/tacker"
        "?charset=utf8"
    )


def transport(state: State) -> str:
    """The URL of the message queue."""
    port = state.ports["rabbitmq"]
    return state.options.transport or f"rabbit://guest:guest@127.0.0.1:{port}/"


def write(folders: Folders, state: State) -> None:
    """Write both files, and one with the settings that were asked for."""
    _write(folders.conf / "tacker.conf", sections(folders, state))
    settings: dict[str, dict[str, object]] = {}
    for name, value in state.options.settings:
        section, dot, option = name.partition(".")
        if not (section and dot and option):
            raise TackerError(f"{name}: wanted section.option")
        settings.setdefault(section, {})[option] = value
    _write(folders.conf / "settings.conf", settings)
    shipped = pathlib.Path(state.published, "etc/tacker/api-paste.ini")
    text = shipped.read_text()
    if _KEYSTONE not in text:
        raise TackerError(f"{shipped} names no {_KEYSTONE}")
    path = folders.conf / "api-paste.ini"
    path.write_text(text.replace(_KEYSTONE, _LOCAL_AUTH))


def _write(path: pathlib.Path, content: dict[str, dict[str, object]]) -> None:
    lines = []
    for section, options in content.items():
        lines.append(f"[{section}]")
        lines += [f"{name} = {value}" for name, value in options.items()]
        lines.append("")
    write_private(path, "\n".join(lines).encode())


def arguments(folders: Folders, state: State) -> list[str]:
    """The configuration files, as arguments of a service."""
    paths = [
        str(folders.conf / "tacker.conf"),
        *state.options.files,
        str(folders.conf / "settings.conf"),
    ]
    return [word for path in paths for word in ("--config-file", path)]
