"""What the files other than code promise each other."""

from __future__ import annotations

import ast
import configparser
import functools
import graphlib
import importlib
import importlib.metadata
import inspect
import pathlib
import pkgutil
import re
import sys

import grimp
import pytest

import tacker_k8s_cr
from tacker_k8s_cr.model import errors

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _entry_points() -> list[importlib.metadata.EntryPoint]:
    setup = configparser.ConfigParser(delimiters=["="])
    setup.read(ROOT / "setup.cfg")
    return [
        importlib.metadata.EntryPoint(*map(str.strip, line.split("=")), group)
        for group, lines in setup["entry_points"].items()
        for line in lines.strip().splitlines()
    ]


# Tacker warns about what it imports, each of its parts in its own way.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "entry_point",
    [
        pytest.param(entry_point, id=f"{entry_point.group}:{entry_point.name}")
        for entry_point in _entry_points()
    ],
)
def test_every_entry_point_can_be_loaded(entry_point):
    """What setup.cfg names for others to load can be loaded and called."""
    if entry_point.group.startswith("tacker."):
        pytest.importorskip("tacker", reason="Tacker is not installed")

    assert callable(entry_point.load())


def _public_errors() -> dict[str, type[errors.Error]]:
    """Every class of error in the package, offered by ``errors`` or not."""
    found = {}
    for module in pkgutil.iter_modules(
        errors.__path__, "tacker_k8s_cr.model.errors."
    ):
        for name, value in vars(importlib.import_module(module.name)).items():
            if (
                inspect.isclass(value)
                and issubclass(value, errors.Error)
                and value is not errors.Error
                and not name.startswith("_")
            ):
                found[name] = value
    return found


PUBLIC_ERRORS = _public_errors()


def test_every_error_is_exported_by_one_module():
    """Callers import ``errors`` and no module below it."""
    offered = {
        name: value
        for name, value in vars(errors).items()
        if name in errors.__all__ and name in PUBLIC_ERRORS
    }

    assert PUBLIC_ERRORS == offered


def test_the_page_of_errors_has_each_of_them_and_no_other():
    """It has the meaning and the next step of every class of error."""
    page = (ROOT / "doc/source/admin/errors.rst").read_text()
    told = re.findall(r"^([A-Z]\w+)\n    \S", page, re.MULTILINE)

    assert sorted(PUBLIC_ERRORS) == sorted(told)


@pytest.mark.parametrize("name", ["requirements.txt", "test-requirements.txt"])
def test_a_dependency_states_its_licence_and_its_reason(name):
    """Each line names a licence and, after two spaces, what it is for."""
    lines = (ROOT / name).read_text().splitlines()

    assert [] == [
        line
        for line in lines
        if not line.startswith("#") and not re.search(r"  # \S+  \S", line)
    ]


@pytest.mark.requirement("M4")
def test_a_public_name_is_in_the_reference():
    """What the package itself offers is on the page of the library."""
    page = (ROOT / "doc/source/reference/library.rst").read_text()
    described = set(re.findall(r"~tacker_k8s_cr\.[\w.]*?(\w+)`", page))

    assert set(tacker_k8s_cr.__all__) == described


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _required(*names: str) -> set[str]:
    lines = "\n".join((ROOT / name).read_text() for name in names)
    found = re.findall(r"^([A-Za-z][\w.-]*)", lines, re.MULTILINE)
    return {_normal(name) for name in found}


def test_no_import_cycle():
    """No module imports itself through other modules, at any depth.

    Imports inside functions and for type checks count like any other.
    """
    graph = grimp.build_graph("tacker_k8s_cr", "mgmt_drivers", cache_dir=None)
    imported = {
        module: graph.find_modules_directly_imported_by(module)
        for module in graph.modules
    }

    order = list(graphlib.TopologicalSorter(imported).static_order())

    assert len(order) == len(imported) > 300


@functools.cache
def _tree(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text())


def _imported(*folders: str) -> set[str]:
    """Top-level names that the modules in these folders import."""
    found = set()
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(_tree(path)):
                if isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    found.add(node.module)
    return {name.partition(".")[0] for name in found}


@pytest.mark.skipif(
    sys.version_info < (3, 11),
    reason="Python 3.10 cannot tell the distributions of all packages",
)
@pytest.mark.parametrize(
    ("folders", "requirements"),
    [
        (["tacker_k8s_cr"], ["requirements.txt"]),
        (
            ["tacker_k8s_cr", "mgmt_drivers", "tests", "tools"],
            ["requirements.txt", "test-requirements.txt"],
        ),
    ],
)
def test_what_is_imported_is_required(folders, requirements):
    """No library is there only because another one brings it.

    Tacker, with the library of its database, is the host and no requirement;
    mitmproxy has an environment of its own.
    """
    ours = {"tacker_k8s_cr", "mgmt_drivers", "tests", "tools"}
    ours |= {"receiver", "vims"}  # of samples/receiver
    inside = (ROOT / "tools/upstream/inside").glob("*.py")
    ours |= {path.stem for path in inside}  # pytest's path has this folder
    host = {"mitmproxy", "oslo_db", "tacker"}
    others = _imported(*folders) - set(sys.stdlib_module_names) - ours - host
    brought = importlib.metadata.packages_distributions()
    required = _required(*requirements)

    assert [] == [
        name
        for name in sorted(others)
        if not {_normal(dist) for dist in brought.get(name, [])} & required
    ]


@pytest.mark.parametrize(
    "page",
    [
        path.relative_to(ROOT).as_posix()
        for pattern in ("*.rst", "doc/source/**/*.rst")
        for path in sorted(ROOT.glob(pattern))
    ],
)
def test_a_page_names_targets_that_exist(page):
    """Every ``make target`` in the documents is one of the Makefile."""
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))
    text = (ROOT / page).read_text()

    named = re.findall(
        r"(?:``|^ +(?:\$ )?)make ([a-z0-9-]+)", text, re.MULTILINE
    )

    assert set() == set(named) - targets


def test_every_target_has_a_description():
    """A user would not find a target without a line in ``make help``."""
    makefile = (ROOT / "Makefile").read_text()
    declared = set(
        re.findall(r"^\.PHONY: ([a-z0-9-]+)$", makefile, re.MULTILINE)
    )

    listed = set(
        re.findall(r"^([a-z0-9-]+):.*  ## \S", makefile, re.MULTILINE)
    )

    assert declared == listed


@pytest.mark.parametrize(
    "path",
    [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
    ],
)
def test_a_test_states_its_behaviour(path):
    """Every test has a docstring."""
    tree = _tree(ROOT / path)

    assert [] == [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]


@pytest.mark.requirement("TK-11")
def test_the_package_names_no_infrastructure_provider():
    """Kinds of Cluster API's providers are recognized by the contract only."""
    providers = "aws|azure|byo|dev|docker|gcp|hetzner|ibm|ionos|linode|maas"
    providers += "|metal3|nutanix|oci|openstack|proxmox|tinkerbell|vsphere"
    kinds = re.compile(rf"\b(?:{providers})(?:cluster|machine)", re.I)

    assert [] == [
        f"{path.relative_to(ROOT)}: {found}"
        for path in sorted((ROOT / "tacker_k8s_cr").rglob("*.py"))
        for found in kinds.findall(path.read_text())
    ]
