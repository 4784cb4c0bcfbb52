"""Instances of Tacker's own driver, adopted by this one.

Tacker stores the reference of the record with the instance when the objects in
the cluster are adopted. From then on every operation uses this driver.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools
import logging
from typing import Any

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import packages
from tacker_k8s_cr.driver import request_options
from tacker_k8s_cr.driver import schema
from tacker_k8s_cr.driver import vdu_mapping
from tacker_k8s_cr.driver.additional_params import RequestParams
from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.kinds import plugins
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import field_validation
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Report

LOG = logging.getLogger(__name__)

Created = frozenset[tuple[str, str]]
"""Kinds and names of objects."""


@dataclasses.dataclass(frozen=True)
class UpstreamInstance:
    """An instance of Tacker's own driver, from Tacker's database.

    :param path: the folder of its package.
    :param params: the manifests and the mapping of VDUs in use.
    :param scale_levels: the level of each aspect.
    :param created: the objects that the driver noted; None where it notes
        none, and labels them instead.
    """

    path: str
    flavour: str
    params: RequestParams
    scale_levels: Mapping[str, int]
    created: Created | None = None


def is_enabled() -> bool:
    """Return whether synchronizations adopt instances."""
    return configuration.settings().adopt_instances


def adopt(target: InstanceTarget, former: UpstreamInstance) -> Report:
    """Adopt the objects of an instance; none of them changes.

    Tacker's own driver puts all objects into the instance's namespace. It
    accepts fields that the server does not know.

    :raises Error: any of ``errors``; then Tacker's own driver keeps the
        instance.
    """
    params = dataclasses.replace(
        former.params, field_validation=field_validation.WARN
    )
    package = packages.load(former.path, params, former.flavour)
    params, package = vdu_mapping.drop_unmapped(params, package)
    settings = configuration.settings()
    labels = {objects.VNF_INSTANCE: target.instance}
    policy = dataclasses.replace(
        settings.policy(), namespace_mode="force", labels=labels
    )
    with instances.open_cluster(target, settings) as cluster:
        return lcm.adopt(
            lcm.Request(
                cluster,
                target.instance,
                deadline=Deadline.after(settings.heal_timeout),
                namespace=target.namespace,
                record_namespace=target.record_namespace,
                registry=plugins.registry(),
                options=request_options.build_options(params, settings),
            ),
            package,
            scale_levels=former.scale_levels,
            vdu_mapping=params.vdu_mapping,
            select_created=functools.partial(
                select_created, former.created, target.instance
            ),
            policy=policy,
        )


def is_adopted(instance: str, attempt: Callable[[], None]) -> bool:
    """Return whether an attempt to adopt succeeded; log why it did not.

    An instance that is not adopted stays with Tacker's own driver.
    """
    try:
        attempt()
    except errors.Error as error:
        LOG.warning("%s: not adopted: %s", instance, error)
        return False
    LOG.info("%s: adopted from Tacker's own driver", instance)
    return True


def select_created(
    noted: Created | None, instance: str, live: Mapping[ObjectRef, Manifest]
) -> frozenset[ObjectRef]:
    """Return the live objects that Tacker's own driver has created.

    :param noted: the objects that it noted. Where it noted none, it labelled
        them; before it did either, all are taken for its own.
    """
    if noted is not None:
        noted_refs = {ref for ref in live if (ref.kind, ref.name) in noted}
        return frozenset(noted_refs)
    labelled = frozenset(
        ref
        for ref, obj in live.items()
        if objects.labels(obj).get(objects.VNF_INSTANCE) == instance
    )
    return labelled or frozenset(live)


def parse_noted_objects(instance_id: str) -> Created:
    """Return the objects that Tacker's own v1 driver has in ``instance_id``.

    It has one mapping for each object, as Python's repr, separated by
    semicolons.
    """
    names = set()
    for text in instance_id.split(";"):
        try:
            noted = ast.literal_eval(text)
            names.add((str(noted["kind"]), str(noted["name"])))
        except (KeyError, SyntaxError, TypeError, ValueError):
            continue
    return frozenset(names)


def instantiation_params(params: Mapping[str, Any] | None) -> RequestParams:
    """Return the parameters of an instantiation by Tacker's own driver.

    :raises RequestInvalid: a chart was instantiated, which stays with it.
    """
    values = params or {}
    if additional_params.is_for_helm(values):
        raise errors.RequestInvalid(
            "an instance of a Helm chart stays with Tacker's own driver"
        )
    keys = (schema.FILES, "namespace", "vdu_mapping")
    return additional_params.read(
        {key: values[key] for key in keys if key in values}
    )
