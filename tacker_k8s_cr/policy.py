"""What a request says on a package as a whole: an instance keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr.kinds import custom
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef

NAMESPACES = ("fill", "override", "refuse")

Subject = GroupKind | ObjectRef
"""All objects of a kind, or one. An object without a namespace stands for
those of its name in any."""


@dataclasses.dataclass(frozen=True)
class Readiness:
    """When the objects of a kind, or one object, are current.

    :param of: what it is about.
    :param readiness: ``strict`` or ``created``, as the annotation says it.
    :param current_when: rules, as text or as ``kinds.rules`` reads them.
    :param failed_when: likewise.
    """

    of: Subject
    readiness: str = ""
    current_when: tuple[str | Mapping[str, Any], ...] = ()
    failed_when: tuple[str | Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        self.judge(custom.ANY)

    def judge(self, kind: Handler) -> Handler:
        """The kind's handler, with this in the place of its judgement.

        Raises RequestInvalid for what cannot be followed.
        """
        try:
            found = custom.asked(
                kind, self.readiness, self.current_when, self.failed_when
            )
        except errors.RequestInvalid as error:
            raise errors.RequestInvalid(
                f"readiness of {self.of}: {error}"
            ) from error
        if found is None:
            raise errors.RequestInvalid(
                f"readiness of {self.of}: it needs readiness, current_when "
                "or failed_when"
            )
        return found

    def as_dict(self) -> dict[str, Any]:
        said = {
            "readiness": self.readiness,
            "current_when": list(self.current_when),
            "failed_when": list(self.failed_when),
        }
        return {"of": str(self.of), **{k: v for k, v in said.items() if v}}


@dataclasses.dataclass(frozen=True, order=True)
class Expected:
    """A kind that something of the package brings at run time.

    :param namespaced: nobody can tell before it is there.
    """

    kind: GroupKind
    namespaced: bool = True

    def __str__(self) -> str:
        return f"{self.kind}" if self.namespaced else f"{self.kind}{_CLUSTER}"


_CLUSTER = ":Cluster"


@dataclasses.dataclass(frozen=True)
class Policy:
    """What an author's annotations leave open, for all of a package.

    What an object's own annotation says wins over this, and this over what
    is known of its kind.

    :param namespaces: ``fill`` gives manifests without a namespace the one
        of the instance, ``override`` gives it to all of them, and with
        ``refuse`` one that names another is an error.
    :param readiness: when objects are current; of an object wins over that
        of its kind.
    :param prune: what a change of package may remove when the new package
        no longer names it (True), or must keep (False).
    :param delivery: what the management driver needs to know later on, as
        plain values. Never a secret.
    :param expects: kinds that appear while the package comes up.
    :param on_terminate: what stays when the instance ends (True), or goes
        even though something that stays needs it (False).
    """

    namespaces: str = "fill"
    readiness: tuple[Readiness, ...] = ()
    prune: Mapping[Subject, bool] = dataclasses.field(default_factory=dict)
    delivery: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    expects: tuple[Expected, ...] = ()
    on_terminate: Mapping[Subject, bool] = dataclasses.field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        if self.namespaces not in NAMESPACES:
            raise errors.RequestInvalid(
                f"namespaces: {self.namespaces!r} is not one of "
                f"{', '.join(NAMESPACES)}"
            )
        subjects = [item.of for item in self.readiness]
        if twice := {str(s) for s in subjects if subjects.count(s) > 1}:
            raise errors.RequestInvalid(
                f"readiness: {', '.join(sorted(twice))} is named twice"
            )

    def judging(self, registry: Registry) -> Registry:
        """The registry, with what this says on when objects are current."""
        if not self.readiness:
            return registry
        return dataclasses.replace(
            registry, judges={item.of: item.judge for item in self.readiness}
        )

    def may_prune(self, ref: ObjectRef) -> bool | None:
        """Whether a change may remove an object; None where that is open."""
        return _of(self.prune, ref)

    def may_keep(self, ref: ObjectRef) -> bool | None:
        """Whether an object outlives the instance; None where it is open."""
        return _of(self.on_terminate, ref)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, which ``of`` reads.

        What is not expected is left out: earlier versions do not know it.
        """
        expects = {"expects": [str(item) for item in self.expects]}
        end = _listed(self.on_terminate, *_ON_TERMINATE)
        return {
            "namespaces": self.namespaces,
            "readiness": [item.as_dict() for item in self.readiness],
            "prune": _listed(self.prune, *_PRUNE),
            "delivery": dict(self.delivery),
            **(expects if self.expects else {}),
            **({"on_terminate": end} if self.on_terminate else {}),
        }


DEFAULT = Policy()


def subjects(ref: ObjectRef) -> tuple[Subject, ...]:
    """What may be said of an object, the most particular first."""
    anywhere = dataclasses.replace(ref, namespace="")
    return ref, anywhere, ref.group_kind


# -- As plain values ---------------------------------------------------------


def of(given: Mapping[str, Any]) -> Policy:
    """The policy of plain values. Raises RequestInvalid, naming the place."""
    _known(
        "policy",
        given,
        (
            "namespaces",
            "readiness",
            "prune",
            "delivery",
            "expects",
            "on_terminate",
        ),
    )
    return Policy(
        given.get("namespaces") or "fill",
        tuple(
            _readiness(item, f"readiness[{number}]")
            for number, item in enumerate(given.get("readiness") or ())
        ),
        _chosen("prune", given.get("prune") or {}, *_PRUNE),
        dict(given.get("delivery") or {}),
        expects=tuple(
            expected(text, f"expects[{number}]")
            for number, text in enumerate(given.get("expects") or ())
        ),
        on_terminate=_chosen(
            "on_terminate", given.get("on_terminate") or {}, *_ON_TERMINATE
        ),
    )


_PRUNE = ("may", "keep")
_ON_TERMINATE = ("keep", "delete")


def _of(said: Mapping[Subject, bool], ref: ObjectRef) -> bool | None:
    return next((said[s] for s in subjects(ref) if s in said), None)


def _listed(
    said: Mapping[Subject, bool], yes: str, no: str
) -> dict[str, list[str]]:
    return {
        yes: [str(s) for s, chosen in said.items() if chosen],
        no: [str(s) for s, chosen in said.items() if not chosen],
    }


def _chosen(where: str, given: Any, yes: str, no: str) -> dict[Subject, bool]:
    _known(where, given, (yes, no))
    said: dict[Subject, bool] = {}
    for name, wanted in ((yes, True), (no, False)):
        for text in given.get(name) or ():
            found = subject(text, f"{where}.{name}")
            if said.get(found, wanted) is not wanted:
                raise errors.RequestInvalid(
                    f"{where}: {text} is in {yes} and in {no}"
                )
            said[found] = wanted
    return said


def subject(text: Any, where: str = "") -> Subject:
    """A kind or an object, as we show them: ``Kind.group[/namespace]/name``.

    Raises RequestInvalid.
    """
    parts = text.split("/") if isinstance(text, str) else ()
    if not 1 <= len(parts) <= 3 or not all(parts):
        place = f"{where}: " if where else ""
        raise errors.RequestInvalid(
            f"{place}{text!r} is no kind, such as Deployment.apps, and no "
            "object, such as Deployment.apps/edge/web"
        )
    kind, _, group = parts[0].partition(".")
    if len(parts) == 1:
        return GroupKind(group, kind)
    namespace = parts[1] if len(parts) == 3 else ""
    return ObjectRef(group, kind, namespace, parts[-1])


def expected(text: Any, where: str = "") -> Expected:
    """A kind, as ``Kind.group``, or ``Kind.group:Cluster`` of that scope.

    Raises RequestInvalid.
    """
    said = text if isinstance(text, str) else ""
    kind = subject(said.removesuffix(_CLUSTER) or text, where)
    if not isinstance(kind, GroupKind) or ":" in f"{kind}":
        place = f"{where}: " if where else ""
        raise errors.RequestInvalid(
            f"{place}{text!r} is no kind, such as Router.example.org, or "
            f"Zone.example.org{_CLUSTER} where it has no namespaces"
        )
    return Expected(kind, not said.endswith(_CLUSTER))


def _readiness(given: Any, where: str) -> Readiness:
    if not isinstance(given, Mapping):
        raise errors.RequestInvalid(f"{where}: {given!r} is no mapping")
    _known(where, given, ("of", "readiness", "current_when", "failed_when"))
    if "of" not in given:
        raise errors.RequestInvalid(f"{where}: lacks of, a kind or an object")
    about = subject(given["of"], f"{where}.of")
    try:
        return Readiness(
            about,
            given.get("readiness") or "",
            _rules(given.get("current_when")),
            _rules(given.get("failed_when")),
        )
    except errors.RequestInvalid as error:
        raise errors.RequestInvalid(f"{where}: {error}") from error


def _rules(given: Any) -> tuple[str | Mapping[str, Any], ...]:
    if given is None:
        return ()
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def _known(where: str, given: Any, names: Iterable[str]) -> None:
    if not isinstance(given, Mapping):
        raise errors.RequestInvalid(f"{where}: {given!r} is no mapping")
    if strange := sorted(str(key) for key in given.keys() - set(names)):
        raise errors.RequestInvalid(
            f"{where}: unknown: {', '.join(strange)}; there are "
            f"{', '.join(names)}"
        )
