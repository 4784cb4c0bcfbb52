"""Find objects in files of a CSAR that a request does not select."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import os
import pathlib

from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.package import csar
from tacker_k8s_cr.package import documents
from tacker_k8s_cr.package import files as _files
from tacker_k8s_cr.package import manifests
from tacker_k8s_cr.package.files import Files
from tacker_k8s_cr.package.files import UnreadableFile


def find_objects(
    path: str | os.PathLike[str], selected: Collection[str], namespace: str
) -> frozenset[ObjectRef]:
    """Return the objects, as they may be called in a cluster.

    Unreadable parts of such files are skipped, since the request does not
    use these files.

    :param path: the folder of an unpacked CSAR.
    :param namespace: of objects that name none, and of all where the
        request's namespace overrides others.
    """
    found: set[ObjectRef] = set()
    with contextlib.suppress(PackageInvalid):
        folder = _files.DirectorySource(pathlib.Path(path), hidden=True)
        for manifest in _others(folder, selected):
            ref = ObjectRef.of(manifest)
            in_namespace = ref.namespace or namespace
            for place in (in_namespace, namespace, ""):
                found.add(ObjectRef(ref.group, ref.kind, place, ref.name))
    return frozenset(ref for ref in found if ref.name)


def _others(files: Files, selected: Collection[str]) -> Iterator[Manifest]:
    listed = csar.read(files, [])
    for name in csar.manifest_artifacts(listed.artifacts):
        if name in selected or name not in files.names:
            continue
        with contextlib.suppress(UnreadableFile):
            text = _files.read_text(files, name)
            parsed, _ = documents.read(text, name, lenient=True)
            for document in manifests.read(parsed, name).documents:
                yield document.manifest
