"""Find the object of an instance that an argument names, as kubectl does."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import difflib

from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.errors.problems import join_first
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef

Plural = Callable[[GroupKind], str]


def resolve_object(
    text: str, owned: Iterable[ObjectRef], namespace: str, plural: Plural
) -> ObjectRef:
    """Return the one object that ``KIND/NAME`` names.

    KIND is a kind or its plural, in any case, with or without the group
    (``machinedeployment``, ``machinedeployments.cluster.x-k8s.io``).
    ``KIND/NAMESPACE/NAME``, as in messages, is accepted too.

    :param namespace: preferred if objects of several namespaces match.
    :param plural: returns the plural of a kind, as the server has it.

    Raises RequestInvalid unless there is exactly one.
    """
    kind, *place = text.split("/")
    name = place.pop() if place else ""
    if not kind or not name or len(place) > 1:
        raise RequestInvalid(
            f"{text}: expected KIND/NAME, such as MachineDeployment/workers"
        )
    owned = sorted(owned)
    kinds = {ref.group_kind for ref in owned}
    meant = {k for k in kinds if _matches(kind, k.kind, k.group)} or {
        k for k in kinds if _matches(kind, plural(k), k.group)
    }
    matches = [
        ref
        for ref in owned
        if ref.group_kind in meant
        and ref.name == name
        and place in ([], [ref.namespace])
    ]
    if len(matches) > 1:
        matches = [r for r in matches if r.namespace == namespace] or matches
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise RequestInvalid(
            f"{text}: several objects of the instance have this name: "
            f"{join_first(matches)}; expected one of these"
        )
    near = [ref for ref in owned if ref.group_kind in meant] or [
        ref for ref in owned if ref.name == name
    ]
    if near:
        raise RequestInvalid(
            f"{text}: no such object of the instance; it has "
            f"{join_first(_nearest_first(name, near))}"
        )
    message = join_first(sorted(map(str, kinds)), 20)
    raise RequestInvalid(
        f"{text}: no such object of the instance; its kinds are {message}"
    )


def _nearest_first(name: str, refs: Iterable[ObjectRef]) -> list[ObjectRef]:
    """Sort by how similar the names are: only the first are shown."""

    def likeness(ref: ObjectRef) -> float:
        return difflib.SequenceMatcher(None, name, ref.name).ratio()

    return sorted(refs, key=likeness, reverse=True)


def _matches(text: str, name: str, group: str) -> bool:
    """Return whether the text is the name, with or without the group.

    As in kubectl, a version may be between them.
    """
    requested, _, rest = text.lower().partition(".")
    if requested != name.lower():
        return False
    return rest in ("", group) or (
        _is_version(rest.partition(".")[0])
        and rest.partition(".")[2] in ("", group)
    )


def _is_version(text: str) -> bool:
    return text[:1] == "v" and text[1:2].isdigit()
