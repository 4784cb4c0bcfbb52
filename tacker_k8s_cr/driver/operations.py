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
    path: str, asked: RequestParams, flavour: str = ""
) -> Package:
    """Load the package that Tacker unpacked, with the requested manifests."""
    fetch = None
    if remote := [name for name in asked.files if "://" in name]:
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
        def_files=asked.files or None,
        flavour=flavour,
        fetch=fetch,
        field_validation=asked.field_validation
        or configuration.settings().field_validation,
    )


def reload_package(path: str, files: tuple[str, ...], flavour: str) -> Package:
    """Return the package of an existing instance; it was accepted before."""
    asked = RequestParams(files=files, field_validation=field_validation.WARN)
    return load_package(path, asked, flavour)


def load_new_package(
    path: str, asked: RequestParams, flavour: str = ""
) -> tuple[RequestParams, Package]:
    """Return the package of a new instance, and the request with namespace."""
    package = load_package(path, asked, flavour)
    policy = configuration.settings().namespace_mode
    package = namespaces.warned(asked, package, policy)
    asked, package = vdu_mapping.reduced(asked, package)
    return namespaces.settled(asked, package), package


@mark_errors
def instantiate(
    target: InstanceTarget,
    package: Package,
    asked: RequestParams,
    *,
    level: str = "",
    scale_levels: Mapping[str, int] | None = None,
    again: bool = False,
) -> Report:
    """Instantiate the package; return when all objects are current.

    :param again: Tacker retries; an instance that exists is accepted.
    """
    settings = configuration.settings()
    wanted = _wanted(target, asked, settings, settings.instantiate_timeout)
    wanted["namespace"] = target.namespace or asked.namespace
    policy = _policy(target, asked, settings.policy())
    with instances.open_cluster(target, settings) as cluster:
        request = lcm.Request(cluster, target.instance, **wanted)
        try:
            report = lcm.instantiate(
                request,
                package,
                level=level,
                scale_levels=scale_levels,
                vdu_mapping=asked.vdu_mapping,
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
                vdu_mapping=asked.vdu_mapping,
                policy=policy,
            )
    return _log_done(report)


@mark_errors
def change(
    target: InstanceTarget,
    package: Package,
    asked: RequestParams,
    retain: frozenset[ObjectRef] = frozenset(),
) -> Report:
    """Replace the package by another.

    :param retain: objects of the package that were not selected.
    """
    settings = configuration.settings()
    asked, package = vdu_mapping.reduced(asked, package)
    wanted = _wanted(target, asked, settings, settings.change_timeout)
    wanted["options"] = dataclasses.replace(wanted["options"], retain=retain)
    with instances.open_cluster(target, settings) as cluster:
        report = lcm.change(
            lcm.Request(cluster, target.instance, **wanted),
            package,
            vdu_mapping=asked.vdu_mapping,
            policy=functools.partial(_policy, target, asked),
        )
    return _log_done(report)


def _policy(
    target: InstanceTarget, asked: RequestParams, default: Policy
) -> Policy:
    """Return the policy of the request, with Tacker's label for objects."""
    found = additional_params.policy(asked, default)
    labels = {**found.labels, objects.VNF_INSTANCE: target.instance}
    return dataclasses.replace(found, labels=labels)


@mark_errors
def scale(
    target: InstanceTarget, aspect: str, level: int, asked: RequestParams
) -> Report:
    """Scale an aspect to this level; idempotent."""
    settings = configuration.settings()
    wanted = _wanted(target, asked, settings, settings.scale_timeout)
    with instances.open_cluster(target, settings) as cluster:
        report = lcm.scale(
            lcm.Request(cluster, target.instance, **wanted),
            aspect=aspect,
            level=level,
            machines_to_delete=asked.machines_to_delete,
        )
    return _log_done(report)


@mark_errors
def heal(
    target: InstanceTarget,
    members: Collection[str] | None,
    asked: RequestParams,
) -> Report:
    """Replace members in place.

    :param members: UIDs of Pods and Machines; None for all of them, with
        the manifests applied again before.
    """
    settings = configuration.settings()
    wanted = _wanted(target, asked, settings, settings.heal_timeout)
    with instances.open_cluster(target, settings) as cluster:
        report = lcm.heal(
            lcm.Request(cluster, target.instance, **wanted),
            members,
            operation=target.occurrence,
        )
    return _log_done(report)


@mark_errors
def adopt_changes(target: InstanceTarget, package: Package) -> Report:
    """Record what a management script changed."""
    settings = configuration.settings()
    asked = RequestParams(namespace=target.namespace)
    wanted = _wanted(target, asked, settings, settings.heal_timeout)
    with instances.open_cluster(target, settings) as cluster:
        report = lcm.adopt_changes(
            lcm.Request(cluster, target.instance, **wanted), package
        )
    return _log_done(report)


@mark_errors
def roll_back(
    target: InstanceTarget, package: Package | None, asked: RequestParams
) -> Report | None:
    """Roll back an operation that ended early, or the last change.

    :param package: the previous package; None for that of the record.

    Return None for an instance without a record: nothing was created.
    """
    settings = configuration.settings()
    wanted = _wanted(target, asked, settings, settings.change_timeout)
    with instances.open_cluster(target, settings) as cluster:
        try:
            report = lcm.roll_back(
                lcm.Request(cluster, target.instance, **wanted),
                package=package,
            )
        except errors.InstanceNotFound as error:
            LOG.warning("%s; nothing to roll back", error)
            return None
    return _log_done(report)


@mark_errors
def terminate(
    target: InstanceTarget,
    asked: RequestParams,
    grace_seconds: int | None = None,
) -> Report | None:
    """Delete all objects; return when they no longer exist.

    Return None for an instance without a record: it is already terminated.
    """
    settings = configuration.settings()
    seconds = settings.terminate_timeout + (grace_seconds or 0)
    wanted = _wanted(target, asked, settings, seconds, grace_seconds)
    with instances.open_cluster(target, settings) as cluster:
        try:
            report = lcm.terminate(
                lcm.Request(cluster, target.instance, **wanted)
            )
        except errors.InstanceNotFound as error:
            LOG.info("%s; treating it as already terminated", error)
            return None
    return _log_done(report)


def options(
    asked: RequestParams, settings: Settings, grace_seconds: int | None = None
) -> Options:
    """Return the options of the request, else of the configuration."""
    return Options(
        dry_run=settings.dry_run if asked.dry_run is None else asked.dry_run,
        resend=settings.resend if asked.resend is None else asked.resend,
        field_conflicts=asked.field_conflicts or settings.field_conflicts,
        field_validation=asked.field_validation or settings.field_validation,
        stall_timeout=asked.stall_timeout or settings.stall_timeout,
        on_failure=asked.on_failure or settings.on_failure,
        machine_heal_strategy=asked.machine_heal_strategy
        or settings.machine_heal_strategy,
        adopt=asked.adopt,
        transfer_from=asked.transfer_from,
        recreate=asked.recreate,
        rollout=asked.rollout or settings.rollout,
        kubernetes_upgrade=asked.kubernetes_upgrade
        or settings.kubernetes_upgrade,
        autoscaler_limits=asked.autoscaler_limits
        or settings.autoscaler_limits,
        grace_seconds=grace_seconds,
        delete_foreign_objects=asked.delete_foreign_objects,
        check_permissions=settings.check_permissions,
        on_terminate=asked.on_terminate,
        on_terminate_default=settings.policy().on_terminate,
        statefulset_claims=asked.statefulset_claims,
        statefulset_claims_else=settings.statefulset_claims,
        cleanup=_cleanup(settings) if asked.cleanup is None else asked.cleanup,
        remove_finalizers=asked.remove_finalizers,
    )


def _cleanup(settings: Settings) -> frozenset[str] | None:
    """Return what the option names; None for what each manifest specifies."""
    return frozenset(settings.cleanup) or None


def _wanted(
    target: InstanceTarget,
    asked: RequestParams,
    settings: Settings,
    seconds: float,
    grace_seconds: int | None = None,
) -> dict[str, Any]:
    """Return the keywords of a request."""
    return {
        "namespace": target.namespace,
        "record_namespace": target.home,
        "deadline": Deadline.after(asked.timeout or seconds),
        "registry": plugins.registry(),
        "options": options(asked, settings, grace_seconds),
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
