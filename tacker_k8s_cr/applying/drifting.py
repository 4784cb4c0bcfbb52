"""Hold the objects of an instance against its manifests, without a write."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr.applying import conflicts
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.errors import Error
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.planning import differences
from tacker_k8s_cr.planning import drifted
from tacker_k8s_cr.planning.drifted import Drift
from tacker_k8s_cr.planning.drifted import Drifted
from tacker_k8s_cr.planning.placing import Placed
from tacker_k8s_cr.planning.plan import Live

LOOKS = "-look"
"""Added to the name of a field manager that owns nothing, and never will."""


def found(
    cluster: Cluster, owned: Mapping[ObjectRef, str], instance: str
) -> dict[ObjectRef, tuple[Drifted, Manifest | None]]:
    """What the objects themselves tell, and how they are.

    Raises what ends it all: that nothing can be read. One that cannot is
    told as that.
    """
    told: dict[ObjectRef, tuple[Drifted, Manifest | None]] = {}
    for ref, obj in cluster.each(cluster.get, owned):
        if isinstance(obj, errors.Unreachable | errors.Unauthenticated):
            raise obj
        uid = owned[ref]
        if isinstance(obj, Error):
            why = obj.sentence().removeprefix(f"{ref}: ")
            told[ref] = (Drifted(ref, uid, (Drift.UNKNOWN,), why), None)
        else:
            seen = drifted.at_sight(ref, uid, instance, obj)
            told[ref] = (seen, obj)
    return {ref: told[ref] for ref in owned}


def compared(
    cluster: Cluster,
    items: Sequence[Placed],
    instance: str,
    live: Mapping[ObjectRef, Live],
    objs: Mapping[ObjectRef, Manifest],
) -> dict[ObjectRef, tuple[differences.Difference, ...] | Error]:
    """By object, what applying its manifest again would change.

    The server says so by a dry run, so that defaults, units and what lists
    are keyed by count for nothing.

    :param live: with the places of numbers that are sent as they are.
    :param objs: the objects as they are.
    """

    def one(item: Placed) -> tuple[differences.Difference, ...]:
        uid = live[item.ref].uid
        way = conflicts.way(item.manifest, conflicts.TAKE)
        would = conflicts.sent(
            lambda manifest, force: (
                cluster.apply(
                    manifest,
                    objects.MANAGER + instance,
                    uid=uid,
                    force=force,
                    dry_run=True,
                ).obj
            ),
            item.manifest,
            conflicts.TAKE if way == conflicts.FAIL else way,
            ".".join(live[item.ref].count),
        )
        obj = _at_version(cluster, objs[item.ref], item.manifest, instance)
        return drifted.ours(item.manifest, differences.between(obj, would))

    return {item.ref: result for item, result in cluster.each(one, items)}


def _at_version(
    cluster: Cluster, obj: Manifest, manifest: Manifest, instance: str
) -> Manifest:
    """The object at the manifest's version, in which fields compare.

    A dry run of an apply that sets nothing shows it so.
    """
    if obj["apiVersion"] == manifest["apiVersion"]:
        return obj
    metadata = {
        key: value
        for key, value in manifest["metadata"].items()
        if key in ("name", "namespace")
    }
    bare = {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": metadata,
    }
    return cluster.apply(
        bare,
        objects.MANAGER + instance + LOOKS,
        uid=objects.uid(obj),
        dry_run=True,
    ).obj


def told(
    seen: Mapping[ObjectRef, Drifted],
    fields: Mapping[ObjectRef, tuple[differences.Difference, ...] | Error],
) -> tuple[Drifted, ...]:
    """Only what has drifted, with its fields."""
    rows = []
    for ref, row in seen.items():
        outcome = fields.get(ref, ())
        if isinstance(outcome, errors.Outdated):
            # It went, or another came, since we looked.
            row = _also(row, Drift.MISSING, "it went just now")
        elif isinstance(outcome, Error):
            why = outcome.sentence().removeprefix(f"{ref}: ")
            row = _also(row, Drift.UNKNOWN, f"not compared: {why}")
        else:
            row = row.differing(outcome)
        rows.append(row)
    return tuple(row for row in rows if row.ways)


def _also(row: Drifted, way: Drift, why: str) -> Drifted:
    reason = "; ".join(_said(row.reason, why))
    return dataclasses.replace(row, ways=(*row.ways, way), reason=reason)


def _said(*texts: str) -> Iterable[str]:
    return filter(None, texts)
