"""Which object of a package each VDU is.

An author says so with the annotation ``k8s-cr.tacker.openstack.org/vdu`` on
the manifest, a request with a mapping; without either it is the object that
has the VDU's name and can be scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping

from tacker_k8s_cr import objects
from tacker_k8s_cr.errors import PackageInvalid
from tacker_k8s_cr.errors import Problem
from tacker_k8s_cr.errors import RequestInvalid
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.package.model import Vdu

Scalable = Callable[[Manifest], bool]


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
    annotated, problems = _annotated(package, scalable)
    found: dict[str, ObjectRef] = {}
    for vdu in package.vnfd.vdus.values():
        if vdu.id in asked:
            document = _asked(package, vdu, asked[vdu.id], scalable)
            said = annotated.get(vdu.id, document)
            if said is not document:
                raise RequestInvalid(
                    f"VDU {vdu.id} is to be {_ref(document)}, but its "
                    f"annotation is on {_ref(said)} ({said.where})"
                )
            found[vdu.id] = _ref(document)
        elif vdu.id in annotated:
            found[vdu.id] = _ref(annotated[vdu.id])
        else:
            candidates = [
                document
                for document in package.documents
                if document.manifest["metadata"]["name"] == vdu.name
                and scalable(document.manifest)
            ]
            if len(candidates) == 1:
                found[vdu.id] = _ref(candidates[0])
            else:
                problems.append(_not_one(package, vdu, candidates))
    if problems:
        raise PackageInvalid(problems)
    return found


def _annotated(
    package: Package, scalable: Scalable
) -> tuple[dict[str, Document], list[Problem]]:
    known = package.vnfd.vdus if package.vnfd else {}
    found: dict[str, Document] = {}
    problems = []
    for document in package.documents:
        vdu = objects.annotation(document.manifest, "vdu")
        if vdu is None:
            continue
        what = f"{_ref(document)} has the annotation of VDU {vdu}"
        if vdu not in known:
            has = ", ".join(known) or "none"
            what = f"{what}, which the VNFD does not have; it has: {has}"
        elif vdu in found:
            what = f"{what}, and so has {_ref(found[vdu])}"
        elif not scalable(document.manifest):
            found[vdu] = document
            what = f"{what} and no number of replicas"
        else:
            found[vdu] = document
            continue
        problems.append(Problem(document.where, what))
    return found, problems


def _check_known(package: Package, asked: Mapping[str, str]) -> None:
    known = package.vnfd.vdus if package.vnfd else {}
    unknown = [vdu for vdu in asked if vdu not in known]
    if unknown:
        raise RequestInvalid(
            f"the mapping names VDU {', '.join(unknown)}; the package has: "
            f"{', '.join(known) or 'none'}"
        )


def _asked(
    package: Package, vdu: Vdu, text: str, scalable: Scalable
) -> Document:
    found = [d for d in package.documents if text in _names(d)]
    fitting = [d for d in found if scalable(d.manifest)]
    if len(fitting) == 1:
        return fitting[0]
    if not found:
        why = "the package has no such object"
    elif not fitting:
        shown = ", ".join(str(_ref(d)) for d in found)
        why = f"{shown} has no number of replicas"
    else:
        shown = ", ".join(str(_ref(d)) for d in fitting)
        why = f"that may be any of {shown}"
    raise RequestInvalid(f"VDU {vdu.id} is to be {text}: {why}")


def _names(document: Document) -> tuple[str, ...]:
    ref = _ref(document)
    return ref.name, f"{ref.kind}/{ref.name}", str(ref)


def _not_one(
    package: Package, vdu: Vdu, candidates: list[Document]
) -> Problem:
    if candidates:
        shown = ", ".join(f"{_ref(d)} ({d.where})" for d in candidates)
        what = f"VDU {vdu.id} may be any of {shown}"
    else:
        what = (
            f"VDU {vdu.id}: no object that can be scaled has the name "
            f"{vdu.name}"
        )
    hint = f"name it with the annotation {objects.PREFIX}vdu: {vdu.id}"
    return Problem(package.name, f"{what}; {hint}")


def _ref(document: Document) -> ObjectRef:
    return ObjectRef.of(document.manifest)
