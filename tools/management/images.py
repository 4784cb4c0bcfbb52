"""The images that the package names, for the plane's real node."""

from __future__ import annotations

from collections.abc import Callable
import pathlib

from tools.management.package_folder import PROVIDERS
from tools.plane import binaries
from tools.plane import build
from tools.plane import golang
from tools.plane import images
from tools.plane import modules
from tools.plane import node
from tools.plane.lifecycle import Plane

PrintLine = Callable[[str], object]

OPERATOR = pathlib.Path(__file__).resolve().parent / "operator"
CERTS = "localhost/certs:v1"


def names() -> dict[str, str]:
    """By image, the plane's binary that it is made of."""
    version = modules.required(modules.text("capi"), "sigs.k8s.io/cluster-api")
    return {f"localhost/{p.binary}:{version}": p.binary for p in PROVIDERS}


def add(plane: Plane, print_line: PrintLine) -> None:
    """Make the images, and make them known to the node of the plane."""
    build.build(plane.store, binaries.CLUSTER_API, print_line)
    built = {name: plane.store.path(one) for name, one in names().items()}
    built[CERTS] = build_operator(plane, print_line)
    for name, path in built.items():
        files = {"/manager": images.executable(path)}
        node.add_image(plane, name, files, ["/manager"])
        print_line(f"{name}: the node has it")


def build_operator(plane: Plane, print_line: PrintLine) -> pathlib.Path:
    """The package's certificate manager, built again if it was changed."""
    out = plane.store.folder / "certs"
    print_line("certs: about 30 s when nothing is cached")
    golang.build(OPERATOR, out, print_line)
    return out
