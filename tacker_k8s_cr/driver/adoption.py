"""Instances of Tacker's own driver, adopted by this one.

Tacker stores the reference of our record with the instance when the objects in
the cluster are ours. From then on every operation comes to this driver.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
import dataclasses
import functools
import logging
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr import plugins
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.driver import conf
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import request
from tacker_k8s_cr.driver import vdu_mapping
from tacker_k8s_cr.driver.instances import Target
from tacker_k8s_cr.driver.request import Asked
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package import validation
from tacker_k8s_cr.report import Report

LOG = logging.getLogger(__name__)

Created = frozenset[tuple[str, str]]
"""Kinds and names of objects."""


@dataclasses.dataclass(frozen=True)
class Former:
    """What Tacker knows of an instance of its own driver.

    :param path: the folder of its package.
    :param asked: the manifests and the mapping of VDUs in use.
    :param scale_levels: the level of each aspect.
    :param created: the objects that the driver noted; None where it notes
        none, and labels them instead.
    """

    path: str
    flavour: str
    asked: Asked
    scale_levels: Mapping[str, int]
    created: Created | None = None


def is_enabled() -> bool:
    """Whether a synchronization of Tacker's database adopts instances."""
    return conf.settings().adopt_instances


def adopt(target: Target, former: Former) -> Report:
    """Adopt the objects of an instance; none of them changes.

    Tacker's own driver puts all objects into the instance's namespace. It
    accepts fields that the server does not know.

    :raises Error: any of ``errors``; then Tacker's own driver keeps the
        instance.
    """
    asked = dataclasses.replace(former.asked, field_validation=validation.WARN)
    package = operations.loaded(former.path, asked, former.flavour)
    asked, package = vdu_mapping.reduced(asked, package)
    settings = conf.settings()
    labels = {objects.VNF_INSTANCE: target.instance}
    policy = dataclasses.replace(
        settings.policy(), namespaces="override", labels=labels
    )
    with instances.opened(target, settings) as cluster:
        return lcm.adopt(
            cluster,
            target.instance,
            package,
            namespace=target.namespace,
            record_namespace=target.home,
            deadline=Deadline.after(settings.heal_timeout),
            registry=plugins.registry(),
            scale_levels=former.scale_levels,
            vdu_mapping=asked.vdu_mapping,
            select_created=functools.partial(
                created, former.created, target.instance
            ),
            policy=policy,
            options=operations.options(asked, settings),
        )


def created(
    noted: Created | None, instance: str, live: Mapping[ObjectRef, Manifest]
) -> frozenset[ObjectRef]:
    """Which live objects Tacker's own driver has created.

    :param noted: the objects that it noted. Where it noted none, it labelled
        them; before it did either, all are taken for its own.
    """
    if noted is not None:
        found = {ref for ref in live if (ref.kind, ref.name) in noted}
        return frozenset(found)
    labelled = frozenset(
        ref
        for ref, obj in live.items()
        if objects.labels(obj).get(objects.VNF_INSTANCE) == instance
    )
    return labelled or frozenset(live)


def noted_objects(instance_id: str) -> Created:
    """The objects that Tacker's own v1 driver notes as ``instance_id``.

    One mapping for each object, as Python writes it, with semicolons between.
    """
    found = set()
    for text in instance_id.split(";"):
        try:
            noted = ast.literal_eval(text)
            found.add((str(noted["kind"]), str(noted["name"])))
        except (KeyError, SyntaxError, TypeError, ValueError):
            continue
    return frozenset(found)


def asked_of(params: Mapping[str, Any] | None) -> Asked:
    """What an instantiate request of Tacker's own driver named.

    :raises RequestInvalid: a chart was instantiated, which stays with it.
    """
    said = params or {}
    if request.of_helm(said):
        raise errors.RequestInvalid(
            "an instance of a Helm chart stays with Tacker's own driver"
        )
    keys = (request.FILES, "namespace", "vdu_mapping")
    return request.read({key: said[key] for key in keys if key in said})
