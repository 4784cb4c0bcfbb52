"""Makes the package, and the images that it names.

``python -m tools.management package`` and ``... images``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import functools
import os
import pathlib
import sys

from tools import csar
from tools.management import images
from tools.management import package_folder
from tools.plane.binaries import Store
from tools.plane.errors import PlaneError
from tools.plane.lifecycle import Plane

# Lines appear as they come, into a pipe or a file too.
say = functools.partial(print, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.management",
        description="A VNF package that makes a Cluster API management "
        "cluster of an empty one.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    text = "complete the sample from the Go modules, as folder and CSAR"
    one = commands.add_parser("package", help=text, description=text)
    one.set_defaults(call=_package)
    one.add_argument(
        "-o",
        "--out",
        type=pathlib.Path,
        default=csar.ROOT / "build" / package_folder.SAMPLE.name,
        help="the folder; the CSAR lies beside it, and ends in .zip",
    )
    one.add_argument(
        "--etsi-types",
        type=pathlib.Path,
        metavar="DIR",
        help="ETSI SOL001 type files; else those of the installed Tacker",
    )
    text = "give the package's images to the plane's real node, as root"
    one = commands.add_parser("images", help=text, description=text)
    one.set_defaults(call=_images)
    given = parser.parse_args(arguments)
    try:
        given.call(given)
    except (csar.CsarError, PlaneError) as error:
        print(f"management: {error}", file=sys.stderr)
        return 1
    return 0


def _package(given: argparse.Namespace) -> None:
    folder = package_folder.compose(
        given.out, Store.from_environ(os.environ), say
    )
    say(str(folder))
    packed = folder.with_name(f"{folder.name}.zip")
    say(str(csar.build(folder, packed, etsi_types=given.etsi_types)))


def _images(_given: argparse.Namespace) -> None:
    plane = Plane.from_environ(os.environ, say)
    if plane.unavailable(["node"]):
        raise PlaneError(
            "there is no real node: python -m tools.plane node up"
        )
    images.add(plane, say)


if __name__ == "__main__":
    sys.exit(main())
