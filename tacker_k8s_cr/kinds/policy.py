"""The policy of a request for a whole package, kept by the instance."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.kinds import claims
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.selectors import ExpectedKind
from tacker_k8s_cr.model.selectors import KindChoice
from tacker_k8s_cr.model.selectors import Subject
from tacker_k8s_cr.model.selectors import lookup
from tacker_k8s_cr.model.selectors import parse_expected_kind
from tacker_k8s_cr.model.selectors import parse_subject

NAMESPACE_MODES = ("default", "force", "strict")


@dataclasses.dataclass(frozen=True)
class Readiness:
    """When the objects of a kind, or one object, are current.

    :param subject: what it is about.
    :param readiness: ``status``, ``exists`` or ``none``, as in the annotation.
    :param ready_when: rules, as text or as ``kinds.rules`` reads them.
    :param failed_when: likewise.
    :param stall_timeout: seconds; None for the limit of the operation.
    """

    subject: Subject
    readiness: str = ""
    ready_when: tuple[str | Mapping[str, Any], ...] = ()
    failed_when: tuple[str | Mapping[str, Any], ...] = ()
    stall_timeout: float | None = None

    def __post_init__(self) -> None:
        self.judge(generic.ANY)

    def judge(self, kind: Handler) -> Handler:
        """Return the kind's handler with this judgement instead of its own.

        Raises RequestInvalid for what cannot be followed.
        """
        try:
            found = generic.with_override(
                kind, self.readiness, self.ready_when, self.failed_when
            )
        except errors.RequestInvalid as error:
            raise errors.RequestInvalid(
                f"readiness of {self.subject}: {error}"
            ) from error
        if self.stall_timeout is not None:
            return dataclasses.replace(
                found or kind, stall_timeout=self.stall_timeout
            )
        if found is None:
            raise errors.RequestInvalid(
                f"readiness of {self.subject}: it needs readiness, "
                "ready_when, failed_when or stall_timeout"
            )
        return found

    def as_dict(self) -> dict[str, Any]:
        values = {
            "readiness": self.readiness,
            "ready_when": list(self.ready_when),
            "failed_when": list(self.failed_when),
            "stall_timeout": self.stall_timeout,
        }
        return {
            "of": str(self.subject),
            **{k: v for k, v in values.items() if v},
        }


@dataclasses.dataclass(frozen=True)
class Policy:
    """What an author's annotations leave open, for all of a package.

    An object's own annotation has precedence over this, and this over the
    handler of its kind.

    :param namespace_mode: ``default`` gives manifests without a namespace
        the one of the instance, ``force`` gives it to all of them, and with
        ``strict`` one that names another is an error.
    :param readiness: when objects are current; of an object wins over that
        of its kind.
    :param prune: what a change of package may remove when the new package
        no longer names it (True), or must keep (False).
    :param delivery: what the management driver needs to know later on, as
        plain values. Never a secret.
    :param expected_kinds: kinds that appear while the package comes up.
    :param on_terminate: what stays when the instance ends (True), or goes
        even though something that stays needs it (False).
    :param labels: on the metadata of every object; not on Pod templates.
    :param statefulset_claims: ``delete`` or ``retain`` the volume claims of
        StatefulSets at the end, if their manifests do not specify it.
    """

    namespace_mode: str = "default"
    readiness: tuple[Readiness, ...] = ()
    prune: Mapping[Subject, bool] = dataclasses.field(default_factory=dict)
    delivery: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    expected_kinds: tuple[ExpectedKind, ...] = ()
    on_terminate: Mapping[Subject, bool] = dataclasses.field(
        default_factory=dict
    )
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    statefulset_claims: str = ""

    def __post_init__(self) -> None:
        if self.namespace_mode not in NAMESPACE_MODES:
            raise errors.RequestInvalid(
                f"namespace_mode: {self.namespace_mode!r} is not one of "
                f"{', '.join(NAMESPACE_MODES)}"
            )
        value = self.statefulset_claims
        if value and value not in claims.RETENTIONS:
            raise errors.RequestInvalid(
                f"statefulset_claims: expected delete or retain, got {value!r}"
            )
        subjects = [item.subject for item in self.readiness]
        if duplicates := {str(s) for s in subjects if subjects.count(s) > 1}:
            raise errors.RequestInvalid(
                f"readiness: {', '.join(sorted(duplicates))} is named twice"
            )

    def apply_to(self, registry: Registry) -> Registry:
        """Return the registry with the readiness rules of this policy."""
        if not self.readiness:
            return registry
        return dataclasses.replace(
            registry,
            judges={item.subject: item.judge for item in self.readiness},
        )

    def may_prune(self, ref: ObjectRef) -> bool | None:
        """Whether a change may remove an object; None where that is open."""
        return lookup(self.prune, ref)

    def may_keep(self, ref: ObjectRef) -> bool | None:
        """Whether an object outlives the instance; None where it is open."""
        return lookup(self.on_terminate, ref)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, without defaults; from_dict reads them."""
        kinds = {"expected_kinds": [str(item) for item in self.expected_kinds]}
        end = ON_TERMINATE.as_lists(self.on_terminate)
        return {
            "namespace_mode": self.namespace_mode,
            "readiness": [item.as_dict() for item in self.readiness],
            "prune": PRUNE.as_lists(self.prune),
            "delivery": dict(self.delivery),
            **(kinds if self.expected_kinds else {}),
            **({"on_terminate": end} if self.on_terminate else {}),
            **({"labels": dict(self.labels)} if self.labels else {}),
            **(
                {"statefulset_claims": self.statefulset_claims}
                if self.statefulset_claims
                else {}
            ),
        }


DEFAULT = Policy()


# -- As plain values ---------------------------------------------------------


def from_dict(values: Mapping[str, Any]) -> Policy:
    """The policy of plain values. Raises RequestInvalid, naming the place."""
    _check_keys(
        "policy",
        values,
        (
            "namespace_mode",
            "readiness",
            "prune",
            "delivery",
            "expected_kinds",
            "on_terminate",
            "labels",
            "statefulset_claims",
        ),
    )
    return Policy(
        values.get("namespace_mode") or "default",
        tuple(
            _read_readiness(item, f"readiness[{number}]")
            for number, item in enumerate(values.get("readiness") or ())
        ),
        _read_choice("prune", values.get("prune") or {}, PRUNE),
        dict(values.get("delivery") or {}),
        expected_kinds=tuple(
            parse_expected_kind(text, f"expected_kinds[{number}]")
            for number, text in enumerate(values.get("expected_kinds") or ())
        ),
        on_terminate=_read_choice(
            "on_terminate", values.get("on_terminate") or {}, ON_TERMINATE
        ),
        labels=_read_labels(values.get("labels") or {}),
        statefulset_claims=values.get("statefulset_claims") or "",
    )


def _read_labels(values: Any) -> dict[str, str]:
    if not isinstance(values, Mapping) or not all(
        isinstance(text, str) for pair in values.items() for text in pair
    ):
        raise errors.RequestInvalid(
            f"labels: expected a mapping of strings, got {values!r}"
        )
    return dict(values)


PRUNE = KindChoice("allow", "protect")
ON_TERMINATE = KindChoice("keep", "delete")


def _read_choice(
    where: str, values: Any, choice: KindChoice
) -> dict[Subject, bool]:
    _check_keys(where, values, (choice.chosen, choice.excluded))
    return choice.read(where, values)


def _read_readiness(values: Any, where: str) -> Readiness:
    if not isinstance(values, Mapping):
        raise errors.RequestInvalid(
            f"{where}: expected a mapping, got {values!r}"
        )
    names = ("of", "readiness", "ready_when", "failed_when", "stall_timeout")
    _check_keys(where, values, names)
    if "of" not in values:
        raise errors.RequestInvalid(
            f"{where}: required key 'of' (a kind or an object) is missing"
        )
    about = parse_subject(values["of"], f"{where}.of")
    try:
        return Readiness(
            about,
            values.get("readiness") or "",
            _read_rules(values.get("ready_when")),
            _read_rules(values.get("failed_when")),
            _read_seconds(values.get("stall_timeout")),
        )
    except errors.RequestInvalid as error:
        raise errors.RequestInvalid(f"{where}: {error}") from error


def _read_seconds(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise errors.RequestInvalid(
            f"stall_timeout: expected seconds, got {value!r}"
        )
    if value <= 0:
        raise errors.RequestInvalid(
            f"stall_timeout: expected more than 0 seconds, got {value!r}"
        )
    return float(value)


def _read_rules(values: Any) -> tuple[str | Mapping[str, Any], ...]:
    if values is None:
        return ()
    return tuple(values) if isinstance(values, list | tuple) else (values,)


def _check_keys(where: str, values: Any, names: Iterable[str]) -> None:
    if not isinstance(values, Mapping):
        raise errors.RequestInvalid(
            f"{where}: expected a mapping, got {values!r}"
        )
    if unknown := sorted(str(key) for key in values.keys() - set(names)):
        raise errors.RequestInvalid(
            f"{where}: unknown: {', '.join(unknown)}; there are "
            f"{', '.join(names)}"
        )
