"""The plane's command line: ``python -m tools.plane COMMAND``."""

from __future__ import annotations

import argparse
import functools
import os
import pathlib
import shlex
import sys

from tools.balancer.routes import Mode
from tools.plane import binaries
from tools.plane import build
from tools.plane import host_cleanup
from tools.plane import images
from tools.plane import node
from tools.plane import stages
from tools.plane.errors import PlaneError
from tools.plane.lifecycle import PARTS
from tools.plane.lifecycle import Plane

# Lines appear as they come, into a pipe or a file too.
say = functools.partial(print, flush=True)


def main() -> int:
    arguments = _parser().parse_args()
    try:
        return int(
            arguments.call(arguments, Plane.from_environ(os.environ, say)) or 0
        )
    except PlaneError as error:
        print(f"plane: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"plane: ended by {interrupt or 'SIGINT'}", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.plane",
        description="A real control plane on this machine: etcd, "
        "Kubernetes, kwok and Cluster API, on 127.0.0.1.",
        epilog="PLANE_RUN names another folder for what runs, and with it "
        "PLANE_SHIFT a number to add to the ports; XDG_CACHE_HOME another "
        "folder for what was built.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, call: object, text: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=text, description=text)
        found.set_defaults(call=call)
        return found

    one = command("build", _build, "build what is missing")
    one.add_argument("names", nargs="*", metavar="NAME")
    one = command("up", _up, "build and start what is missing")
    one.add_argument(
        "--no-capi", action="store_true", help="without Cluster API"
    )
    one.add_argument(
        "--no-kwok", action="store_true", help="without nodes and Stages"
    )
    one.add_argument(
        "--node", action="store_true", help="with a real node too (as root)"
    )
    one.add_argument(
        "--servers",
        type=int,
        default=0,
        metavar="N",
        help="API servers, each with an etcd member of its own, behind a "
        "balancer (default: 1)",
    )
    one = command("down", _down, "end all of it")
    one.add_argument(
        "--keep", action="store_true", help="keep data, keys and logs"
    )
    command("status", _status, "what runs, and whether it answers")
    for name, text in (
        ("start", "start components"),
        ("stop", "stop components"),
        ("restart", "restart components"),
        ("kill", "end components by SIGKILL"),
        ("pause", "stop components by SIGSTOP, until they are resumed"),
        ("resume", "continue components that are paused"),
    ):
        one = command(name, _one_by_one, text)
        one.add_argument("names", nargs="+", metavar="NAME")
        one.set_defaults(verb=name)
    _route_parser(command("route", _route, "the balancer's routes"))
    command("env", _env, "lines for a shell: eval $(... env)")
    one = command("stages", _stages, "apply Stages and their definitions")
    one.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    _node_parser(command("node", None, "a real node beside kwok's, as root"))
    return parser


def _route_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", metavar="ROUTE")
    parser.add_argument(
        "--mode",
        choices=[mode.value for mode in Mode],
        help="pass: deliver all; hang: hold all; stale: hold what etcd "
        "sends on watches",
    )
    parser.add_argument(
        "--delay", type=float, metavar="SECONDS", help="of each byte"
    )
    rotation = parser.add_mutually_exclusive_group()
    rotation.add_argument(
        "--in", dest="in_rotation", action="store_true", default=None
    )
    rotation.add_argument(
        "--out",
        dest="in_rotation",
        action="store_false",
        help="give it no new connections (--in: give it some again)",
    )
    parser.add_argument(
        "--cut", action="store_true", help="reset its connections"
    )


def _node_parser(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, call, text in (
        ("up", _node_up, "add it to the running plane"),
        ("down", _node_down, "take it away with all that it left"),
        ("install", _node_install, "install the Debian packages it needs"),
        ("image", _node_image, "make an image of static binaries"),
    ):
        one = commands.add_parser(name, help=text, description=text)
        one.set_defaults(call=call)
    one.add_argument("name", metavar="NAME", help="such as localhost/web:1")
    one.add_argument(
        "files", nargs="+", metavar="BINARY[:PATH]", help="PATH is inside"
    )
    one.add_argument(
        "--entrypoint", required=True, metavar="COMMAND", help="one string"
    )


def _build(arguments: argparse.Namespace, plane: Plane) -> None:
    unknown = [n for n in arguments.names if n not in binaries.ALL]
    if unknown:
        raise PlaneError(
            f"no binary {', '.join(unknown)}; there are "
            f"{', '.join(binaries.ALL)}"
        )
    usual = [*binaries.CONTROL_PLANE, *binaries.KWOK, *binaries.CLUSTER_API]
    named = [binaries.ALL[name] for name in arguments.names]
    build.build(plane.store, named or usual, say)
    say(f"binaries are in {plane.store.folder}")


def _up(arguments: argparse.Namespace, plane: Plane) -> None:
    left_out = set()
    if arguments.no_capi:
        left_out.add("cluster api")
    if arguments.no_kwok:
        left_out.add("kwok")
    parts = [part for part in PARTS if part not in left_out]
    if not plane.up(parts, arguments.servers):
        say("the plane runs already")
    if arguments.node:
        _node_up(arguments, plane)
    say(f"export KUBECONFIG={shlex.quote(str(plane.folders.kubeconfig))}")


def _down(arguments: argparse.Namespace, plane: Plane) -> None:
    node.down(plane)
    ran = plane.down(keep=arguments.keep)
    say("the plane is down" if ran else "nothing of the plane was running")


def _status(_arguments: argparse.Namespace, plane: Plane) -> int:
    broken = False
    for name, component in plane.table.items():
        identity = plane.records[name]
        if identity is None:
            if component.part == "node":
                continue
            state = "not started"
        elif identity.is_paused:
            broken = True
            state = f"paused, process {identity.pid}"
        elif plane.is_working(component):
            state = f"ready, process {identity.pid}"
        else:
            broken = True
            state = "does not answer" if identity.is_alive else "exited"
            state += f", see {plane.folders.log(name)}"
        say(f"{name:24} {state}")
    return 1 if broken or not plane.records.names() else 0


def _one_by_one(arguments: argparse.Namespace, plane: Plane) -> None:
    if arguments.verb == "restart":
        plane.stop(arguments.names)
        plane.start(arguments.names)
    else:
        getattr(plane, arguments.verb)(arguments.names)


def _route(arguments: argparse.Namespace, plane: Plane) -> None:
    order = {
        key: value
        for key, value in (
            ("mode", arguments.mode),
            ("delay", arguments.delay),
            ("in_rotation", arguments.in_rotation),
            ("cut", arguments.cut or None),
        )
        if value is not None
    }
    try:
        if order and not arguments.name:
            raise PlaneError("a route is required; see `route` without one")
        if order:
            plane.balancer.change(arguments.name, **order)
        for name, route in plane.balancer.routes().items():
            if arguments.name in ("", name):
                rotation = "in" if route["in_rotation"] else "out"
                say(
                    f"{name:24} {route['mode']}, {rotation}, delay "
                    f"{route['delay']:g} s, "
                    f"{route['connections']} connection(s)"
                )
    except (OSError, ValueError) as error:
        raise PlaneError(f"the balancer: {error}") from None


def _env(_arguments: argparse.Namespace, plane: Plane) -> None:
    kubeconfig = shlex.quote(str(plane.folders.kubeconfig))
    folder = shlex.quote(str(plane.store.folder))
    say(f"export KUBECONFIG={kubeconfig}")
    say(f"export PATH={folder}:$PATH")


def _stages(arguments: argparse.Namespace, plane: Plane) -> None:
    found = stages.documents(arguments.files)
    stages.add(plane.kubectl, found)
    say(f"{len(found)} objects applied")


def _node_up(_arguments: argparse.Namespace, plane: Plane) -> None:
    if not node.up(plane):
        say("the real node is up already")


def _node_down(_arguments: argparse.Namespace, plane: Plane) -> None:
    if not node.down(plane):
        say("there was no real node")


def _node_install(_arguments: argparse.Namespace, _plane: Plane) -> None:
    missing = host_cleanup.packages_missing()
    if missing:
        host_cleanup.install(missing)
    say(f"installed: {' '.join(missing) or 'nothing, all are there'}")


def _node_image(arguments: argparse.Namespace, plane: Plane) -> None:
    files = {}
    for given in arguments.files:
        source, _, inside = given.partition(":")
        path = pathlib.Path(source)
        files[inside or f"/bin/{path.name}"] = images.executable(path)
    command = shlex.split(arguments.entrypoint)
    node.add_image(plane, arguments.name, files, command)
    say(f"{arguments.name}: the node has it")


if __name__ == "__main__":
    raise SystemExit(main())
