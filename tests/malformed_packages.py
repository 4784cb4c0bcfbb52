"""Malformed packages: by number, the same ones each time.

They are made of real ones: the samples, as folders and as the CSARs that
are built of them. What is done to them is done to their bytes, to their
lines, to the values in them, or to the files of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import copy
import hashlib
import pathlib
import random
import shutil
from typing import Any
import zipfile

import yaml

from tools import csar

BYTES = (b"\0", b"\t", b"\xff", b"\xed\xa0\x80", b"\r", b"{", b"'", b": ")
LINES = (
    "---",
    "...",
    "%YAML 9.9",
    "\tkey: value",
    "<<: *absent",
    "a: &a [*a]",
    "? [a, b]\n: c",
    "- - - -",
    "x: !!python/object/apply:os.system [true]",
    "x: !!binary =",
    "x: " + "[" * 300,
    "kind: List\nitems: 7",
    "metadata: {name: ../up, namespace: UP}",
    "x: 1e999999",
    "x: 0x" + "f" * 400,
    "} ] \" '",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**70,
    0.5,
    float("inf"),
    float("nan"),
    "",
    ".",
    "..",
    "a/b",
    "%2e",
    "ü" * 300,
    "\u0000",
    "x" * 70000,
    [],
    {},
    [None],
    [[]],
    {"": None},
    {"a": {"b": []}},
    "List",
    "v1",
)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_META = "TOSCA-Metadata/TOSCA.meta"

SUFFIXES = (".json", ".yaml", ".yml", ".vnfd.yaml")

Source = dict[str, bytes]
"""The files of a package, by path."""


def malformed_folders(of: Sequence[Source]) -> list[Source]:
    """Those that are not CSARs."""
    return [files for files in of if _META not in files]


def malformed_csars(of: Sequence[Source]) -> list[Source]:
    return [files for files in of if _META in files]


def source_packages(folder: pathlib.Path) -> list[Source]:
    """The samples: as folders of manifests, and as CSARs."""
    found = []
    for path in sorted(csar.SAMPLES.glob("*/csar.yaml")):
        sample = path.parent
        try:
            built = csar.build(sample, folder / f"{sample.name}.zip")
        except csar.CsarError:
            continue  # it needs files that another command has to create first
        with zipfile.ZipFile(built) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        found.append(files)
        plain = {
            pathlib.PurePosixPath(name).name: data
            for name, data in files.items()
            if name.startswith("Files/kubernetes/")
        }
        found.append(plain)
    return found


class MalformedPackages:
    """One of them: what was done to it, and where it lies.

    :param number: makes it; the same number makes the same one again.
    """

    def __init__(self, of: Sequence[Source], number: int):
        self._random = random.Random(number)  # noqa: S311
        self._files = dict(self._random.choice(of))
        self.done: list[str] = []
        for _ in range(self._random.choice((1, 1, 1, 2, 5))):
            self._random.choice(
                (self._bytes, self._line, self._value, self._value, self._file)
            )()
        if _META in self._files and self._random.random() < 0.7:
            self._vouched(of)

    def lies(self, folder: pathlib.Path) -> pathlib.Path:
        """Writes it below the folder; a CSAR perhaps as a broken archive."""
        if _META in self._files:
            path = folder / "spoiled.zip"
            with zipfile.ZipFile(path, "w") as archive:
                for name, data in self._files.items():
                    archive.writestr(name, data)
            if self._random.random() < 0.2:
                self.done.append("bytes of the archive")
                path.write_bytes(self._struck(path.read_bytes()))
            return path
        root = folder / "spoiled"
        root.mkdir()
        for name, data in self._files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return root

    def _vouched(self, of: Sequence[Source]) -> None:
        """The CSAR has the hashes of what it holds now."""
        meta = self._files[_META].decode(errors="replace")
        for files in of:
            for name, data in files.items():
                if name in self._files and files.get(_META):
                    meta = meta.replace(_hash(data), _hash(self._files[name]))
        self._files[_META] = meta.encode()

    # -- What is done ---------------------------------------------------------

    def _bytes(self) -> None:
        self._change("bytes", self._struck)

    def _struck(self, data: bytes) -> bytes:
        """Something in it, taken out of it, or cut off."""
        at = self._random.randrange(len(data) + 1)
        way = self._random.randrange(3)
        if way == 0:
            return data[:at] + self._random.choice(BYTES) + data[at:]
        if way == 1:
            return data[:at] + data[at + self._random.randrange(1, 40) :]
        return data[:at]

    def _line(self) -> None:
        def line(data: bytes) -> bytes:
            lines = data.decode(errors="replace").split("\n")
            at = self._random.randrange(len(lines))
            way = self._random.randrange(4)
            if way == 0:
                lines.insert(at, self._random.choice(LINES))
            elif way == 1:
                lines.insert(at, lines[self._random.randrange(len(lines))])
            elif way == 2:
                del lines[at]
            else:
                lines[at] = " " * self._random.randrange(1, 4) + lines[at]
            return "\n".join(lines).encode()

        self._change("a line", line)

    def _value(self) -> None:
        def value(data: bytes) -> bytes:
            try:
                found = list(yaml.load_all(data, Loader=_LOADER))
            except yaml.YAMLError:
                return data
            spoiled = copy.deepcopy(found)
            self._replace(spoiled)
            return yaml.dump_all(spoiled, Dumper=_DUMPER).encode()

        self._change("a value", value)

    def _replace(self, tree: Any) -> None:
        places: list[tuple[Any, Any]] = []
        waiting = [tree]
        seen = set()
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue  # an alias, perhaps of what it is in itself
            seen.add(id(node))
            keys = node if isinstance(node, dict) else range(len(node))
            for key in keys:
                places.append((node, key))
                if isinstance(node[key], dict | list):
                    waiting.append(node[key])
        if not places:
            return
        # Half of them near the top, where it decides what an object is.
        few = places[:12] if self._random.random() < 0.5 else places
        node, key = self._random.choice(few)
        way = self._random.randrange(5)
        if way == 0 and isinstance(node, dict):
            del node[key]
        elif way == 1 and isinstance(node, dict):
            node[self._random.choice(list(node))] = node[key]
        elif way == 2 and isinstance(node, list):
            node.append(copy.deepcopy(node[key]))
        else:
            node[key] = copy.deepcopy(self._random.choice(VALUES))

    def _file(self) -> None:
        name = self._random.choice(sorted(self._files))
        other = self._random.choice(sorted(self._files))
        way = self._random.randrange(4)
        self.done.append(f"the file {name}, in way {way}")
        if way == 0 and len(self._files) > 1:
            del self._files[name]
        elif way == 1:
            self._files[name] = self._files[other]
        elif way == 2:
            self._files[f"again/{name}"] = self._files[name]
        else:
            self._files[name] = b""

    def _change(self, what: str, how: Callable[[bytes], bytes]) -> None:
        texts = [name for name in self._files if name.endswith(SUFFIXES)]
        name = self._random.choice(sorted(texts or self._files))
        self.done.append(f"{what} of {name}")
        self._files[name] = how(self._files[name])


def try_packages(
    of: Sequence[Source],
    numbers: Iterable[int],
    folder: pathlib.Path,
    outcome: Callable[[pathlib.Path], str],
) -> int:
    """How many of them are refused.

    :param outcome: the error for the package at a path; empty if it is
        accepted. It raises what must not occur.
    """
    refused = 0
    for number in numbers:
        place = folder / str(number)
        place.mkdir()
        spoiled = MalformedPackages(of, number)
        try:
            refused += bool(outcome(spoiled.lies(place)))
        except Exception as error:
            done = ", ".join(spoiled.done)
            raise AssertionError(f"number {number}: {done}") from error
        shutil.rmtree(place)
    return refused


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


PYTHON = ("Traceback", "NoneType", "object has no", "<class", "built-in")
"""What is reported by Python alone."""


def is_clear_message(said: str) -> bool:
    """Whether it is a text for people."""
    return bool(said.strip()) and not any(word in said for word in PYTHON)
