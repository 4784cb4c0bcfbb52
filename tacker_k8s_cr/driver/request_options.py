"""Complete a request by the configuration: its options and its policy."""

from __future__ import annotations

from tacker_k8s_cr.driver.additional_params import RequestParams
from tacker_k8s_cr.driver.configuration import Settings
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.plan.options import Options


def build_options(
    params: RequestParams, settings: Settings, grace_seconds: int | None = None
) -> Options:
    """Return the options of the request, else of the configuration."""
    return Options(
        dry_run=settings.dry_run if params.dry_run is None else params.dry_run,
        resend=settings.resend if params.resend is None else params.resend,
        field_conflicts=params.field_conflicts or settings.field_conflicts,
        field_validation=params.field_validation or settings.field_validation,
        stall_timeout=params.stall_timeout or settings.stall_timeout,
        on_failure=params.on_failure or settings.on_failure,
        machine_heal_strategy=params.machine_heal_strategy
        or settings.machine_heal_strategy,
        adopt=params.adopt,
        transfer_from=params.transfer_from,
        recreate=params.recreate,
        rollout=params.rollout or settings.rollout,
        kubernetes_upgrade=params.kubernetes_upgrade
        or settings.kubernetes_upgrade,
        autoscaler_limits=params.autoscaler_limits
        or settings.autoscaler_limits,
        grace_seconds=grace_seconds,
        delete_foreign_objects=params.delete_foreign_objects,
        check_permissions=settings.check_permissions,
        on_terminate=params.on_terminate,
        on_terminate_default=settings.policy().on_terminate,
        statefulset_claims=params.statefulset_claims,
        statefulset_claims_else=settings.statefulset_claims,
        cleanup=_cleanup(settings)
        if params.cleanup is None
        else params.cleanup,
        remove_finalizers=params.remove_finalizers,
    )


def _cleanup(settings: Settings) -> frozenset[str] | None:
    """Return what the option names; None for what each manifest specifies."""
    return frozenset(settings.cleanup) or None


def build_policy(params: RequestParams, default: Policy) -> Policy:
    """Return the policy of the package.

    :param default: the policy for absent parameters: that of the
        configuration, or of the existing instance.
    """
    delivery = {
        key: value for key, value in params.webhook.items() if key != "renew"
    }
    return Policy(
        params.namespace_mode or default.namespace_mode,
        params.readiness or default.readiness,
        params.prune or default.prune,
        {**default.delivery, **delivery},
        params.expected_kinds or default.expected_kinds,
        on_terminate={**default.on_terminate, **params.on_terminate},
        labels=default.labels,
        statefulset_claims=params.statefulset_claims
        or default.statefulset_claims,
    )
