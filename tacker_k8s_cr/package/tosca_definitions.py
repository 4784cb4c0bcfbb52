"""The TOSCA definitions of a package, checked by tosca-parser.

tosca-parser checks them against the types that they import. It reads files,
follows links and keeps its findings in one place for the whole process. So
the imports are followed here first: only what lies in the package is put
before it, in a folder that is deleted afterwards.
"""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import hashlib
import pathlib
import posixpath
import re
import tempfile
import threading
from typing import Any

import yaml

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.package import files as _files
from tacker_k8s_cr.package.csar import DEFINITIONS
from tacker_k8s_cr.package.csar import YAML
from tacker_k8s_cr.package.files import Files
from tacker_k8s_cr.package.files import UnreadableFile

Definitions = Mapping[str, Mapping[str, Any]]
"""Definition files by their path in the package."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_PARSER = threading.Lock()
_FAULTS: dict[bytes, tuple[Problem, ...]] = {}
"""What was found before, by the digest of what was checked.

A conductor reads the same package for every operation of its instances, and
this check is nine tenths of the time that it takes.
"""
FLAVOUR = (
    "topology_template",
    "substitution_mappings",
    "properties",
    "flavour_id",
)
"""Path of the flavour in a definition file."""

_MAX_FAULTS = 256
_MAX_DEPTH = 200


def from_csar(files: Files, entry: str) -> Definitions:
    """The entry and all that it imports.

    An import by URL that the package does not bring is not fetched, and
    without it tosca-parser cannot check the others.

    :raises PackageInvalid: an import is not in the package, a file does not
        parse, or tosca-parser finds a fault.
    """
    found: dict[str, Mapping[str, Any]] = {}
    problems: list[Problem] = []
    complete = True
    pending = [entry]
    while pending:
        name = pending.pop()
        if name in found:
            continue
        try:
            found[name] = _read_document(files, name)
        except UnreadableFile as error:
            problems.append(Problem(name, str(error)))
            continue
        for wanted in _imports(found[name]):
            target = _target(wanted, name, files.names)
            if target in files.names:
                pending.append(target)
            elif isinstance(wanted, str) and "://" in wanted:
                complete = False
            else:
                what = f"imports {wanted}, which is not in the package"
                problems.append(Problem(name, what))
    if complete and not problems:
        problems = [*_parser_problems(found, entry)]
    if problems:
        raise PackageInvalid(problems)
    return found


def with_flavour(
    files: Files, found: Definitions, flavour: str
) -> Definitions:
    """Return the definitions with a flavour that none of them imports.

    Tacker searches for the flavour of a request in all files at the root and
    in the folders there. It does not check those that nothing imports, so they
    are not checked here.
    """
    if any(_flavour(document) == flavour for document in found.values()):
        return found
    others = {}
    for name in sorted(files.names - found.keys()):
        if name.count("/") < 2 and name.endswith(YAML):
            with contextlib.suppress(UnreadableFile):
                others[name] = _read_document(files, name)
    described = {n: d for n, d in others.items() if _flavour(d) == flavour}
    return {**found, **described}


def _flavour(document: Mapping[str, Any]) -> Any:
    return objects.field(document, FLAVOUR)


def from_source(files: Files) -> Definitions:
    """All files in ``Definitions``, whether or not their types are there.

    :raises PackageInvalid: a file does not parse.
    """
    found: dict[str, Mapping[str, Any]] = {}
    problems = []
    for name in sorted(files.names):
        if name.startswith(DEFINITIONS) and name.endswith(YAML):
            try:
                found[name] = _read_document(files, name)
            except UnreadableFile as error:
                problems.append(Problem(name, str(error)))
    if problems:
        raise PackageInvalid(problems)
    return found


def _read_document(files: Files, name: str) -> Mapping[str, Any]:
    """Definitions are read as Tacker reads them: a later key wins."""
    text = _files.read_text(files, name)
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _MAX_DEPTH:
                raise UnreadableFile("is nested too deeply")
        value = yaml.load(text, Loader=_LOADER)  # noqa: S506  a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = (
            f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        )
        raise UnreadableFile(f"{at}{error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UnreadableFile(f"is not YAML: {error}") from None
    if not isinstance(value, dict):
        raise UnreadableFile("is not a mapping")
    return value


def _imports(document: Mapping[str, Any]) -> Iterator[Any]:
    listed = document.get("imports")
    for item in listed if isinstance(listed, list) else ():
        yield from item.values() if isinstance(item, dict) else (item,)


def _target(wanted: Any, importer: str, files: Container[str]) -> str:
    """Where in the package an import is; a URL's file is beside it.

    An import from a repository is not in the package: it would be fetched.
    An import may repeat the folder of the importer, as tosca-parser accepts.
    """
    if isinstance(wanted, dict):
        wanted = None if "repository" in wanted else wanted.get("file")
    if not isinstance(wanted, str):
        return ""
    name = posixpath.basename(wanted) if "://" in wanted else wanted
    folder = posixpath.dirname(importer)
    target = posixpath.normpath(posixpath.join(folder, name))
    above, _, base = name.rpartition("/")
    if target not in files and above and folder.endswith(above):
        return posixpath.join(folder, base)
    return target


def _parser_problems(found: Definitions, entry: str) -> tuple[Problem, ...]:
    # Unlike JSON, this distinguishes a key that is a number from text.
    value = repr((entry, found)).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(value).digest()
    with _PARSER:
        cached = _FAULTS.get(digest)
        if cached is None:
            cached = tuple(_run_parser(found, entry))
            if len(_FAULTS) >= _MAX_FAULTS:
                _FAULTS.clear()
            _FAULTS[digest] = cached
    return cached


def _run_parser(found: Definitions, entry: str) -> list[Problem]:
    """What tosca-parser finds; one at a time."""
    from toscaparser.common.exception import ExceptionCollector
    from toscaparser.tosca_template import ToscaTemplate

    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, document in found.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            copied = _with_local_imports(document, name, root, found)
            path.write_text(yaml.dump(copied, Dumper=_DUMPER))
        try:
            ToscaTemplate(str(root / entry), parsed_params={})
        except Exception as error:  # noqa: BLE001  it raises whatever it meets
            faults = [str(e) for e in ExceptionCollector.getExceptions()]
            messages = [f"tosca-parser reports: {f}" for f in faults]
            return [
                Problem(entry, _without_folder(fault, folder))
                for fault in dict.fromkeys(messages or [_error_text(error)])
            ]
        finally:
            ExceptionCollector.stop()
            ExceptionCollector.clear()
    return []


def _error_text(error: Exception) -> str:
    """tosca-parser's fault; many a wrong value ends it in Python's words."""
    from toscaparser.common.exception import TOSCAException

    if isinstance(error, TOSCAException | ValueError):
        return f"tosca-parser reports: {error}"
    return (
        "tosca-parser cannot read it or what it imports, and does not say "
        "why: some value is not of the type that TOSCA wants there "
        f"({type(error).__name__})"
    )


def _with_local_imports(
    document: Mapping[str, Any],
    name: str,
    root: pathlib.Path,
    found: Definitions,
) -> dict[str, Any]:
    """With imports that can only mean the copies below the root.

    tosca-parser searches the working directory first for a relative one,
    and fetches what is a URL.
    """
    if not (wanted := list(_imports(document))):
        return dict(document)
    paths = [
        str(root / _target(document_import, name, found))
        for document_import in wanted
    ]
    return {**document, "imports": list(dict.fromkeys(paths))}


def _without_folder(fault: str, folder: str) -> str:
    """Without our folder, and without what only Python calls a type."""
    named = re.sub(r"<class '([\w.]+)'>", r"\1", fault)
    return " ".join(named.replace(f"{folder}/", "").split())
