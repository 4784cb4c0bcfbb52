"""The operations, for both of Tacker's APIs.

One call is one operation: it connects, performs it, and logs the result. Each
API converts the errors. ``lcm`` decides what is done, and in which order.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import functools
import logging
from typing import Any, ParamSpec, TypeVar

from tacker_k8s_cr import package as packages
from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import namespaces
from tacker_k8s_cr.driver import retry_instantiate
from tacker_k8s_cr.driver import vdu_mapping
from tacker_k8s_cr.driver.additional_params import RequestParams
from tacker_k8s_cr.driver.configuration import Settings
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.kinds import plugins
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.preparation import scale_levels as sizes
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import field_validation
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan.options import Options

LOG = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


def mark_errors(operation: Callable[P, R]) -> Callable[P, R]:
    """Decorate an operation: its errors state what it has written."""

    @functools.wraps(operation)
    def marked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return operation(*args, **kwargs)
        except errors.Error as error:
            error.in_operation = True
            raise

    return marked


@mark_errors
def load_package(
    path: str, params: RequestParams, flavour: str = ""
) -> Package:
    """Load the package that Tacker unpacked, with the requested manifests."""
    fetch = None
    if remote := [name for name in params.files if "://" in name]:
        # Imported here: requests would double what importing the driver costs.
        from tacker_k8s_cr.package import download

        if not configuration.settings().allow_http_manifests:
            raise errors.RequestInvalid(
                f"the definition file {download.redacted_url(remote[0])} is "
                "a URL, "
                "and the option [tacker_k8s_cr] allow_http_manifests is off"
            )
        deadline = Deadline.after(instances.READ_SECONDS)
        fetch = functools.partial(download.fetch, deadline=deadline)
    return packages.load(
        path,
        def_files=params.files or None,
        flavour=flavour,
        fetch=fetch,
        field_validation=params.field_validation
        or configuration.settings().field_validation,
    )


def reload_package(path: str, files: tuple[str, ...], flavour: str) -> Package:
    """Return the package of an existing instance; it was accepted before."""
    params = RequestParams(files=files, field_validation=field_validation.WARN)
    return load_package(path, params, flavour)


def load_new_package(
    path: str, params: RequestParams, flavour: str = ""
) -> tuple[RequestParams, Package]:
    """Return the package of a new instance, and the request with namespace."""
    package = load_package(path, params, flavour)
    policy = configuration.settings().namespace_mode
    package = namespaces.with_warnings(params, package, policy)
    params, package = vdu_mapping.drop_unmapped(params, package)
    return namespaces.with_namespace(params, package), package


@mark_errors
def instantiate(
    target: InstanceTarget,
    package: Package,
    params: RequestParams,
    *,
    level: str = "",
    scale_levels: Mapping[str, int] | None = None,
    again: bool = False,
) -> Report:
    """Instantiate the package; return when all objects are current.

    :param again: Tacker retries; an instance that exists is accepted.
    """
    settings = configuration.settings()
    keywords = _request_keywords(
        target, params, settings, settings.instantiate_timeout
    )
    keywords["namespace"] = target.namespace or params.namespace
    policy = _policy(target, params, settings.policy())
    with instances.open_cluster(target, settings) as cluster:
        request = lcm.Request(cluster, target.instance, **keywords)
        try:
            report = lcm.instantiate(
                request,
                package,
                level=level,
                scale_levels=scale_levels,
                vdu_mapping=params.vdu_mapping,
                policy=policy,
            )
        except errors.InstanceExists:
            # An earlier attempt has created all objects.
            if not again:
                raise
            report = retry_instantiate.instantiate_existing(
                request,
                package,
                sizes.at_instantiate(package.vnfd, level, scale_levels),
                vdu_mapping=params.vdu_mapping,
                policy=policy,
            )
    return _log_done(report)


@mark_errors
def change(
    target: InstanceTarget,
    package: Package,
    params: RequestParams,
    retain: frozenset[ObjectRef] = frozenset(),
) -> Report:
    """Replace the package by another.

    :param retain: objects of the package that were not selected.
    """
    settings = configuration.settings()
    params, package = vdu_mapping.drop_unmapped(params, package)
    keywords = _request_keywords(
        target, params, settings, settings.change_timeout
    )
    keywords["options"] = dataclasses.replace(
        keywords["options"], retain=retain
    )
    with instances.open_cluster(target, settings) as cluster:
        report = lcm.change(
            lcm.Request(cluster, target.instance, **keywords),
            package,
            vdu_mapping=params.vdu_mapping,
            policy=functools.partial(_policy, target, params),
        )
    return _log_done(report)


def _policy(
    target: InstanceTarget, params: RequestParams, default: Policy
) -> Policy:
    """Return the policy of the request, with Tacker's label for objects."""
    policy = additional_params.build_policy(params, default)
    labels = {**policy.labels, objects.VNF_INSTANCE: target.instance}
    return dataclasses.replace(policy, labels=labels)


@mark_errors
def scale(
    target: InstanceTarget, aspect: str, level: int, params: RequestParams
) -> Report:
    """Scale an aspect to this level; idempotent."""
    settings = configuration.settings()
    keywords = _request_keywords(
        target, params, settings, settings.scale_timeout
    )
    with instances.open_cluster(target, settings) as cluster:
        report = lcm.scale(
            lcm.Request(cluster, target.instance, **keywords),
            aspect=aspect,
            level=level,
            machines_to_delete=params.machines_to_delete,
        )
    return _log_done(report)


@mark_errors
def heal(
    target: InstanceTarget,
    members: Collection[str] | None,
    params: RequestParams,
) -> Report:
    """Replace members in place.

    :param members: UIDs of Pods and Machines; None for all of them, with
        the manifests applied again before.
    """
    settings = configuration.settings()
    keywords = _request_keywords(
        target, params, settings, settings.heal_timeout
    )
    with instances.open_cluster(target, settings) as cluster:
        report = lcm.heal(
            lcm.Request(cluster, target.instance, **keywords),
            members,
            operation=target.occurrence,
        )
    return _log_done(report)


@mark_errors
def adopt_changes(target: InstanceTarget, package: Package) -> Report:
    """Record what a management script changed."""
    settings = configuration.settings()
    params = RequestParams(namespace=target.namespace)
    keywords = _request_keywords(
        target, params, settings, settings.heal_timeout
    )
    with instances.open_cluster(target, settings) as cluster:
        report = lcm.adopt_changes(
            lcm.Request(cluster, target.instance, **keywords), package
        )
    return _log_done(report)


@mark_errors
def roll_back(
    target: InstanceTarget, package: Package | None, params: RequestParams
) -> Report | None:
    """Roll back an operation that ended early, or the last change.

    :param package: the previous package; None for that of the record.

    Return None for an instance without a record: nothing was created.
    """
    settings = configuration.settings()
    keywords = _request_keywords(
        target, params, settings, settings.change_timeout
    )
    with instances.open_cluster(target, settings) as cluster:
        try:
            report = lcm.roll_back(
                lcm.Request(cluster, target.instance, **keywords),
                package=package,
            )
        except errors.InstanceNotFound as error:
            LOG.warning("%s; nothing to roll back", error)
            return None
    return _log_done(report)


@mark_errors
def terminate(
    target: InstanceTarget,
    params: RequestParams,
    grace_seconds: int | None = None,
) -> Report | None:
    """Delete all objects; return when they no longer exist.

    Return None for an instance without a record: it is already terminated.
    """
    settings = configuration.settings()
    seconds = settings.terminate_timeout + (grace_seconds or 0)
    keywords = _request_keywords(
        target, params, settings, seconds, grace_seconds
    )
    with instances.open_cluster(target, settings) as cluster:
        try:
            report = lcm.terminate(
                lcm.Request(cluster, target.instance, **keywords)
            )
        except errors.InstanceNotFound as error:
            LOG.info("%s; treating it as already terminated", error)
            return None
    return _log_done(report)


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


def _request_keywords(
    target: InstanceTarget,
    params: RequestParams,
    settings: Settings,
    seconds: float,
    grace_seconds: int | None = None,
) -> dict[str, Any]:
    """Return the keywords of a request."""
    return {
        "namespace": target.namespace,
        "record_namespace": target.record_namespace,
        "deadline": Deadline.after(params.timeout or seconds),
        "registry": plugins.registry(),
        "options": build_options(params, settings, grace_seconds),
    }


def _log_done(report: Report) -> Report:
    LOG.info(
        "%s done: %d object(s), %.1f s, %d requests",
        report.operation,
        len(report.objects),
        report.seconds,
        report.requests,
    )
    return report
