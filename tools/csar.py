"""Builds the CSAR of a sample, or of any folder that is laid out like one.

``python -m tools.csar FOLDER -o OUT.zip`` packs the folder, puts in the ETSI
type files and the management driver's file, and writes TOSCA.meta with the
hash of every artifact. The folder's ``csar.yaml`` contains what a builder
cannot derive. Without a folder all samples are built, with all their variants,
except those whose files have to be fetched first. The same input gives the
same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import importlib.util
import pathlib
import sys
from typing import Any
import zipfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples" / "vnf_packages"

_META = "TOSCA-Metadata/TOSCA.meta"
_TYPES = (
    "etsi_nfv_sol001_common_types.yaml",
    "etsi_nfv_sol001_vnfd_types.yaml",
)
# Tacker's wheel has them only with its tests.
_IN_TACKER = "tests/unit/vnfm/infra_drivers/openstack/data/etsi_nfv"
_CONTENT = {
    ".json": "application/json",
    ".py": "text/x-python",
    ".sh": "text/x-shellscript",
    ".yaml": "text/yaml",
    ".yml": "text/yaml",
}
_EPOCH = (1980, 1, 1, 0, 0, 0)


class CsarError(Exception):
    """Why no CSAR can be built of a folder."""


@dataclasses.dataclass(frozen=True)
class Hook:
    """A file that carries out hooks: its path in the CSAR, and its source.

    ``source`` is below the root of this repository.
    """

    file: str
    source: str


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The contents of ``csar.yaml``.

    :param needs: files of the package that another command adds.
    """

    entry: str
    management: tuple[Hook, ...]
    variants: Mapping[str, Mapping[str, str]]
    needs: tuple[str, ...]


def read_recipe(folder: pathlib.Path) -> Recipe:
    """Read and check the folder's ``csar.yaml``."""
    path = folder / "csar.yaml"
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        management = tuple(
            Hook(str(hook["file"]), str(hook["from"]))
            for hook in content.get("management") or ()
        )
        variants = {
            str(name): {str(old): str(new) for old, new in pairs.items()}
            for name, pairs in (content.get("variants") or {}).items()
        }
        needs = tuple(str(name) for name in content.get("needs") or ())
        return Recipe(str(content["entry"]), management, variants, needs)
    except OSError as error:
        raise CsarError(f"{path}: {error.strerror}") from error
    except (AttributeError, KeyError, TypeError, yaml.YAMLError) as error:
        raise CsarError(
            f"{path}: wanted entry, and perhaps management (a list of file "
            "and from), variants (by name: texts) and needs (a list of "
            f"files); found fault: {error}"
        ) from error


def whole_samples() -> list[pathlib.Path]:
    """The samples of which no file has to be fetched first."""
    return [
        path.parent
        for path in sorted(SAMPLES.glob("*/csar.yaml"))
        if not read_recipe(path.parent).needs
    ]


def build(
    folder: pathlib.Path,
    out: pathlib.Path,
    *,
    etsi_types: pathlib.Path | None = None,
    variant: str = "",
) -> pathlib.Path:
    """Write the CSAR of a folder, and return its path.

    :param etsi_types: a folder with the ETSI SOL001 type files; those of an
        installed Tacker where it is None.
    :param variant: of those in ``csar.yaml``; empty for the folder as it is.
    """
    how = read_recipe(folder)
    files = _replace_text(_collect_files(folder), how, variant)
    if how.entry not in files:
        raise CsarError(f"{folder}: the entry {how.entry} does not exist")
    if unavailable := [name for name in how.needs if name not in files]:
        raise CsarError(
            f"{folder}: {', '.join(unavailable)} missing; csar.yaml describes "
            "how the files are created"
        )
    files.update(_hooks(how))
    artifacts = {
        name: content
        for name, content in files.items()
        if not name.startswith("Definitions/")
    }
    for name, content in _etsi(etsi_types).items():
        files.setdefault(f"Definitions/{name}", content)
    files[_META] = _meta(how.entry, artifacts)
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[name])
    return out


def _collect_files(folder: pathlib.Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in name.parts)
        if path.is_file() and not hidden and name.name != "csar.yaml":
            found[name.as_posix()] = path.read_bytes()
    return found


def _replace_text(
    files: Mapping[str, bytes], how: Recipe, variant: str
) -> dict[str, bytes]:
    if not variant:
        return dict(files)
    if variant not in how.variants:
        has = ", ".join(how.variants) or "none"
        raise CsarError(f"no variant {variant}; there are: {has}")
    found = dict(files)
    for old, new in how.variants[variant].items():
        if not any(old.encode() in content for content in found.values()):
            raise CsarError(f"variant {variant}: {old} is in no file")
        for name, content in found.items():
            found[name] = content.replace(old.encode(), new.encode())
    return found


def _hooks(how: Recipe) -> dict[str, bytes]:
    """The files that carry out hooks, by their path in the CSAR."""
    found = {}
    for hook in how.management:
        source = ROOT / hook.source
        try:
            found[hook.file] = source.read_bytes()
        except OSError as error:
            raise CsarError(f"{source}: {error.strerror}") from error
    return found


def _etsi(folder: pathlib.Path | None) -> dict[str, bytes]:
    if folder is None:
        found = importlib.util.find_spec("tacker")
        if found is None or found.origin is None:
            raise CsarError(
                "Tacker is not installed here, which brings the ETSI type "
                "files; name a folder that has them with --etsi-types"
            )
        folder = pathlib.Path(found.origin).parent / _IN_TACKER
    try:
        return {name: (folder / name).read_bytes() for name in _TYPES}
    except OSError as error:
        raise CsarError(f"{error.filename}: {error.strerror}") from error


def _meta(entry: str, artifacts: Mapping[str, bytes]) -> bytes:
    blocks = [
        "TOSCA-Meta-File-Version: 1.0\n"
        "Created-By: tacker_k8s_cr tools.csar\n"
        "CSAR-Version: 1.1\n"
        f"Entry-Definitions: {entry}\n"
    ]
    for name in sorted(artifacts):
        suffix = pathlib.PurePosixPath(name).suffix
        content = _CONTENT.get(suffix, "application/octet-stream")
        digest = hashlib.sha256(artifacts[name]).hexdigest()
        blocks.append(
            f"Name: {name}\nContent-Type: {content}\n"
            f"Algorithm: SHA-256\nHash: {digest}\n"
        )
    return "\n".join(blocks).encode()


def build_all(
    folder: pathlib.Path,
    *,
    etsi_types: pathlib.Path | None = None,
) -> list[pathlib.Path]:
    """Build all whole samples and their variants into a folder."""
    built = []
    for sample in whole_samples():
        for variant in ("", *read_recipe(sample).variants):
            name = f"{sample.name}_{variant}" if variant else sample.name
            out = folder / f"{name}.zip"
            build(sample, out, etsi_types=etsi_types, variant=variant)
            built.append(out)
    return built


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.csar",
        description="Build the CSAR of a folder, or those of all samples.",
    )
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument(
        "-o",
        "--out",
        type=pathlib.Path,
        help="the file to write; without a folder, the folder to write to",
    )
    parser.add_argument("--variant", default="", help="one of csar.yaml's")
    parser.add_argument(
        "--etsi-types",
        type=pathlib.Path,
        metavar="DIR",
        help="ETSI SOL001 type files; else those of the installed Tacker",
    )
    given = parser.parse_args(arguments)
    try:
        if given.folder is None:
            built = build_all(
                given.out or ROOT / "build",
                etsi_types=given.etsi_types,
            )
        else:
            name = given.folder.resolve().name
            out = given.out or ROOT / "build" / f"{name}.zip"
            built = [
                build(
                    given.folder,
                    out,
                    etsi_types=given.etsi_types,
                    variant=given.variant,
                )
            ]
    except CsarError as error:
        print(error, file=sys.stderr)
        return 1
    for path in built:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
