"""The processes of a host, and how to see that they answer."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import http.client
import os
import pathlib
import socket

import amqp
import kombu

from tools.tacker import configuration
from tools.tacker import packages
from tools.tacker.folders import Folders
from tools.tacker.state import State

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ON_PATH = pathlib.Path(__file__).resolve().parent / "inside"

QUEUES = ("TACKER_CONDUCTOR", "TACKER_CONDUCTOR_V2")
"""Where a conductor takes its work from, of v1 and of v2."""


@dataclasses.dataclass(frozen=True)
class Service:
    """One process of a host.

    :param patience: seconds between asking it to end and ending it.
    """

    name: str
    command: tuple[str, ...]
    environ: Mapping[str, str]
    is_ready: Callable[[], bool]
    patience: float = 10.0


def table(folders: Folders, state: State) -> dict[str, Service]:
    """All of them, in the order of their start."""
    found = []
    if not state.options.database:
        found.append(_mariadb(folders, state))
    if not state.options.transport:
        found += [_epmd(folders, state), _rabbitmq(folders, state)]
    found += [_conductor(folders, state), _server(folders, state)]
    return {service.name: service for service in found}


def environ(folders: Folders, **more: str) -> dict[str, str]:
    return {
        "HOME": str(folders.run),
        "LC_ALL": "C.UTF-8",
        "PATH": PATH,
        **more,
    }


def _mariadb(folders: Folders, state: State) -> Service:
    port = state.ports["mariadb"]
    command = [
        packages.MARIADB,
        "--no-defaults",
        *as_user(),
        f"--datadir={folders.database / 'data'}",
        f"--socket={folders.database / 'socket'}",
        f"--pid-file={folders.database / 'pid'}",
        f"--port={port}",
        "--bind-address=127.0.0.1",
        "--skip-name-resolve",
        # A killed process loses nothing; a power cut does not matter here.
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-log-file-size=16M",
        "--max-connections=1000",
        # On a busy machine a greeting may take longer than ten seconds.
        "--connect-timeout=120",
        "--back-log=900",
    ]
    return Service(
        "mariadb",
        tuple(command),
        database_environ(folders),
        lambda: is_listening(port),
        30.0,
    )


def database_environ(folders: Folders) -> dict[str, str]:
    """A server that starts removes the temporary tables of all others."""
    return environ(folders, TMPDIR=str(folders.database))


def as_user() -> list[str]:
    """MariaDB wants to hear it when root means root."""
    return [] if os.getuid() else ["--user=root"]


def _erlang(folders: Folders, state: State) -> dict[str, str]:
    return environ(
        folders,
        HOME=str(folders.queue),
        ERL_EPMD_PORT=str(state.ports["epmd"]),
        ERL_EPMD_ADDRESS="127.0.0.1",
    )


def _epmd(folders: Folders, state: State) -> Service:
    port = state.ports["epmd"]
    return Service(
        "epmd",
        (packages.EPMD, "-address", "127.0.0.1", "-port", str(port)),
        _erlang(folders, state),
        lambda: is_listening(port),
        0,
    )


def _rabbitmq(folders: Folders, state: State) -> Service:
    port = state.ports["rabbitmq"]
    plugins = folders.queue / "enabled_plugins"
    waits = "+sbwt none +sbwtdcpu none +sbwtdio none"
    return Service(
        "rabbitmq",
        (packages.RABBITMQ,),
        {
            **_erlang(folders, state),
            # Then the script becomes the server, instead of starting it.
            "RUNNING_UNDER_SYSTEMD": "true",
            "RABBITMQ_NODENAME": f"tacker-{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(state.ports["rabbitmq-dist"]),
            "RABBITMQ_MNESIA_BASE": str(folders.queue / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folders.logs),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
            "RABBITMQ_CONFIG_FILE": str(folders.queue / "none"),
            "RABBITMQ_CONF_ENV_FILE": str(folders.queue / "none-env.conf"),
            "RABBITMQ_PID_FILE": str(folders.queue / "pid"),
            # Idle schedulers spin otherwise, on a machine that has few cores.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": waits
            + " -kernel inet_dist_use_interface {127,0,0,1}",
        },
        lambda: is_listening(port),
        30.0,
    )


def tacker_environ(folders: Folders) -> dict[str, str]:
    programs = folders.environment / "bin"
    return environ(
        folders,
        PATH=f"{programs}:{PATH}",
        PYTHONPATH=str(ON_PATH),
        PYTHONWARNINGS="ignore",
        LOCAL_KEYS=str(folders.run / "keys"),
    )


def program(folders: Folders, state: State, name: str) -> tuple[str, str]:
    """One of Tacker's programs, with the host's own Python."""
    return (
        str(folders.environment / "bin" / "python"),
        str(pathlib.Path(state.published) / "bin" / name),
    )


def _conductor(folders: Folders, state: State) -> Service:
    return Service(
        "tacker-conductor",
        (
            *program(folders, state, "tacker-conductor"),
            *configuration.arguments(folders, state),
        ),
        tacker_environ(folders),
        lambda: has_consumer(configuration.transport(state)),
        # Its first process sleeps in a thread that holds up its end.
        3.0,
    )


def _server(folders: Folders, state: State) -> Service:
    port = state.ports["tacker-server"]
    return Service(
        "tacker-server",
        (
            *program(folders, state, "tacker-server"),
            *configuration.arguments(folders, state),
        ),
        tacker_environ(folders),
        lambda: is_responding(port),
        3.0,
    )


def is_logged(folders: Folders, name: str, since: int = 0) -> str:
    """What a service wrote to its log, from a place on."""
    try:
        with open(folders.log(name), "rb") as file:
            file.seek(since)
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def is_listening(port: int) -> bool:
    """Whether a server accepts connections."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def has_consumer(transport: str) -> bool:
    """Whether the conductor's queues have consumers."""
    url = transport.replace("rabbit://", "amqp://", 1)
    try:
        with kombu.Connection(url, connect_timeout=5) as connection:
            channel = connection.channel()
            return all(
                channel.queue_declare(queue=name, passive=True).consumer_count
                for name in QUEUES
            )
    # While there is no such queue, the channel is closed with an error.
    except (OSError, amqp.AMQPError):
        return False


def is_responding(port: int) -> bool:
    """Whether an HTTP server answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
