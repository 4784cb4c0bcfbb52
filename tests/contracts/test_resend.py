"""A change leaves the same, whether all of it is sent or what differs."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import itertools
import json
from typing import Any

from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan.options import Options
from tests import manifest_strategies
from tests.calls import call
from tests.contracts import random_edits
from tests.contracts.manifests import MANAGER
from tests.contracts.manifests import namespaced
from tests.unit.packages import STORED
from tests.unit.packages import make_package

SECONDS = 3600.0
"""A limit that no machine comes near."""

NUMBERS = itertools.count()

ASSIGNED = ("clusterIP", "clusterIPs")
"""What a server draws for each object."""


@pytest.fixture
def real_cluster(connected: Cluster) -> Cluster:
    """As long as many examples take."""
    return connected.with_deadline(Deadline.after(SECONDS))


OBJECT = st.sampled_from(manifest_strategies.KINDS).flatmap(
    lambda kind: st.lists(
        manifest_strategies.manifest(kind, "x", "x"), min_size=3, max_size=3
    )
)
"""An object before and after a change, and as another client wants it."""


@dataclasses.dataclass
class Side:
    """One of two instances to which the same happens."""

    cluster: Cluster
    instance: str
    namespace: str
    group: str
    options: Options

    def placed(self, manifest: Manifest, number: int) -> Manifest:
        metadata = {
            **manifest["metadata"],
            "name": f"n{number}",
            "namespace": self.namespace,
            "annotations": {
                **manifest["metadata"].get("annotations", {}),
                **STORED,
            },
        }
        manifest = {**manifest, "metadata": metadata}
        return random_edits.with_group(manifest, self.group)

    def do(self, operation: Any, given: Any) -> Report | None:
        try:
            report: Report = call(
                operation,
                self.cluster,
                self.instance,
                given,
                namespace=self.namespace,
                deadline=Deadline.after(SECONDS),
                options=self.options,
            )
        except (errors.Rejected, errors.FieldConflict, errors.DryRunFailed):
            return None
        return report

    def left(self, refs: list[ObjectRef]) -> list[Any]:
        """All that differs between two sides only if a change does."""
        return [
            self._bare(obj) if (obj := self.cluster.get(ref)) else None
            for ref in refs
        ]

    def _bare(self, obj: Manifest) -> Any:
        # Controllers write when they like.
        managers = (objects.MANAGER + self.instance, random_edits.OTHER)
        metadata = {
            key: value
            for key, value in obj["metadata"].items()
            if key in ("labels", "annotations", "finalizers", "generation")
        }
        owners = {
            " ".join(
                str(entry.get(key))
                for key in ("manager", "operation", "subresource")
            ): [entry["apiVersion"], entry["fieldsV1"]]
            for entry in obj["metadata"]["managedFields"]
            if entry["manager"] in managers
        }
        metadata["annotations"] = {
            name: note
            for name, note in metadata.get("annotations", {}).items()
            if name != random_edits.REVISION
        }
        spec = obj.get("spec")
        if isinstance(spec, Mapping):
            spec = {k: v for k, v in spec.items() if k not in ASSIGNED}
        found = {**obj, "metadata": metadata, "spec": spec, "owners": owners}
        found.pop("status", None)
        text = json.dumps(found, sort_keys=True)
        return json.loads(text.replace(self.instance, "instance"))


REWRITTEN = (
    "CronJob",
    "Deployment",
    "PodDisruptionBudget",
    "Secret",
    "StatefulSet",
)
"""Kinds whose objects may get another version by an apply that changes
nothing: a controller writes between, or stringData moves an entry."""


def unchanged(report: Report) -> set[str]:
    return {
        row.ref.name
        for row in report.objects
        if row.action is Action.UNCHANGED and row.ref.kind not in REWRITTEN
    }


def test_a_change_leaves_the_same_as_one_that_sends_all(
    cluster: Cluster,
    test_namespace: str,
    remove_afterwards: list[ObjectRef],
    unique_name: str,
) -> None:
    """Values, owners and generations, whatever others have done between.

    What is not sent is reported as unchanged, and so it is where all is
    sent.
    """
    group = f"{unique_name}.{manifest_strategies.GROUP}"
    remove_afterwards.append(
        random_edits.define_kinds(cluster, group, MANAGER)
    )
    second = f"{test_namespace}-2"
    cluster.apply(namespaced(second), MANAGER)
    remove_afterwards.append(ObjectRef("", "Namespace", "", second))
    skipped = []

    @settings(
        max_examples=max(20, settings().max_examples // 2),
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.lists(
            st.tuples(
                OBJECT,
                st.sampled_from(random_edits.WAYS),
                st.sampled_from(("same", "same", "other", "gone")),
            ),
            min_size=1,
            max_size=3,
        ),
        st.sampled_from(("fail", "force", "ignore")),
    )
    def shown(objs: Any, field_conflicts: str) -> None:
        number = next(NUMBERS)
        first = number * 10
        some = Options(field_conflicts=field_conflicts)
        ways = (some, dataclasses.replace(some, resend=True))
        sides = [
            Side(
                cluster, f"{name}{number}-{unique_name}", where, group, options
            )
            for name, where, options in zip(
                ("some", "all"), (test_namespace, second), ways, strict=True
            )
        ]
        reports = []
        lefts = []
        for side in sides:
            befores, afters = [], []
            for at, ((before, after, _), _, what) in enumerate(objs, first):
                befores.append(side.placed(before, at))
                if what != "gone":
                    changed = before if what == "same" else after
                    afters.append(side.placed(changed, at))
            if not side.do(lcm.instantiate, make_package(*befores)):
                return
            refs = [ObjectRef.of(manifest) for manifest in befores]
            for ref, ((*_, wish), way, _) in zip(refs, objs, strict=True):
                live = cluster.get(ref)
                assert live is not None
                theirs = side.placed(wish, int(ref.name[1:]))
                owner = objects.MANAGER + side.instance
                random_edits.edit_by_other_manager(
                    cluster, live, way, theirs, owner
                )
            reports.append(side.do(lcm.change, make_package(*afters)))
            lefts.append(side.left(refs))

        assert lefts[0] == lefts[1]
        one, other = reports
        if one is None or other is None:
            assert one is other
            return
        skipped.append(one.requests < other.requests)
        assert unchanged(one) == unchanged(other)

    shown()
    assert any(skipped)
