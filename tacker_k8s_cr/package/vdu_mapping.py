"""Which object of a package each VDU is.

An author sets the annotation ``k8s-cr.tacker.openstack.org/vdu`` on the
manifest, a request contains a mapping. Without either it is an object with
the VDU's name: one with replicas, else a workload without, else one of
another kind that is known to have dependants. An entry of a Cluster's
topology counts as an object with replicas, with its own name and annotations.

A VDU need not be among the manifests that a request selects.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum

from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.package import Vdu

SELECT = "select one with the annotation"
"""Advice of an error about a VDU that several objects may be."""


class Fitness(enum.IntEnum):
    """How well an object fits a VDU by its kind alone; the lower wins."""

    REPLICAS = 1
    WORKLOAD = 2
    DEPENDANTS = 3
    NONE = 4


WORKLOADS = frozenset(
    [
        GroupKind("apps", "DaemonSet"),
        GroupKind("", "Pod"),
        GroupKind("batch", "Job"),
        GroupKind("batch", "CronJob"),
    ]
)
"""Kinds that run Pods and have no number of replicas."""

Assess = Callable[[Manifest], Fitness]


@dataclasses.dataclass(frozen=True)
class _Candidate:
    """What may be a VDU: an object, or an entry of a topology.

    :param vdu: that its annotation names, if any.
    """

    ref: ObjectRef
    name: str
    where: str
    vdu: str | None
    fitness: Fitness


def map_vdus(
    package: Package,
    assess: Assess,
    mapping: Mapping[str, str] | None = None,
) -> dict[str, ObjectRef]:
    """By VDU id, its object, for the VDUs that the manifests have.

    :param assess: how well an object fits a VDU by its kind.
    :param mapping: by VDU id, the object that a request names for it, as
        ``name``, ``Kind/name`` or the way an ObjectRef is shown.
    :raises PackageInvalid: VDUs that may be any of several objects, or
        annotations that name no VDU, all at once.
    :raises RequestInvalid: the mapping names what does not exist, or
        contradicts the package.
    """
    if package.vnfd is None:
        return {}
    requested = dict(mapping or {})
    _check_known(package, requested)
    places = [
        place
        for document in package.documents
        for place in _candidates(document, assess)
    ]
    annotated, problems = _annotated(package, places)
    found: dict[str, ObjectRef] = {}
    for vdu in package.vnfd.vdus.values():
        if vdu.id in requested:
            place = _requested(places, vdu, requested[vdu.id])
            chosen = annotated.get(vdu.id, place)
            if chosen is not place:
                raise RequestInvalid(
                    f"VDU {vdu.id}: the request maps it to {place.ref}, but "
                    f"its annotation is on {chosen.ref} ({chosen.where})"
                )
            found[vdu.id] = place.ref
        elif vdu.id in annotated:
            found[vdu.id] = annotated[vdu.id].ref
        elif candidates := _fittest(p for p in places if p.name == vdu.name):
            found[vdu.id] = candidates[0].ref
            if len(candidates) > 1:
                problems.append(_ambiguous_problem(package, vdu, candidates))
    if problems:
        raise PackageInvalid(problems)
    return found


def is_named(package: Package, text: str) -> bool:
    """Return whether a mapping may name an object of the package this way."""
    return any(
        text in _names_of(place)
        for document in package.documents
        if document.manifest["metadata"].get("name")
        for place in _candidates(document, lambda manifest: Fitness.NONE)
    )


def _fittest(places: Iterable[_Candidate]) -> list[_Candidate]:
    """Those that fit best by their kinds; none if none fits at all."""
    found = sorted(places, key=lambda place: place.fitness)
    return [
        place
        for place in found
        if place.fitness is found[0].fitness is not Fitness.NONE
    ]


def _candidates(document: Document, assess: Assess) -> Iterator[_Candidate]:
    manifest = document.manifest
    yield _Candidate(
        ObjectRef.of(manifest),
        manifest["metadata"]["name"],
        document.where,
        objects.annotation(manifest, "vdu"),
        assess(manifest),
    )
    for entry in topology_replicas.list_entries(manifest):
        yield _Candidate(
            entry.ref,
            entry.name or topology_replicas.CONTROL_PLANE,
            document.where,
            objects.annotation(
                topology_replicas.get_entry(manifest, entry) or {}, "vdu"
            ),
            Fitness.REPLICAS,
        )


def _annotated(
    package: Package, places: Sequence[_Candidate]
) -> tuple[dict[str, _Candidate], list[Problem]]:
    known = package.vnfd.vdus if package.vnfd else {}
    found: dict[str, _Candidate] = {}
    problems = []
    for place in places:
        vdu = place.vdu
        if vdu is None:
            continue
        what = f"{place.ref} has the annotation of VDU {vdu}"
        if vdu not in known:
            has = ", ".join(known) or "none"
            what = f"{what}, which the VNFD does not have; it has: {has}"
        elif vdu in found:
            what = f"{what}, and so has {found[vdu].ref}"
        else:
            found[vdu] = place
            continue
        problems.append(Problem(place.where, what))
    return found, problems


def _check_known(package: Package, requested: Mapping[str, str]) -> None:
    known = package.vnfd.vdus if package.vnfd else {}
    unknown = [vdu for vdu in requested if vdu not in known]
    if unknown:
        raise RequestInvalid(
            f"the mapping names VDU {', '.join(unknown)}; the package has: "
            f"{', '.join(known) or 'none'}"
        )


def _requested(
    places: Sequence[_Candidate], vdu: Vdu, text: str
) -> _Candidate:
    found = [place for place in places if text in _names_of(place)]
    if not found:
        why = "no selected manifest of the package has this name"
        raise RequestInvalid(f"VDU {vdu.id} is mapped to {text}: {why}")
    # A mapping may name a kind that is not a candidate without it.
    fitting = _fittest(found) or found
    if len(fitting) > 1:
        shown = ", ".join(str(place.ref) for place in fitting)
        why = f"that may be any of {shown}"
        raise RequestInvalid(f"VDU {vdu.id} is mapped to {text}: {why}")
    return fitting[0]


def _names_of(place: _Candidate) -> tuple[str, ...]:
    ref = place.ref
    return place.name, f"{ref.kind}/{ref.name}", str(ref)


def _ambiguous_problem(
    package: Package, vdu: Vdu, candidates: Sequence[_Candidate]
) -> Problem:
    shown = ", ".join(f"{p.ref} ({p.where})" for p in candidates)
    hint = f"{SELECT} {objects.PREFIX}vdu: {vdu.id}"
    what = f"VDU {vdu.id} may be any of {shown}; {hint}"
    return Problem(package.name, what)
