"""Read and check the parameters of a request in additionalParams.

Tacker's own keys are ``lcm-kubernetes-def-files``, ``namespace``,
``vdu_mapping`` and ``use_helm``; those of this project are under the key
``tacker_k8s_cr``. An unknown key there is refused: a misspelled one would
otherwise have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.driver import param_validation
from tacker_k8s_cr.driver import schema
from tacker_k8s_cr.driver.schema import FILES
from tacker_k8s_cr.driver.schema import OWN_KEY
from tacker_k8s_cr.driver.schema import ROOT
from tacker_k8s_cr.kinds.policy import Readiness
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.selectors import ExpectedKind
from tacker_k8s_cr.model.selectors import Subject
from tacker_k8s_cr.model.selectors import parse_expected_kind
from tacker_k8s_cr.model.selectors import parse_subject


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
    instance_namespace: str = "",
) -> RequestParams:
    """Return the parameters of a request. Raises RequestInvalid for all.

    :param operation: instantiate, change, scale, heal or terminate.
    :param instance_namespace: the namespace of an existing instance.
    """
    params = _drop_nulls(additional_params or {})
    if _delegates_to_helm(params, operation):
        if OWN_KEY in params:
            raise RequestInvalid(
                f"{ROOT}.{OWN_KEY}: use_helm passes the request to Tacker's "
                "own driver, which does not support it"
            )
        return RequestParams(use_helm=True)
    params = {
        key: value
        for key, value in params.items()
        if key == OWN_KEY or _is_used(key, operation)
    }
    problems = schema.find_problems(params, operation)
    if not problems:
        problems = [
            *param_validation.find_problems(params, instance_namespace)
        ]
    if problems:
        raise RequestInvalid("\n".join(problems))
    own = params.get(OWN_KEY, {})
    return RequestParams(
        files=tuple(params.get(FILES, ())),
        namespace=params.get("namespace") or instance_namespace or "default",
        has_namespace=bool(params.get("namespace") or instance_namespace),
        namespace_mode=own.get("namespace_mode", ""),
        record_namespace=own.get("record_namespace", ""),
        readiness=tuple(_readiness(own)),
        prune=dict(_parse_selection(own, "prune", "allow", "protect")),
        expected_kinds=tuple(
            map(parse_expected_kind, own.get("expected_kinds", ()))
        ),
        vdu_mapping={
            vdu: f"{item['kind']}/{item['name']}"
            for vdu, item in params.get("vdu_mapping", {}).items()
        },
        timeout=_seconds(own, "timeout"),
        stall_timeout=_seconds(own, "stall_timeout"),
        on_failure=own.get("on_failure", ""),
        machine_heal_strategy=own.get("machine_heal_strategy", ""),
        dry_run=own.get("dry_run"),
        resend=own.get("resend"),
        field_conflicts=own.get("field_conflicts", ""),
        field_validation=own.get("field_validation", ""),
        adopt=frozenset(map(_parse_object, own.get("adopt", ()))),
        transfer_from={
            _parse_object(text): instance
            for instance, texts in own.get("transfer_from", {}).items()
            for text in texts
        },
        recreate=frozenset(map(_parse_object, own.get("recreate", ()))),
        rollout=own.get("rollout", ""),
        kubernetes_upgrade=own.get("kubernetes_upgrade", ""),
        autoscaler_limits=own.get("autoscaler_limits", ""),
        machines_to_delete=tuple(own.get("machines_to_delete", ())),
        delete_foreign_objects=own.get("delete_foreign_objects", False),
        on_terminate=dict(
            _parse_selection(own, "on_terminate", "keep", "delete")
        ),
        statefulset_claims=own.get("statefulset_claims", ""),
        cleanup=frozenset(own["cleanup"]) if "cleanup" in own else None,
        remove_finalizers=frozenset(
            map(_parse_object, own.get("remove_finalizers", ()))
        ),
        webhook=dict(own.get("webhook", {})),
    )


def is_for_helm(additional_params: Mapping[str, Any] | None) -> bool:
    """Return whether ``use_helm`` is set, as Tacker's own driver reads it."""
    value = (additional_params or {}).get("use_helm")
    return value.lower() == "true" if isinstance(value, str) else bool(value)


def _delegates_to_helm(params: Mapping[str, Any], operation: str) -> bool:
    return operation in schema.operations("use_helm") and is_for_helm(params)


def _is_used(key: str, operation: str) -> bool:
    """Return whether the operation reads one of Tacker's own keys."""
    return key in schema.load()["properties"] and (
        operation in schema.operations(key)
    )


def _drop_nulls(value: Any) -> Any:
    """Return the parameters without those that are null."""
    if isinstance(value, Mapping):
        return {
            key: _drop_nulls(item)
            for key, item in value.items()
            if item is not None
        }
    return value


def _seconds(own: Mapping[str, Any], key: str) -> float | None:
    return float(own[key]) if key in own else None


def _readiness(own: Mapping[str, Any]) -> Iterator[Readiness]:
    for item in own.get("readiness", ()):
        yield Readiness(
            parse_subject(item["of"]),
            item.get("readiness", ""),
            tuple(param_validation.list_rules(item, "ready_when")),
            tuple(param_validation.list_rules(item, "failed_when")),
            item.get("stall_timeout"),
        )


def _parse_selection(
    own: Mapping[str, Any], key: str, yes: str, no: str
) -> Iterator[tuple[Subject, bool]]:
    for name, is_selected in ((yes, True), (no, False)):
        for text in own.get(key, {}).get(name, ()):
            yield parse_subject(text), is_selected


def _parse_object(text: str) -> ObjectRef:
    parsed = parse_subject(text)
    assert isinstance(parsed, ObjectRef)  # noqa: S101
    return parsed
