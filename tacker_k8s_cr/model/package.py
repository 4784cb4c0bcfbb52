"""A package as a value: its manifests, where each stands, and its VNFD."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import hashlib
import json

from tacker_k8s_cr.model.objects import Manifest


@dataclasses.dataclass(frozen=True)
class Document:
    """A manifest, and where the package holds it.

    ``where`` is for people: ``Files/kubernetes/cluster.yaml, document 2``.
    """

    manifest: Manifest
    where: str


@dataclasses.dataclass(frozen=True)
class Vdu:
    """A Vdu.Compute node: its id, the object's name, and its bounds.

    :param maximum: None where its profile sets none.
    """

    id: str
    name: str
    minimum: int
    maximum: int | None


@dataclasses.dataclass(frozen=True)
class Aspect:
    """A scaling aspect: its highest level, and what a step adds to each VDU.

    ``steps`` maps a VDU's id to the number that each step adds, the first
    step first; past its end the last number counts again (a list of one is
    a uniform delta, ETSI GS NFV-SOL 001, 6.10.2).
    """

    id: str
    max_level: int
    steps: Mapping[str, tuple[int, ...]]


@dataclasses.dataclass(frozen=True)
class Vnfd:
    """The replica counts and hooks of a flavour of a VNF descriptor.

    :param initial: by VDU id, its number at scale level 0 of all aspects: of
        a package what VduInitialDelta gives, of an instance what its steps
        count from. A VDU without one has the number of its manifest.
    :param levels: by instantiation level, the scale level of each aspect.
    :param level_numbers: by instantiation level, the number of each VDU of
        which VduInstantiationLevels gives one.
    :param management: by LCM hook such as ``instantiate_end``, the name of
        the implementation, and that name's file in the package.
    """

    id: str
    flavour: str
    vdus: Mapping[str, Vdu]
    aspects: Mapping[str, Aspect]
    initial: Mapping[str, int]
    levels: Mapping[str, Mapping[str, int]]
    level_numbers: Mapping[str, Mapping[str, int]]
    default_level: str
    management: Mapping[str, str] = dataclasses.field(default_factory=dict)
    artifacts: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Package:
    """Manifests in the order in which the package names them.

    :param warnings: what its author should know, and stops no operation:
        each names the file.
    """

    name: str
    documents: tuple[Document, ...]
    vnfd: Vnfd | None = None
    warnings: tuple[str, ...] = ()

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        return tuple(document.manifest for document in self.documents)

    @property
    def digest(self) -> str:
        """Return a digest of the package that does not depend on its order."""
        texts = sorted(
            json.dumps(manifest, sort_keys=True, default=str)
            for manifest in self.manifests
        )
        named = [self.vnfd.id if self.vnfd else "", *texts]
        return hashlib.sha256("\0".join(named).encode()).hexdigest()[:32]
