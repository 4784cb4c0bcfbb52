"""The operations, for both of Tacker's APIs.

One call is one operation: it connects, performs it, and logs the result. Each
API converts the errors. ``lcm`` decides what is done, and in which order.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import functools
import logging
from typing import Any

from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import request_options
from tacker_k8s_cr.driver import retry_instantiate
from tacker_k8s_cr.driver import vdu_mapping
from tacker_k8s_cr.driver.additional_params import RequestParams
from tacker_k8s_cr.driver.configuration import Settings
from tacker_k8s_cr.driver.error_text import mark_errors
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.kinds import plugins
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.preparation import scale_levels as sizes
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Report

LOG = logging.getLogger(__name__)


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
    policy = request_options.build_policy(params, default)
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
        "options": request_options.build_options(
            params, settings, grace_seconds
        ),
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
