"""Which object of a package each VDU is.

An author says so with the annotation ``k8s-cr.tacker.openstack.org/vdu`` on
the manifest, a request with a mapping; without either it is the object that
has the VDU's name and can be scaled. An entry of a Cluster's topology counts
as such an object, with its own name and annotations.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import objects
from tacker_k8s_cr.errors import PackageInvalid
from tacker_k8s_cr.errors import Problem
from tacker_k8s_cr.errors import RequestInvalid
from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.package.model import Vdu

Scalable = Callable[[Manifest], bool]


@dataclasses.dataclass(frozen=True)
class _Place:
    """What may bear a VDU's number: an object, or an entry of a topology.

    :param vdu: that its annotation names, if any.
    """

    ref: ObjectRef
    name: str
    where: str
    vdu: str | None
    scalable: bool


def by_vdu(
    package: Package,
    scalable: Scalable,
    mapping: Mapping[str, str] | None = None,
) -> dict[str, ObjectRef]:
    """By VDU id, its object, for all VDUs of the package.

    :param scalable: whether an object has a number of replicas to set.
    :param mapping: by VDU id, the object that a request names for it, as
        ``name``, ``Kind/name`` or the way an ObjectRef is shown.
    :raises PackageInvalid: VDUs without an object, or with several, all at
        once.
    :raises RequestInvalid: the mapping names what is not there, cannot be
        scaled, or is not what the package says.
    """
    if package.vnfd is None:
        return {}
    asked = dict(mapping or {})
    _check_known(package, asked)
    places = [
        place
        for document in package.documents
        for place in _places(document, scalable)
    ]
    annotated, problems = _annotated(package, places)
    found: dict[str, ObjectRef] = {}
    for vdu in package.vnfd.vdus.values():
        if vdu.id in asked:
            place = _asked(places, vdu, asked[vdu.id])
            said = annotated.get(vdu.id, place)
            if said is not place:
                raise RequestInvalid(
                    f"VDU {vdu.id} is to be {place.ref}, but its "
                    f"annotation is on {said.ref} ({said.where})"
                )
            found[vdu.id] = place.ref
        elif vdu.id in annotated:
            found[vdu.id] = annotated[vdu.id].ref
        else:
            candidates = [
                place
                for place in places
                if place.name == vdu.name and place.scalable
            ]
            if len(candidates) == 1:
                found[vdu.id] = candidates[0].ref
            else:
                problems.append(_not_one(package, vdu, candidates))
    if problems:
        raise PackageInvalid(problems)
    return found


def _places(document: Document, scalable: Scalable) -> Iterator[_Place]:
    manifest = document.manifest
    yield _Place(
        ObjectRef.of(manifest),
        manifest["metadata"]["name"],
        document.where,
        objects.annotation(manifest, "vdu"),
        scalable(manifest),
    )
    for entry in entries.of(manifest):
        yield _Place(
            entry.ref,
            entry.name or entries.CONTROL_PLANE,
            document.where,
            objects.annotation(entries.content(manifest, entry) or {}, "vdu"),
            scalable=True,
        )


def _annotated(
    package: Package, places: Sequence[_Place]
) -> tuple[dict[str, _Place], list[Problem]]:
    known = package.vnfd.vdus if package.vnfd else {}
    found: dict[str, _Place] = {}
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
        elif not place.scalable:
            found[vdu] = place
            what = f"{what} and no number of replicas"
        else:
            found[vdu] = place
            continue
        problems.append(Problem(place.where, what))
    return found, problems


def _check_known(package: Package, asked: Mapping[str, str]) -> None:
    known = package.vnfd.vdus if package.vnfd else {}
    unknown = [vdu for vdu in asked if vdu not in known]
    if unknown:
        raise RequestInvalid(
            f"the mapping names VDU {', '.join(unknown)}; the package has: "
            f"{', '.join(known) or 'none'}"
        )


def _asked(places: Sequence[_Place], vdu: Vdu, text: str) -> _Place:
    found = [place for place in places if text in _names(place)]
    fitting = [place for place in found if place.scalable]
    if len(fitting) == 1:
        return fitting[0]
    if not found:
        why = "the package has no such object"
    elif not fitting:
        shown = ", ".join(str(place.ref) for place in found)
        why = f"{shown} has no number of replicas"
    else:
        shown = ", ".join(str(place.ref) for place in fitting)
        why = f"that may be any of {shown}"
    raise RequestInvalid(f"VDU {vdu.id} is to be {text}: {why}")


def _names(place: _Place) -> tuple[str, ...]:
    ref = place.ref
    return place.name, f"{ref.kind}/{ref.name}", str(ref)


def _not_one(
    package: Package, vdu: Vdu, candidates: Sequence[_Place]
) -> Problem:
    if candidates:
        shown = ", ".join(f"{p.ref} ({p.where})" for p in candidates)
        what = f"VDU {vdu.id} may be any of {shown}"
    else:
        what = (
            f"VDU {vdu.id}: no object that can be scaled has the name "
            f"{vdu.name}"
        )
    hint = f"name it with the annotation {objects.PREFIX}vdu: {vdu.id}"
    return Problem(package.name, f"{what}; {hint}")
