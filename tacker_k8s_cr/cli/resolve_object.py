"""Which object of an instance somebody means, written as kubectl has it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import difflib

from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.errors.problems import listed
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef

Plural = Callable[[GroupKind], str]


def resolve_object(
    text: str, owned: Iterable[ObjectRef], namespace: str, plural: Plural
) -> ObjectRef:
    """The one object that ``KIND/NAME`` means.

    KIND is a kind or its plural, in any case, with or without the group
    (``machinedeployment``, ``machinedeployments.cluster.x-k8s.io``). What
    our own messages call an object, ``KIND/NAMESPACE/NAME``, is
    understood as well.

    :param namespace: wins where objects of several namespaces match.
    :param plural: of a kind, as the server calls it.

    Raises RequestInvalid unless there is exactly one.
    """
    kind, *place = text.split("/")
    name = place.pop() if place else ""
    if not kind or not name or len(place) > 1:
        raise RequestInvalid(
            f"{text}: not KIND/NAME, such as MachineDeployment/workers"
        )
    owned = sorted(owned)
    kinds = {ref.group_kind for ref in owned}
    meant = {k for k in kinds if _is(kind, k.kind, k.group)} or {
        k for k in kinds if _is(kind, plural(k), k.group)
    }
    found = [
        ref
        for ref in owned
        if ref.group_kind in meant
        and ref.name == name
        and place in ([], [ref.namespace])
    ]
    if len(found) > 1:
        found = [r for r in found if r.namespace == namespace] or found
    if len(found) == 1:
        return found[0]
    if found:
        raise RequestInvalid(
            f"{text}: several objects of the instance are called so: "
            f"{listed(found)}; write it as one of these"
        )
    near = [ref for ref in owned if ref.group_kind in meant] or [
        ref for ref in owned if ref.name == name
    ]
    if near:
        raise RequestInvalid(
            f"{text}: no such object of the instance; it has "
            f"{listed(_nearest_first(name, near))}"
        )
    said = listed(sorted(map(str, kinds)), 20)
    raise RequestInvalid(
        f"{text}: no such object of the instance; its kinds are {said}"
    )


def _nearest_first(name: str, refs: Iterable[ObjectRef]) -> list[ObjectRef]:
    """Sort by how similar the name is: only the first are shown."""

    def likeness(ref: ObjectRef) -> float:
        return difflib.SequenceMatcher(None, name, ref.name).ratio()

    return sorted(refs, key=likeness, reverse=True)


def _is(text: str, name: str, group: str) -> bool:
    """Whether the text is the name, with the group or without.

    Like kubectl, with a version between them too.
    """
    asked, _, rest = text.lower().partition(".")
    if asked != name.lower():
        return False
    return rest in ("", group) or (
        _is_version(rest.partition(".")[0])
        and rest.partition(".")[2] in ("", group)
    )


def _is_version(text: str) -> bool:
    return text[:1] == "v" and text[1:2].isdigit()
