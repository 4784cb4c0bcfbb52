"""The contents of a CSAR: its entry, and its artifacts with hashes."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import re
import urllib.parse

from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.errors.problems import join_first
from tacker_k8s_cr.package import files as _files
from tacker_k8s_cr.package.files import Files
from tacker_k8s_cr.package.files import UnreadableFile

META = "TOSCA-Metadata/TOSCA.meta"
MANIFESTS = "Files/kubernetes/"
DEFINITIONS = "Definitions/"
YAML = (".yaml", ".yml")
SUFFIXES = (".json", *YAML)

_ASSIGNED = (DEFINITIONS, "TOSCA-Metadata/", "Scripts/", "BaseHOT/")
_ALGORITHMS = ("sha-224", "sha-256", "sha-384", "sha-512")

ARTIFACT_MISSING = "is listed as an artifact and does not exist"

_IMAGES = (
    *(".aki", ".ami", ".ari", ".img", ".iso", ".ploop"),
    *(".qcow2", ".raw", ".vdi", ".vhd", ".vhdx", ".vmdk"),
)
"""Endings of machine images, whose hashes Tacker does not check either."""


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A file that the package vouches for.

    The hash is empty where only the name is given, as Tacker allows.
    """

    name: str
    algorithm: str = ""
    hash: str = ""


@dataclasses.dataclass(frozen=True)
class Csar:
    """The declared contents of a CSAR.

    :param entry: of the definitions; empty where that is at fault.
    :param artifacts: in their order.
    :param unusable: the artifacts that are not as they should be.
    :param remote: those that are somewhere else, by their URLs.
    :param missing: files that do not exist, and of which the package gives
        no hash or that are machine images. Tacker accepts both.
    :param is_source: it is a folder without a list of artifacts.
    """

    entry: str
    artifacts: tuple[str, ...]
    unusable: frozenset[str]
    remote: Mapping[str, Artifact] = dataclasses.field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    is_source: bool = False


def from_source(files: Files) -> Csar:
    """A CSAR that is not built yet: every file counts as an artifact."""
    names = tuple(sorted(files.names))
    return Csar("", names, frozenset(), is_source=True)


def read(files: Files, problems: list[Problem]) -> Csar:
    """What TOSCA.meta and, where it names one, the manifest file say.

    A CSAR without TOSCA.meta has its definitions in one file at its root,
    and a manifest file of the same name (ETSI GS NFV-SOL 004, 4.1.3).

    :param problems: takes every artifact that is not as they say.
    """
    if META in files.names:
        head, artifacts = _read_artifacts(files, META, problems)
    else:
        head, artifacts = _read_root_definitions(files), {}
    entry = head.get("Entry-Definitions", "")
    if not entry:
        problems.append(Problem(META, "missing Entry-Definitions"))
    elif entry not in files.names:
        what = f"names the entry {entry}, which is not in the package"
        problems.append(Problem(META, what))
        entry = ""
    if manifest := head.get("ETSI-Entry-Manifest", ""):
        if manifest in files.names:
            _, more = _read_artifacts(files, manifest, problems)
            artifacts = {**more, **artifacts}
        else:
            what = f"names the manifest {manifest}, which does not exist"
            problems.append(Problem(META, what))
    faults = [
        fault
        for artifact in artifacts.values()
        for fault in _unfit_reason(files, artifact)
    ]
    problems += faults
    unfit = frozenset(fault.where for fault in faults)
    remote = {
        name: artifact for name, artifact in artifacts.items() if _is_url(name)
    }
    absent = frozenset(artifacts) - files.names - unfit - remote.keys()
    return Csar(entry, tuple(artifacts), unfit, remote, absent)


def root_definitions(files: Files) -> str:
    """Return the only YAML file at the root, if it has TOSCA definitions."""
    found = [n for n in files.names if "/" not in n and n.endswith(YAML)]
    if len(found) != 1 or META in files.names:
        return ""
    try:
        text = _files.read_text(files, found[0])
    except UnreadableFile:
        return ""
    return found[0] if "tosca_definitions_version" in text else ""


def _read_root_definitions(files: Files) -> dict[str, str]:
    entry = root_definitions(files)
    manifest = f"{entry.rpartition('.')[0]}.mf"
    head = {"Entry-Definitions": entry}
    if manifest in files.names:
        head["ETSI-Entry-Manifest"] = manifest
    return head


def _read_artifacts(
    files: Files, name: str, problems: list[Problem]
) -> tuple[dict[str, str], dict[str, Artifact]]:
    try:
        text = _files.read_text(files, name)
    except UnreadableFile as error:
        problems.append(Problem(name, str(error)))
        return {}, {}
    head: dict[str, str] = {}
    artifacts: dict[str, Artifact] = {}
    for block in re.split(r"\n[ \t]*\n\s*", text):
        fields = dict(_fields(block))
        source = fields.get("Source") or fields.get("Name")
        if source is None:
            head = {**fields, **head}
            continue
        algorithm, digest = fields.get("Algorithm", ""), fields.get("Hash", "")
        if bool(algorithm) != bool(digest):
            what = f"{source}: has only one of Algorithm and Hash"
            problems.append(Problem(name, what))
        artifacts[source] = Artifact(source, algorithm, digest)
    return head, artifacts


def _fields(block: str) -> Iterator[tuple[str, str]]:
    for line in block.split("\n"):
        key, colon, value = line.strip().partition(":")
        if colon:
            value = _COMMENT.sub("", value).strip()
            yield key.strip(), value.strip("'\"")


_COMMENT = re.compile(r"(^|\s)#.*")
"""Tacker reads these files as YAML."""


def _unfit_reason(files: Files, artifact: Artifact) -> Iterator[Problem]:
    name = artifact.name
    if _is_url(name):
        return
    if not artifact.hash or name.endswith(_IMAGES):
        return
    if name not in files.names:
        yield Problem(name, ARTIFACT_MISSING)
        return
    try:
        check_digest(artifact, files.blocks(name))
    except UnreadableFile as error:
        yield Problem(name, str(error))


def check_digest(artifact: Artifact, blocks: Iterable[bytes]) -> None:
    """Raises Unreadable unless this is the file that was packed."""
    algorithm = artifact.algorithm.lower()
    if algorithm not in _ALGORITHMS:
        algorithms = ", ".join(_ALGORITHMS)
        raise UnreadableFile(
            f"has the algorithm {artifact.algorithm}, wanted one of "
            f"{algorithms}"
        )
    digest = hashlib.new(algorithm.replace("-", ""))
    for block in blocks:
        digest.update(block)
    if digest.hexdigest() != artifact.hash.lower():
        raise UnreadableFile(
            f"has the {algorithm} {digest.hexdigest()}, wanted "
            f"{artifact.hash}: it is not the file that was packed"
        )


def _is_url(name: str) -> bool:
    parts = urllib.parse.urlsplit(name)
    return bool(parts.scheme and (parts.netloc or parts.scheme == "file"))


def selected_artifacts(
    csar: Csar, requested: Sequence[str], *, remote: bool = False
) -> tuple[str, ...]:
    """The artifacts that a request names, in the order in which it does.

    :param remote: whether those may be chosen that are somewhere else.
    :raises RequestInvalid: one is not an artifact, or not inside the package.
    """
    if not requested:
        raise RequestInvalid("the list of definition files is empty")
    for name in requested:
        if name not in csar.artifacts:
            has = join_first(manifest_artifacts(csar.artifacts), 20) or "none"
            raise RequestInvalid(
                f"the definition file {name} is not an artifact of the "
                f"package, whose manifests are: {has}"
            )
        if _is_url(name) and not (remote and _fetchable(name)):
            raise RequestInvalid(
                f"the definition file {name} is a URL; only files inside the "
                "package are read"
            )
        if name in csar.remote and not csar.remote[name].hash:
            raise RequestInvalid(
                f"the definition file {name} is a URL, and the package has "
                "no hash of it"
            )
    return tuple(dict.fromkeys(requested))


def _fetchable(url: str) -> bool:
    return urllib.parse.urlsplit(url).scheme in ("http", "https")


def manifest_artifacts(artifacts: Sequence[str]) -> tuple[str, ...]:
    """The artifacts that hold manifests, by their folder and ending.

    Those below ``Files/kubernetes``; where there are none, those that are
    in no folder with another purpose.
    """
    texts = [name for name in artifacts if name.lower().endswith(SUFFIXES)]
    usual = tuple(name for name in texts if name.startswith(MANIFESTS))
    return usual or tuple(name for name in texts if _unassigned(name))


def _unassigned(name: str) -> bool:
    return not name.startswith(_ASSIGNED) and not _is_url(name)
