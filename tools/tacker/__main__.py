"""The command line: ``python -m tools.tacker COMMAND``."""

from __future__ import annotations

import argparse
import functools
import os
import pathlib
import shlex
import sys

from tools.plane.errors import PlaneError
from tools.tacker import wheel
from tools.tacker.host import CONDUCTOR
from tools.tacker.host import Host
from tools.tacker.state import Options

# Lines appear as they come, into a pipe or a file too.
say = functools.partial(print, flush=True)

VERBS = ("start", "stop", "restart", "kill", "pause", "resume")


def main() -> int:
    arguments = _parser().parse_args()
    try:
        return int(
            arguments.call(arguments, Host.from_folder(arguments.folder, say))
            or 0
        )
    except PlaneError as error:
        print(f"tacker: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"tacker: ended by {interrupt or 'SIGINT'}", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.tacker",
        description="A real Tacker on this machine, on 127.0.0.1: its "
        "server and conductor, with MariaDB and RabbitMQ of their own.",
        epilog="XDG_CACHE_HOME names another folder for what is cached.",
    )
    parser.add_argument(
        "--folder",
        default="",
        help="where this host keeps all it has; another folder is another "
        "host (default: TACKER_RUN, else one for each user)",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, call: object, text: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=text, description=text)
        found.set_defaults(call=call)
        return found

    _options(command("up", _up, "start it with the current tree"))
    _options(
        command(
            "reload",
            _reload,
            "restart Tacker's services with the current tree",
        )
    )
    one = command("down", _down, "stop everything")
    one.add_argument("--keep", action="store_true", help="keep data and logs")
    command("status", _status, "processes that run, and their memory")
    command("env", _env, "lines for a shell: eval $(... env)")
    one = command("log", _log, "what a service wrote")
    one.add_argument("name", nargs="?", default=CONDUCTOR)
    for name in VERBS:
        one = command(name, _one_by_one, f"{name} services")
        one.add_argument("names", nargs="+", metavar="NAME")
        one.set_defaults(verb=name)
    return parser


def _options(parser: argparse.ArgumentParser) -> None:
    usual = Options()
    parser.add_argument(
        "--driver",
        action="append",
        help="an infrastructure driver, such as kubernetes for Tacker's own "
        f"(default: {','.join(usual.drivers)})",
    )
    parser.add_argument(
        "--management",
        action="append",
        help="a management driver of v1 "
        f"(default: {','.join(usual.management)})",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="FILE",
        help="one more configuration file",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.OPTION=VALUE",
        help="one more option of the configuration",
    )
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="PATH",
        help="a wheel or a source folder to install beside the project",
    )
    parser.add_argument(
        "--tree",
        default="",
        metavar="FOLDER",
        help="the project to install (default: the one that this is in)",
    )
    parser.add_argument("--sync", type=int, default=usual.sync)
    parser.add_argument("--debug", action="store_true")
    parser.add_argument(
        "--database",
        metavar="URL",
        default=os.environ.get("TACKER_DATABASE", ""),
        help="of one that runs, as Tacker's [database] connection; "
        "TACKER_DATABASE in the environment",
    )
    parser.add_argument(
        "--transport",
        metavar="URL",
        default=os.environ.get("TACKER_TRANSPORT", ""),
        help="of a RabbitMQ that runs, as Tacker's transport_url; "
        "TACKER_TRANSPORT in the environment",
    )


def _chosen(arguments: argparse.Namespace) -> Options:
    usual = Options()
    pairs = [text.partition("=") for text in arguments.set]
    return Options(
        drivers=tuple(arguments.driver or usual.drivers),
        management=tuple(arguments.management or usual.management),
        files=tuple(str(pathlib.Path(p).absolute()) for p in arguments.conf),
        settings=tuple((name, value) for name, _, value in pairs),
        plugins=tuple(
            str(pathlib.Path(p).absolute()) for p in arguments.plugin
        ),
        tree=arguments.tree and str(pathlib.Path(arguments.tree).absolute()),
        sync=arguments.sync,
        debug=arguments.debug,
        database=arguments.database,
        transport=arguments.transport,
    )


def _up(arguments: argparse.Namespace, host: Host) -> None:
    if not host.up(_chosen(arguments)):
        say(f"Tacker runs already at {host.url}")
    _env(arguments, host)


def _reload(arguments: argparse.Namespace, host: Host) -> None:
    host.reload(_chosen(arguments))


def _down(arguments: argparse.Namespace, host: Host) -> None:
    ran = host.down(keep=arguments.keep)
    say("Tacker is down" if ran else "nothing of Tacker was running")


def _status(_arguments: argparse.Namespace, host: Host) -> int:
    for name in host.table:
        identity = host.records[name]
        if identity is None:
            say(f"{name:18} not started")
        elif not identity.is_alive:
            say(f"{name:18} ended, see {host.folders.log(name)}")
        else:
            used = host.memory(name) / 2**20
            say(f"{name:18} process {identity.pid}, {used:.0f} MiB")
    installed = host.folders.environment / "made-of"
    tree = pathlib.Path(host.state.options.tree or wheel.ROOT)
    if wheel.digest(tree) not in installed.read_text():
        say("the tree has changed since: reload installs it")
    return 0 if host.running() else 1


def _env(_arguments: argparse.Namespace, host: Host) -> None:
    log = shlex.quote(str(host.folders.log(CONDUCTOR)))
    say(f"export TACKER_URL={host.url}")
    say(f"export TACKER_RUN={shlex.quote(str(host.folders.run))}")
    say(f"export TACKER_LOG={log}")


def _log(arguments: argparse.Namespace, host: Host) -> None:
    say(host.log(arguments.name))


def _one_by_one(arguments: argparse.Namespace, host: Host) -> None:
    getattr(host, arguments.verb)(*arguments.names)


if __name__ == "__main__":
    raise SystemExit(main())
