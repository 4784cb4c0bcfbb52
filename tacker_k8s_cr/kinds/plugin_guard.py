"""Isolate a handler of a third party, and attribute its errors to it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
from typing import Any, TypeVar

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

Result = TypeVar("Result")


def invalid_fields(handler: Handler) -> Iterator[str]:
    """What of a handler's fields is not as the others rely on it to be."""
    for name in (
        "assess",
        "refuse_replicas",
        "references",
        "child_selectors",
        "time_to_live",
    ):
        value = getattr(handler, name)
        if not callable(value) and (value is not None or name == "assess"):
            yield f"{name} must be a function, got {value!r}"
    if not isinstance(handler.rank, ApplyOrder):
        yield f"rank must be an ApplyOrder, got {handler.rank!r}"
    path = handler.replicas
    if path is not None and not (path and _texts(path)):
        yield (
            "replicas must be a tuple such as ('spec', 'replicas'), got "
            f"{path!r}"
        )
    for name in ("prune_protected", "delete_exclusively", "ephemeral"):
        if not isinstance(value := getattr(handler, name), bool):
            yield f"{name} must be True or False, got {value!r}"
    limit = handler.stall_timeout
    if limit is not None and not (_is_number(limit) and limit > 0):
        yield f"stall_timeout must be seconds above 0 or None, got {limit!r}"
    if handler.propagation not in (base.BACKGROUND, base.FOREGROUND):
        yield (
            f"propagation must be {base.BACKGROUND} or {base.FOREGROUND}, got "
            f"{handler.propagation!r}"
        )


def guard(handler: Handler) -> Handler:
    """The handler, with HandlerFailed for whatever its functions do wrong.

    No other rule is used instead: it would judge an object in a way that
    was not requested.
    """
    get_refusal, get_references, get_selectors, get_ttl = (
        handler.refuse_replicas,
        handler.references,
        handler.child_selectors,
        handler.time_to_live,
    )

    def assess(obj: Manifest) -> Verdict:
        call = _Call(handler.name, "assess", obj)
        return call.run(lambda: handler.assess(obj), _verdict, "a Verdict")

    def refusal(obj: Manifest, number: int) -> str | None:
        call = _Call(handler.name, "refuse_replicas", obj)
        return call.run(
            lambda: get_refusal and get_refusal(obj, number),
            _reason,
            "a text or None",
        )

    def references(obj: Manifest) -> tuple[ObjectRef, ...]:
        call = _Call(handler.name, "references", obj)
        return call.run(
            lambda: get_references(obj) if get_references else (),
            _references,
            "a tuple of ObjectRefs",
        )

    def selectors(obj: Manifest) -> tuple[tuple[GroupKind, str], ...]:
        call = _Call(handler.name, "child_selectors", obj)
        return call.run(
            lambda: get_selectors(obj) if get_selectors else (),
            _selectors,
            "a tuple of pairs of a GroupKind and a label selector",
        )

    def time_to_live(obj: Manifest) -> float | None:
        call = _Call(handler.name, "time_to_live", obj)
        return call.run(
            lambda: get_ttl(obj) if get_ttl else None,
            lambda found: found is None or _is_number(found),
            "a number or None",
        )

    return dataclasses.replace(
        handler,
        assess=assess,
        time_to_live=time_to_live if get_ttl else None,
        refuse_replicas=refusal if get_refusal else None,
        references=references if get_references else None,
        child_selectors=selectors if get_selectors else None,
    )


@dataclasses.dataclass(frozen=True)
class _Call:
    """One call of a function of a handler, about one object."""

    name: str
    function: str
    obj: Manifest

    def run(
        self,
        function: Callable[[], Result],
        good: Callable[[Any], bool],
        wanted: str,
    ) -> Result:
        try:
            found = function()
        except Exception as error:
            # Without its text, which may quote the object.
            raise self._failed(
                f"raised {type(error).__name__}{_innermost_line(error)}"
            ) from error
        if not good(found):
            raise self._failed(
                f"returned {type(found).__name__}, expected {wanted}"
            )
        return found

    def _failed(self, why: str) -> errors.HandlerFailed:
        ref = ObjectRef.of(self.obj)
        return errors.HandlerFailed(self.name, ref, f"{self.function} {why}")


def _innermost_line(error: Exception) -> str:
    """The innermost place that an error came from."""
    trace = error.__traceback__
    line = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename.rpartition("/")[2]
        line = f" in line {trace.tb_lineno} of {file}"
        trace = trace.tb_next
    return line


def _verdict(found: Any) -> bool:
    return (
        isinstance(found, Verdict)
        and isinstance(found.state, State)
        and _texts((found.reason, found.error))
    )


def _is_number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)


def _reason(found: Any) -> bool:
    return found is None or isinstance(found, str)


def _references(found: Any) -> bool:
    return isinstance(found, tuple) and all(
        isinstance(ref, ObjectRef) and _texts(ref) for ref in found
    )


def _selectors(found: Any) -> bool:
    return isinstance(found, tuple) and all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and isinstance(pair[0], GroupKind)
        and isinstance(pair[1], str)
        for pair in found
    )


def _texts(found: Any) -> bool:
    return isinstance(found, tuple) and all(isinstance(t, str) for t in found)
