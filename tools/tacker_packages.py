"""Packs and loads every package that comes with Tacker's source.

``python -m tools.tacker_packages TREE`` looks through the source distribution
of Tacker that is unpacked at TREE: its samples, the packages of its tests, and
the guides in its documentation. Each package with Kubernetes manifests is
packed as Tacker's tests and guides pack it (the ETSI type files beside the
definitions, files of other folders where they are listed, the hashes computed)
and loaded with our reader, once for each flavour. The exit code is 1 if one of
them is refused.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import pathlib
import re
import sys
import tempfile
import textwrap
import zipfile

import yaml

from tacker_k8s_cr import package
from tacker_k8s_cr.model import errors

META = "TOSCA-Metadata/TOSCA.meta"
SAMPLES = "samples"
GUIDES = "doc/source"
TYPES = "samples/tests/functional/sol_kubernetes_v2/common/Definitions"
COMMON = "common_artifact"
"""A folder beside packages, with definitions that Tacker's tests add."""

REFUSED = re.compile(
    r"^samples/tests/unit/|_(false|missing)\w*$|"
    r"^samples/tests/etc/samples/sample_vnf_package_csar_in_meta"
)
"""Packages that Tacker refuses too: they are wrong on purpose, parts of
packages for unit tests, or of a provider that their types do not allow."""

_MANIFEST = re.compile(r"Files/\w*kubernetes/.*\.(ya?ml|json)|://.*\.ya?ml")
_BLOCK = re.compile(r"\n\n+")
_CAT = re.compile(r"^\s*\$ cat (\S+)\s*$", re.MULTILINE)
_ENDING = re.compile(r"^\s*(\$ |\.\. )", re.MULTILINE)

Content = Mapping[str, bytes]
"""The files of a package, by their paths in it."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one package.

    :param flavours: those that were loaded, each with what was found.
    :param refused: why it was refused; empty if it was not.
    """

    path: str
    flavours: Mapping[str, str]
    refused: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.tacker_packages",
        description="Load every package that comes with Tacker's source.",
    )
    parser.add_argument("tree", type=pathlib.Path, help="unpacked source")
    tree = parser.parse_args(argv).tree
    outcomes = list(check_packages(tree))
    for outcome in outcomes:
        found = outcome.refused or ", ".join(
            f"{flavour}: {what}" for flavour, what in outcome.flavours.items()
        )
        print(f"{'REFUSED' if outcome.refused else 'loaded':8}", end=" ")
        print(f"{outcome.path}: {found}")
    refused = [outcome for outcome in outcomes if outcome.refused]
    print(f"{len(outcomes)} packages, {len(refused)} refused")
    return 1 if refused or not outcomes else 0


def check_packages(tree: pathlib.Path) -> Iterator[Outcome]:
    """Load every package of a source tree."""
    types = {
        f"Definitions/{file.name}": file.read_bytes()
        for file in sorted((tree / TYPES).glob("*.yaml"))
    }
    for place, content in (*folders(tree), *guides(tree)):
        yield _loaded(place, {**types, **content})


def _loaded(place: str, content: Content) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "package.zip")
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in sorted(check_hashes(content).items()):
                archive.writestr(name, data)
        try:
            found = {
                flavour: _read(path, flavour, content)
                for flavour in _flavours(content)
            }
        except errors.Error as error:
            return Outcome(place, {}, str(error))
    return Outcome(place, found)


def _read(path: pathlib.Path, flavour: str, content: Content) -> str:
    """What a flavour of a package has; its URLs are files beside it."""
    urls = [name for name, _ in listed(content) if "://" in name]

    def fetch(url: str, most: int) -> bytes:
        return content[f"Files/kubernetes/{url.rpartition('/')[2]}"][:most]

    loaded = package.load(
        path, flavour=flavour, def_files=urls or None, fetch=fetch
    )
    vdus = len(loaded.vnfd.vdus) if loaded.vnfd else 0
    return f"{len(loaded.documents)} manifests, {vdus} VDUs"


def _flavours(content: Content) -> list[str]:
    found = []
    for name, data in sorted(content.items()):
        if name.count("/") < 2 and name.endswith((".yaml", ".yml")):
            match = re.search(rb"^\s+flavour_id: (\w+)$", data, re.MULTILINE)
            if match and b"substitution_mappings" in data:
                found.append(match[1].decode())
    return list(dict.fromkeys(found)) or [""]


# -- Folders ------------------------------------------------------------------


def folders(tree: pathlib.Path) -> Iterator[tuple[str, Content]]:
    """The packages in folders, with files that other folders lend them."""
    metas = (meta.parent.parent for meta in (tree / SAMPLES).rglob("*.meta"))
    # Without TOSCA.meta: definitions and a manifest file of the same name.
    roots = (
        manifest.parent
        for manifest in (tree / SAMPLES).rglob("*.mf")
        if manifest.with_suffix(".yaml").exists()
    )
    for folder in sorted({*metas, *roots}):
        place = folder.relative_to(tree).as_posix()
        content = _files(folder)
        entry = _entry(content)
        if entry not in content:
            content = {**_files(folder.parent / COMMON), **content}
        names = [name for name, _ in listed(content)]
        if (
            REFUSED.search(place)
            or entry not in content
            or not any(map(_MANIFEST.search, names))
        ):
            continue
        lent = (_lent(tree, folder, n) for n in names if n not in content)
        yield place, {**content, **dict(filter(None, lent))}


def _files(folder: pathlib.Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def _entry(content: Content) -> str:
    if META not in content:
        return next(name for name in content if "/" not in name)
    found = yaml.safe_load(_BLOCK.split(content[META].decode())[0])
    return str(found.get("Entry-Definitions"))


def _lent(
    tree: pathlib.Path, folder: pathlib.Path, name: str
) -> tuple[str, bytes] | None:
    """A file that a package lists and a folder near it has."""
    base = name.rpartition("/")[2]
    for above in folder.parents:
        if "://" in name or not above.is_relative_to(tree):
            return None
        if found := sorted(above.rglob(base)):
            return name, found[0].read_bytes()
    return None


# -- Guides -------------------------------------------------------------------


def guides(tree: pathlib.Path) -> Iterator[tuple[str, Content]]:
    """The packages that guides show, file by file, by ``$ cat``."""
    for guide in sorted((tree / GUIDES).rglob("*.rst")):
        content = dict(_shown(guide.read_text()))
        if META in content and any(map(_MANIFEST.search, content)):
            place = guide.relative_to(tree).as_posix()
            # A guide may show one of the files that it lists.
            yield place, {**content, META: _only(content)}


def _shown(text: str) -> Iterator[tuple[str, bytes]]:
    for found in _CAT.finditer(text):
        rest = text[found.end() :]
        end = _ENDING.search(rest)
        indent = len(found[0]) - len(found[0].lstrip("\n").lstrip())
        lines = (rest[: end.start()] if end else rest).split("\n")
        inside = [
            line
            for line in lines
            if not line.strip() or line.startswith(" " * min(indent, 2))
        ]
        content = textwrap.dedent("\n".join(inside)).strip() + "\n"
        path = re.sub(r"^(\./)?(deployment/)?", "", found[1])
        if "/" not in path:
            path = f"Definitions/{path}"
        yield path, content.encode()


def _only(content: Content) -> bytes:
    blocks = _BLOCK.split(content[META].decode())
    kept = [
        block
        for block in blocks
        if (name := _name(block)) is None or name in content
    ]
    return "\n\n".join(kept).encode()


# -- What a package lists -----------------------------------------------------


def listed(content: Content) -> Iterator[tuple[str, str]]:
    """The artifacts, each with the file that lists it."""
    for file in content:
        if file == META or file.endswith(".mf"):
            for block in _BLOCK.split(content[file].decode()):
                if name := _name(block):
                    yield name, file


def _name(block: str) -> str | None:
    fields = yaml.safe_load(block)
    if not isinstance(fields, dict):
        return None
    return fields.get("Name") or fields.get("Source")


def check_hashes(content: Content) -> dict[str, bytes]:
    """The files, with the hashes of those that are there."""
    changed = dict(content)
    for file in {file for _, file in listed(content)}:
        blocks = []
        for block in _BLOCK.split(content[file].decode()):
            name = _name(block)
            algorithm = re.search(r"^Algorithm: *(\S+)", block, re.MULTILINE)
            if name and name in content and algorithm:
                kind = algorithm[1].lower().replace("-", "")
                digest = hashlib.new(kind, content[name]).hexdigest()
                block = re.sub(r"(?m)^Hash:.*$", f"Hash: {digest}", block)
            blocks.append(block)
        changed[file] = "\n\n".join(blocks).encode()
    return changed


if __name__ == "__main__":
    sys.exit(main())
