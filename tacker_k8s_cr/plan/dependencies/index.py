"""Indexes over the manifests of a package."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import placement


class ManifestIndex:
    """Manifests by live object, and by the name in the package.

    :ivar defined: by kind, its definition.
    """

    def __init__(self, manifests: Mapping[ObjectRef, Manifest]):
        self.manifests = manifests
        self.by_kind: dict[GroupKind, list[ObjectRef]] = defaultdict(list)
        self._named: dict[tuple[str, str, str], ObjectRef] = {}
        for ref, manifest in manifests.items():
            self.by_kind[ref.group_kind].append(ref)
            reference = ObjectRef.of(manifest)
            self._named[
                reference.kind, reference.namespace, reference.name
            ] = ref
        self.defined = {
            kind: ref
            for ref, kind in placement.kinds_by_crd(manifests.values()).items()
        }

    def find(self, kind: str, namespace: str, name: object) -> list[ObjectRef]:
        """Return the object of that name as a list of at most one."""
        found = self._named.get((kind, namespace, str(name)))
        return [found] if found else []

    def matching(
        self, kind: GroupKind, wanted: Mapping[str, str]
    ) -> Iterator[ObjectRef]:
        """Yield objects with all of these labels; none for no labels."""
        for ref in self.by_kind[kind] if wanted else ():
            labels = objects.labels(self.manifests[ref])
            if wanted.items() <= labels.items():
                yield ref

    def all_of(self, kinds: Iterable[GroupKind]) -> Iterator[ObjectRef]:
        for kind in kinds:
            yield from self.by_kind[kind]
