"""The operations as both of Tacker's APIs ask for them.

One call is one operation: it connects, carries it out, and tells the log
what came of it. Errors are those of ``errors``; each API makes its own of
them. What is done, and in which order, is decided in ``lcm``.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import functools
import logging
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr import package as packages
from tacker_k8s_cr import plugins
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.driver import again as at_rest
from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import namespaces
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import vdu_mapping
from tacker_k8s_cr.driver.conf import Settings
from tacker_k8s_cr.driver.instances import Target
from tacker_k8s_cr.driver.request import Asked
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package import validation
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.report import Report

LOG = logging.getLogger(__name__)


def loaded(path: str, asked: Asked, flavour: str = "") -> Package:
    """The package that Tacker unpacked, with the manifests asked for."""
    fetch = None
    if remote := [name for name in asked.files if "://" in name]:
        # Imported here: requests would double what importing the driver costs.
        from tacker_k8s_cr import download

        if not conf.settings().allow_http_manifests:
            raise errors.RequestInvalid(
                f"the definition file {download.shown(remote[0])} is a URL, "
                "and the option [tacker_k8s_cr] allow_http_manifests is off"
            )
        deadline = Deadline.after(instances.READ_SECONDS)
        fetch = functools.partial(download.fetched, deadline=deadline)
    return packages.load(
        path,
        def_files=asked.files or None,
        flavour=flavour,
        fetch=fetch,
        field_validation=asked.field_validation
        or conf.settings().field_validation,
    )


def loaded_again(path: str, files: tuple[str, ...], flavour: str) -> Package:
    """Return the package of an existing instance; it was accepted before."""
    asked = Asked(files=files, field_validation=validation.WARN)
    return loaded(path, asked, flavour)


def loaded_first(
    path: str, asked: Asked, flavour: str = ""
) -> tuple[Asked, Package]:
    """Return the package of a new instance, and the request with namespace."""
    package = loaded(path, asked, flavour)
    policy = conf.settings().namespaces
    package = namespaces.warned(asked, package, policy)
    asked, package = vdu_mapping.reduced(asked, package)
    return namespaces.settled(asked, package), package


def instantiate(
    target: Target,
    package: Package,
    asked: Asked,
    *,
    level: str = "",
    scale_levels: Mapping[str, int] | None = None,
    again: bool = False,
) -> Report:
    """Bring the package in; returns when all of it is current.

    :param again: Tacker retries; that all is there already is no error.
    """
    settings = conf.settings()
    wanted = _wanted(target, asked, settings, settings.instantiate_timeout)
    wanted["policy"] = _policy(target, asked, settings.policy())
    wanted["vdu_mapping"] = asked.vdu_mapping
    wanted["namespace"] = target.namespace or asked.namespace
    with instances.opened(target, settings) as cluster:
        try:
            report = lcm.instantiate(
                cluster,
                target.instance,
                package,
                level=level,
                scale_levels=scale_levels,
                **wanted,
            )
        except errors.InstanceExists:
            # The error came once all was there.
            if not again:
                raise
            # Only the change of the package takes these.
            own = {key: wanted.pop(key) for key in ("policy", "vdu_mapping")}
            report = at_rest.instantiated(
                cluster,
                target.instance,
                package,
                level=level,
                scale_levels=scale_levels,
                change=own,
                **wanted,
            )
    return _told(report)


def change(
    target: Target,
    package: Package,
    asked: Asked,
    retain: frozenset[ObjectRef] = frozenset(),
) -> Report:
    """Replace the package by another.

    :param retain: objects of the package that were not selected.
    """
    settings = conf.settings()
    asked, package = vdu_mapping.reduced(asked, package)
    wanted = _wanted(target, asked, settings, settings.change_timeout)
    wanted["vdu_mapping"] = asked.vdu_mapping
    wanted["policy"] = functools.partial(_policy, target, asked)
    wanted["options"] = dataclasses.replace(wanted["options"], retain=retain)
    with instances.opened(target, settings) as cluster:
        report = lcm.change(cluster, target.instance, package, **wanted)
    return _told(report)


def _policy(target: Target, asked: Asked, default: Policy) -> Policy:
    """As the request says; Tacker's label is on all objects of a VNF."""
    found = request.policy(asked, default)
    labels = {**found.labels, objects.VNF_INSTANCE: target.instance}
    return dataclasses.replace(found, labels=labels)


def scale(target: Target, aspect: str, level: int, asked: Asked) -> Report:
    """Scale an aspect to this level; doing it twice is doing it once."""
    settings = conf.settings()
    wanted = _wanted(target, asked, settings, settings.scale_timeout)
    with instances.opened(target, settings) as cluster:
        report = lcm.scale(
            cluster,
            target.instance,
            aspect=aspect,
            level=level,
            leaving=asked.leaving,
            **wanted,
        )
    return _told(report)


def heal(
    target: Target, members: Collection[str] | None, asked: Asked
) -> Report:
    """Replace members in place.

    :param members: UIDs of Pods and Machines; None for all of them, with
        the manifests applied again before.
    """
    settings = conf.settings()
    wanted = _wanted(target, asked, settings, settings.heal_timeout)
    with instances.opened(target, settings) as cluster:
        report = lcm.heal(
            cluster,
            target.instance,
            members,
            operation=target.occurrence,
            **wanted,
        )
    return _told(report)


def adopt_changes(target: Target, package: Package) -> Report:
    """Take what a management script changed into the record."""
    settings = conf.settings()
    asked = Asked(namespace=target.namespace)
    wanted = _wanted(target, asked, settings, settings.heal_timeout)
    with instances.opened(target, settings) as cluster:
        report = lcm.adopt_changes(cluster, target.instance, package, **wanted)
    return _told(report)


def roll_back(
    target: Target, package: Package | None, asked: Asked
) -> Report | None:
    """Take back what ended early, or the last change.

    :param package: the package before; None for what the record says.

    Returns None for an instance without a record: nothing of it was made.
    """
    settings = conf.settings()
    wanted = _wanted(target, asked, settings, settings.change_timeout)
    with instances.opened(target, settings) as cluster:
        try:
            report = lcm.roll_back(
                cluster, target.instance, package=package, **wanted
            )
        except errors.InstanceUnknown as error:
            LOG.warning("%s; nothing is taken back", error)
            return None
    return _told(report)


def terminate(
    target: Target, asked: Asked, grace_seconds: int | None = None
) -> Report | None:
    """Take everything away; returns when it is gone.

    Returns None for an instance without a record: it is gone already.
    """
    settings = conf.settings()
    seconds = settings.terminate_timeout + (grace_seconds or 0)
    wanted = _wanted(target, asked, settings, seconds, grace_seconds)
    with instances.opened(target, settings) as cluster:
        try:
            report = lcm.terminate(cluster, target.instance, **wanted)
        except errors.InstanceUnknown as error:
            LOG.info("%s; it counts as gone", error)
            return None
    return _told(report)


def options(
    asked: Asked, settings: Settings, grace_seconds: int | None = None
) -> Options:
    """The request's choices, else those of the configuration."""
    return Options(
        dry_run=settings.dry_run if asked.dry_run is None else asked.dry_run,
        resend=settings.resend if asked.resend is None else asked.resend,
        conflict=asked.conflict or settings.conflict,
        field_validation=asked.field_validation or settings.field_validation,
        dwell=asked.blocked_after or settings.blocked_after,
        on_failed=asked.on_failed or settings.on_failed,
        heal_machines=asked.heal_machines or settings.heal_machines,
        adopt=asked.adopt,
        take_from=asked.take_from,
        recreate=asked.recreate,
        rollout=asked.rollout or settings.rollout,
        versions=asked.versions or settings.versions,
        autoscaled=asked.autoscaled or settings.autoscaled,
        grace_seconds=grace_seconds,
        lose_others=asked.lose_others,
        check_rights=settings.check_rights,
        on_terminate=asked.on_terminate,
        on_terminate_else=settings.policy().on_terminate,
        statefulset_claims=asked.statefulset_claims,
        statefulset_claims_else=settings.statefulset_claims,
        clear=settings.clear if asked.clear is None else asked.clear,
        remove_finalizers=asked.remove_finalizers,
    )


def _wanted(
    target: Target,
    asked: Asked,
    settings: Settings,
    seconds: float,
    grace_seconds: int | None = None,
) -> dict[str, Any]:
    """What all operations of ``lcm`` take."""
    return {
        "namespace": target.namespace,
        "record_namespace": target.home,
        "deadline": Deadline.after(asked.timeout or seconds),
        "registry": plugins.registry(),
        "options": options(asked, settings, grace_seconds),
    }


def _told(report: Report) -> Report:
    LOG.info(
        "%s done: %d object(s), %.1f s, %d requests",
        report.operation,
        len(report.rows),
        report.seconds,
        report.requests,
    )
    return report
