"""Read and check the parameters of a request in additionalParams.

Tacker's own keys are ``lcm-kubernetes-def-files``, ``namespace``,
``vdu_mapping`` and ``use_helm``; those of this project are under the key
``tacker_k8s_cr``. An unknown key there is refused: a misspelled one would
otherwise have no effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any
import urllib.parse

from tacker_k8s_cr.driver import schema
from tacker_k8s_cr.driver.schema import OURS
from tacker_k8s_cr.driver.schema import ROOT
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds import rules
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kinds.policy import Readiness
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.selectors import ExpectedKind
from tacker_k8s_cr.model.selectors import Subject
from tacker_k8s_cr.model.selectors import expected
from tacker_k8s_cr.model.selectors import subject

FILES = "lcm-kubernetes-def-files"


@dataclasses.dataclass(frozen=True)
class RequestParams:
    """The parameters of a request; None or empty for those that are absent.

    :param files: the manifests, by their names in the package.
    :param has_namespace: the request or the instance names the namespace.
    :param namespace_mode: how ``namespace`` applies to manifests.
    :param record_namespace: that of the record, if not ``namespace``.
    :param transfer_from: by object, the instance that it is transferred from.
    :param prune: what a change of package may delete (True) or retains.
    :param expected_kinds: kinds that the package creates at run time.
    :param on_terminate: what is retained at a termination (True) or not.
    :param statefulset_claims: ``delete`` or ``retain``; empty if absent.
    :param cleanup: what is removed in workload clusters before deletion.
    :param vdu_mapping: by VDU, its object as ``Kind/name``.
    :param machines_to_delete: names or UIDs of Machines to delete on scale-in.
    :param timeout: seconds for the whole operation.
    :param webhook: the settings of the delivery that the request has.
    :param use_helm: the request is for Tacker's own driver; its other
        parameters were not read.
    """

    files: tuple[str, ...] = ()
    namespace: str = "default"
    has_namespace: bool = False
    namespace_mode: str = ""
    record_namespace: str = ""
    readiness: tuple[Readiness, ...] = ()
    prune: Mapping[Subject, bool] = dataclasses.field(default_factory=dict)
    expected_kinds: tuple[ExpectedKind, ...] = ()
    vdu_mapping: Mapping[str, str] = dataclasses.field(default_factory=dict)
    timeout: float | None = None
    stall_timeout: float | None = None
    on_failure: str = ""
    machine_heal_strategy: str = ""
    dry_run: bool | None = None
    resend: bool | None = None
    field_conflicts: str = ""
    field_validation: str = ""
    adopt: frozenset[ObjectRef] = frozenset()
    transfer_from: Mapping[ObjectRef, str] = dataclasses.field(
        default_factory=dict
    )
    recreate: frozenset[ObjectRef] = frozenset()
    rollout: str = ""
    kubernetes_upgrade: str = ""
    autoscaler_limits: str = ""
    machines_to_delete: tuple[str, ...] = ()
    delete_foreign_objects: bool = False
    on_terminate: Mapping[Subject, bool] = dataclasses.field(
        default_factory=dict
    )
    statefulset_claims: str = ""
    cleanup: frozenset[str] | None = None
    remove_finalizers: frozenset[ObjectRef] = frozenset()
    webhook: Mapping[str, Any] = dataclasses.field(
        default_factory=dict, repr=False
    )
    use_helm: bool = False


def read(
    additional_params: Mapping[str, Any] | None,
    operation: str = "instantiate",
    *,
    home: str = "",
) -> RequestParams:
    """Return the parameters of a request. Raises RequestInvalid for all.

    :param operation: instantiate, change, scale, heal or terminate.
    :param home: the namespace of an existing instance.
    """
    params = _said(additional_params or {})
    if _helm(params, operation):
        if OURS in params:
            raise RequestInvalid(
                f"{ROOT}.{OURS}: use_helm passes the request to Tacker's own "
                "driver, which does not support it"
            )
        return RequestParams(use_helm=True)
    params = {
        key: value
        for key, value in params.items()
        if key == OURS or _of_use(key, operation)
    }
    found = schema.faults(params, operation)
    if not found:
        found = [*_unfit(params, home)]
    if found:
        raise RequestInvalid("\n".join(found))
    ours = params.get(OURS, {})
    return RequestParams(
        files=tuple(params.get(FILES, ())),
        namespace=params.get("namespace") or home or "default",
        has_namespace=bool(params.get("namespace") or home),
        namespace_mode=ours.get("namespace_mode", ""),
        record_namespace=ours.get("record_namespace", ""),
        readiness=tuple(_readiness(ours)),
        prune=dict(_chosen(ours, "prune", "allow", "protect")),
        expected_kinds=tuple(map(expected, ours.get("expected_kinds", ()))),
        vdu_mapping={
            vdu: f"{item['kind']}/{item['name']}"
            for vdu, item in params.get("vdu_mapping", {}).items()
        },
        timeout=_seconds(ours, "timeout"),
        stall_timeout=_seconds(ours, "stall_timeout"),
        on_failure=ours.get("on_failure", ""),
        machine_heal_strategy=ours.get("machine_heal_strategy", ""),
        dry_run=ours.get("dry_run"),
        resend=ours.get("resend"),
        field_conflicts=ours.get("field_conflicts", ""),
        field_validation=ours.get("field_validation", ""),
        adopt=frozenset(map(_object, ours.get("adopt", ()))),
        transfer_from={
            _object(text): instance
            for instance, texts in ours.get("transfer_from", {}).items()
            for text in texts
        },
        recreate=frozenset(map(_object, ours.get("recreate", ()))),
        rollout=ours.get("rollout", ""),
        kubernetes_upgrade=ours.get("kubernetes_upgrade", ""),
        autoscaler_limits=ours.get("autoscaler_limits", ""),
        machines_to_delete=tuple(ours.get("machines_to_delete", ())),
        delete_foreign_objects=ours.get("delete_foreign_objects", False),
        on_terminate=dict(_chosen(ours, "on_terminate", "keep", "delete")),
        statefulset_claims=ours.get("statefulset_claims", ""),
        cleanup=frozenset(ours["cleanup"]) if "cleanup" in ours else None,
        remove_finalizers=frozenset(
            map(_object, ours.get("remove_finalizers", ()))
        ),
        webhook=dict(ours.get("webhook", {})),
    )


def policy(asked: RequestParams, default: Policy) -> Policy:
    """Return the policy of the package.

    :param default: the policy for absent parameters: that of the
        configuration, or of the existing instance.
    """
    delivery = {
        key: value for key, value in asked.webhook.items() if key != "renew"
    }
    return Policy(
        asked.namespace_mode or default.namespace_mode,
        asked.readiness or default.readiness,
        asked.prune or default.prune,
        {**default.delivery, **delivery},
        asked.expected_kinds or default.expected_kinds,
        on_terminate={**default.on_terminate, **asked.on_terminate},
        labels=default.labels,
        statefulset_claims=asked.statefulset_claims
        or default.statefulset_claims,
    )


def of_helm(additional_params: Mapping[str, Any] | None) -> bool:
    """Return whether ``use_helm`` is set, as Tacker's own driver reads it."""
    said = (additional_params or {}).get("use_helm")
    return said.lower() == "true" if isinstance(said, str) else bool(said)


def _helm(params: Mapping[str, Any], operation: str) -> bool:
    return operation in schema.operations("use_helm") and of_helm(params)


def _of_use(key: str, operation: str) -> bool:
    """Return whether the operation reads one of Tacker's own keys."""
    return key in schema.loaded()["properties"] and (
        operation in schema.operations(key)
    )


def _said(value: Any) -> Any:
    """Return the parameters without those that are null."""
    if isinstance(value, Mapping):
        return {
            key: _said(item) for key, item in value.items() if item is not None
        }
    return value


def _seconds(ours: Mapping[str, Any], key: str) -> float | None:
    return float(ours[key]) if key in ours else None


# -- What a schema cannot say -------------------------------------------------


def _unfit(params: Mapping[str, Any], home: str) -> Iterator[str]:
    yield from _not_files(params.get(FILES, ()))
    wanted = params.get("namespace")
    if home and wanted and wanted != home:
        yield (
            f"{ROOT}.namespace: the instance is in {home} and stays there; "
            f"wanted {home} or nothing"
        )
    ours = params.get(OURS, {})
    where = f"{ROOT}.{OURS}"
    for index, item in enumerate(ours.get("readiness", ())):
        yield from _not_ready(f"{where}.readiness[{index}]", item)
    subjects = [item["of"] for item in ours.get("readiness", ())]
    yield from _twice(f"{where}.readiness", subjects)
    taken = [
        text
        for some in ours.get("transfer_from", {}).values()
        for text in some
    ]
    yield from _twice(
        f"{where}.transfer_from", [*taken, *ours.get("adopt", ())]
    )
    for key in ("prune", "on_terminate"):
        named = [
            text for texts in ours.get(key, {}).values() for text in texts
        ]
        yield from _twice(f"{where}.{key}", named)


def _not_files(names: Iterable[str]) -> Iterator[str]:
    for index, name in enumerate(names):
        scheme = urllib.parse.urlsplit(name).scheme
        if scheme and scheme not in ("http", "https"):
            yield (
                f"{ROOT}.{FILES}[{index}]: wanted a name of a file in the "
                "package, found a URL that is neither https nor http"
            )


def _not_ready(where: str, item: Mapping[str, Any]) -> Iterator[str]:
    given = [key for key in ("ready_when", "failed_when") if key in item]
    mode = item.get("readiness")
    if mode in generic.UNCONDITIONAL and given:
        yield f"{where}.readiness: {mode} leaves no use for {given[0]}"
    if not given and not item.keys() & {"readiness", "stall_timeout"}:
        yield (
            f"{where}: wanted one of readiness, ready_when, failed_when, "
            "stall_timeout, found none"
        )
    for key in given:
        try:
            rules.read(_rules(item, key))
        except RequestInvalid:
            yield (
                f"{where}.{key}: wanted rules such as status.phase=Running "
                "or condition=Ready, found another text"
            )


def _twice(where: str, subjects: Iterable[str]) -> Iterator[str]:
    seen = set()
    for text in subjects:
        if text in seen:
            yield f"{where}: {text} is named twice"
        seen.add(text)


# -- Values -------------------------------------------------------------------


def _readiness(ours: Mapping[str, Any]) -> Iterator[Readiness]:
    for item in ours.get("readiness", ()):
        yield Readiness(
            subject(item["of"]),
            item.get("readiness", ""),
            tuple(_rules(item, "ready_when")),
            tuple(_rules(item, "failed_when")),
            item.get("stall_timeout"),
        )


def _rules(item: Mapping[str, Any], key: str) -> list[str]:
    """Return a list of rules, from one text or a list."""
    said = item.get(key, [])
    return said if isinstance(said, list) else [said]


def _chosen(
    ours: Mapping[str, Any], key: str, yes: str, no: str
) -> Iterator[tuple[Subject, bool]]:
    for name, chosen in ((yes, True), (no, False)):
        for text in ours.get(key, {}).get(name, ()):
            yield subject(text), chosen


def _object(text: str) -> ObjectRef:
    found = subject(text)
    assert isinstance(found, ObjectRef)  # noqa: S101
    return found
