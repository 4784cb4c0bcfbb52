"""Plans lose nothing, invent nothing, and keep the order of need."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.plan import deletion_plan
from tacker_k8s_cr.plan import placement
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan import prune
from tacker_k8s_cr.plan import references
from tacker_k8s_cr.plan.steps import Delete
from tacker_k8s_cr.plan.steps import LiveObject
from tacker_k8s_cr.plan.steps import Plan
from tacker_k8s_cr.plan.steps import Step

# A kind for each rank, so that an order can be read off its name.
KINDS = {
    GroupKind("test.example.org", f"Kind{rank.value}"): Handler(
        base.stored,
        rank,
        prune_protected=rank is ApplyOrder.DEFINITION,
        delete_exclusively=rank is ApplyOrder.CLUSTER,
    )
    for rank in ApplyOrder
}
REGISTRY = Registry(KINDS, Handler(base.stored, ApplyOrder.CUSTOM))

names = st.text("abc", min_size=1, max_size=2)
refs = st.builds(
    lambda kind, name: ObjectRef(kind.group, kind.kind, "ns", name),
    st.sampled_from(sorted(KINDS)),
    names,
)
ref_sets = st.sets(refs, max_size=12)


def item(ref: ObjectRef) -> placement.PlacedManifest:
    manifest = {
        "apiVersion": f"{ref.group}/v1",
        "kind": ref.kind,
        "metadata": {"name": ref.name, "namespace": ref.namespace},
    }
    return placement.PlacedManifest(ref, manifest, "file.yaml")


def items(found: set[ObjectRef]) -> list[placement.PlacedManifest]:
    return [item(ref) for ref in sorted(found)]


def uids(found: set[ObjectRef]) -> dict[ObjectRef, str]:
    return {ref: f"uid of {ref}" for ref in found}


def change(new: set[ObjectRef], old: set[ObjectRef]) -> Plan:
    return plan.change(items(new), REGISTRY, prune.CurrentState(uids(old)), {})


def steps(planned: Plan) -> list[Step]:
    return [step for stage in planned.stages for step in stage.steps]


@given(ref_sets)
def test_instantiate_applies_every_manifest_once(found):
    """Planning loses nothing and invents nothing."""
    planned = plan.instantiate(items(found), REGISTRY)

    assert sorted(found) == sorted(step.ref for step in steps(planned))


@given(ref_sets)
@pytest.mark.requirement("B2")
def test_definitions_come_before_what_they_define(found):
    """Only namespaces and definitions are in the stage with a barrier."""
    for stage in plan.instantiate(items(found), REGISTRY).stages:
        early = {step.rank <= ApplyOrder.DEFINITION for step in stage.steps}

        assert {stage.barrier} == early


@given(
    st.permutations(
        sorted(
            ObjectRef("test.example.org", kind.kind, "ns", name)
            for kind in KINDS
            for name in "abc"
        )
    )
)
@pytest.mark.requirement("T2")
def test_objects_of_one_kind_keep_their_place(found):
    """As the package has them, whatever stands between them."""
    planned = plan.instantiate([item(ref) for ref in found], REGISTRY)

    for kind in KINDS:
        wanted = [ref for ref in found if ref.group_kind == kind]
        there = [s.ref for s in steps(planned) if s.ref.group_kind == kind]
        assert wanted == there


@given(ref_sets)
@pytest.mark.requirement("P20")
def test_terminate_deletes_all_that_is_owned(found):
    """Every object goes, by the UID that the inventory has."""
    planned = deletion_plan.terminate(uids(found), REGISTRY)

    assert uids(found) == {step.ref: step.uid for step in steps(planned)}


@given(ref_sets)
@pytest.mark.requirement("P16")
def test_clusters_are_deleted_alone_and_first(found):
    """Beside what it uses, a Cluster would hang for ever."""
    planned = deletion_plan.terminate(uids(found), REGISTRY)
    clusters = {
        ref for ref in found if ref.kind == f"Kind{ApplyOrder.CLUSTER}"
    }

    if clusters:
        assert clusters == set(planned.stages[0].refs)


@given(ref_sets)
@pytest.mark.requirement("T13", "P17", "F3")
def test_terminate_deletes_in_reverse_dependency_order(found):
    """Custom resources before workloads before definitions."""
    order = []
    for stage in deletion_plan.terminate(uids(found), REGISTRY).stages:
        order.append({REGISTRY[r.group_kind].rank for r in stage.refs})
    where = {rank: i for i, ranks in enumerate(order) for rank in ranks}

    for first, later in (
        (ApplyOrder.CUSTOM, ApplyOrder.TEMPLATE),
        (ApplyOrder.CUSTOM, ApplyOrder.WORKLOAD),
        (ApplyOrder.HOOK, ApplyOrder.WORKLOAD),
        (ApplyOrder.WORKLOAD, ApplyOrder.ACCESS),
        (ApplyOrder.WORKLOAD, ApplyOrder.CONFIG),
        (ApplyOrder.CONFIG, ApplyOrder.DEFINITION),
        (ApplyOrder.DEFINITION, ApplyOrder.NAMESPACE),
    ):
        if first in where and later in where:
            assert where[first] < where[later]


@given(ref_sets)
def test_the_record_namespace_is_deleted_last(found):
    """The record lies in it, so nothing else may be left by then."""
    last = ObjectRef("", "Namespace", "", "ns")
    owned = {**uids(found), last: "uid"}

    assert (last,) == deletion_plan.terminate(owned, REGISTRY, last).stages[
        -1
    ].refs


@given(ref_sets)
def test_changing_to_the_same_package_deletes_nothing(found):
    """What the new package names stays."""
    planned = change(found, found)

    assert [] == [s for s in steps(planned) if isinstance(s, Delete)]


@given(ref_sets, ref_sets)
@pytest.mark.requirement("P19")
def test_change_deletes_what_only_the_old_package_names(old, new):
    """And keeps, by name, what is only pruned when asked for."""
    planned = change(new, old)
    deleted = {s.ref for s in steps(planned) if isinstance(s, Delete)}
    kept = {r for r in old - new if REGISTRY[r.group_kind].prune_protected}

    assert old - new - kept == deleted
    assert kept == set(planned.retained)


@given(ref_sets)
@pytest.mark.requirement("E3")
def test_a_manifest_may_ask_to_be_pruned_or_kept(found):
    """The annotation wins over what is usual for the kind."""
    asked = {
        ref: not REGISTRY[ref.group_kind].prune_protected for ref in found
    }
    against = {ref: not said for ref, said in asked.items()}
    former = prune.CurrentState(uids(found), prune_annotations=against)
    planned = plan.change([], REGISTRY, former, {})
    deleted = {s.ref for s in steps(planned) if isinstance(s, Delete)}

    assert {ref for ref, said in against.items() if said} == deleted


NAMESPACE = ObjectRef("", "Namespace", "", "ns")
WITH_NAMESPACES = REGISTRY.with_handlers(
    {
        placement.NAMESPACE: Handler(
            base.stored, ApplyOrder.NAMESPACE, prune_protected=True
        )
    }
)


def pruned(new, old, former):
    planned = plan.change(items(new), WITH_NAMESPACES, former, {})
    return {s.ref for s in steps(planned) if isinstance(s, Delete)}


@given(ref_sets, ref_sets)
def test_a_namespace_that_holds_anything_is_kept(new, old):
    """It would take along what the new package names, and what is kept."""
    owned = uids(old | {NAMESPACE})
    former = prune.CurrentState(owned, prune_annotations={NAMESPACE: True})
    staying = new | {
        ref for ref in old if REGISTRY[ref.group_kind].prune_protected
    }

    assert bool(staying) != (NAMESPACE in pruned(new, old, former))


def test_the_namespace_of_the_record_is_never_pruned():
    """Whatever its manifest has: the record would be deleted too."""
    former = prune.CurrentState(
        {NAMESPACE: "uid"},
        record_namespace=NAMESPACE,
        prune_annotations={NAMESPACE: True},
    )

    assert set() == pruned(set(), set(), former)


def test_a_definition_whose_objects_stay_is_kept():
    """They would go with it."""
    kind = GroupKind("test.example.org", f"Kind{ApplyOrder.CUSTOM}")
    definition = ObjectRef(
        placement.DEFINITION.group, placement.DEFINITION.kind, "", "things"
    )
    thing = ObjectRef(kind.group, kind.kind, "ns", "a")
    former = prune.CurrentState(
        uids({definition, thing}),
        prune_annotations={definition: True},
        defines={definition: kind},
    )

    assert set() == pruned({thing}, {definition, thing}, former)
    assert {definition, thing} == pruned(set(), {definition, thing}, former)


@given(ref_sets, ref_sets)
def test_nothing_is_deleted_before_all_of_the_new_is_current(old, new):
    """The stages before a delete have a barrier."""
    planned = change(new, old)
    seen_delete = False
    for stage in reversed(planned.stages):
        deletes = any(isinstance(s, Delete) for s in stage.steps)
        if not deletes and seen_delete:
            assert stage.barrier
        seen_delete = seen_delete or deletes


@pytest.mark.requirement("P20")
def test_existing_objects_are_applied_by_uid():
    """An apply that is meant to change carries the UID of what it means."""
    ref = ObjectRef("test.example.org", "Kind3", "ns", "a")
    live = {ref: LiveObject("uid-1", "7")}
    (step,) = steps(plan.instantiate([item(ref)], REGISTRY, live))

    assert ("uid-1", "7") == (step.uid, step.resource_version)


# -- Where a manifest goes ---------------------------------------------------


def document(kind, name, namespace=None, where="a.yaml, document 1"):
    metadata = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    return Document(
        {"apiVersion": "v1", "kind": kind, "metadata": metadata}, where
    )


SCOPES = {GroupKind("", "Role"): True, GroupKind("", "Node"): False}


@pytest.mark.requirement("T1")
def test_a_manifest_without_namespace_gets_the_given_one():
    """Scope comes from discovery, so any kind is placed."""
    (placed,) = placement.place_manifests(
        [document("Role", "r")], SCOPES, "id", "home"
    )

    assert ObjectRef("", "Role", "home", "r") == placed.ref
    assert "home" == placed.manifest["metadata"]["namespace"]


def test_a_manifest_with_a_namespace_keeps_it():
    """A package may use several namespaces."""
    (placed,) = placement.place_manifests(
        [document("Role", "r", "other")], SCOPES, "id", "home"
    )

    assert "other" == placed.ref.namespace


def test_an_object_of_a_cluster_scoped_kind_has_no_namespace():
    """One that a manifest gives by mistake is left out, as kubectl does."""
    (placed,) = placement.place_manifests(
        [document("Node", "n", "other")], SCOPES, "id", "home"
    )

    assert "" == placed.ref.namespace
    assert "namespace" not in placed.manifest["metadata"]


def test_every_manifest_has_the_label_of_the_instance():
    """A watch selects the objects of the instance by it."""
    (placed,) = placement.place_manifests(
        [document("Role", "r")], SCOPES, "id", "home"
    )

    assert "id" == objects.labels(placed.manifest)[objects.INSTANCE]


def test_annotations_that_are_empty_are_left_out():
    """Sent again, they would count as a change each time."""
    given_ = document("Role", "r")
    given_.manifest["metadata"]["annotations"] = {}

    (placed,) = placement.place_manifests([given_], SCOPES, "id", "home")

    assert "annotations" not in placed.manifest["metadata"]


def test_placing_leaves_the_package_as_it_was():
    """A package is a value that several instances may use."""
    given_ = document("Role", "r")
    placement.place_manifests([given_], SCOPES, "id", "home")

    assert {"name": "r"} == given_.manifest["metadata"]


@pytest.mark.requirement("IN-6")
def test_two_documents_that_turn_out_to_be_one_object_are_refused():
    """Both places are named."""
    twin = document("Role", "r", "home", where="b.yaml, document 2")
    twin.manifest["rules"] = []
    with pytest.raises(errors.PackageInvalid) as caught:
        placement.place_manifests(
            [document("Role", "r", where="a.yaml, document 1"), twin],
            SCOPES,
            "id",
            "home",
        )

    assert (
        "b.yaml, document 2: Role/home/r is already in a.yaml, document 1"
    ) == caught.value.outcome()


def test_two_documents_with_the_same_content_are_one_object():
    """One names the namespace that the other is given."""
    placed = placement.place_manifests(
        [document("Role", "r"), document("Role", "r", "home")],
        SCOPES,
        "id",
        "home",
    )

    assert ["home"] == [item.ref.namespace for item in placed]


def test_kinds_that_a_package_brings_are_read_off_its_definitions():
    """Versions that are not served do not count."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"kind": "Thing"},
            "versions": [
                {"name": "v1", "served": True, "subresources": {"scale": {}}},
                {"name": "v0", "served": False},
            ],
        },
    }

    assert {
        GroupKind("example.org", "Thing"): placement.PackagedKind(
            ("v1",), True, frozenset({"scale"})
        )
    } == placement.packaged_kinds([definition])


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple))
def test_setting_a_number_and_taking_it_out_again(path):
    """Only the field at the path changes."""
    before = {"z": 1}
    with_it = placement.set_field(before, path, 5)

    assert 5 == objects.field(with_it, path)
    assert {"z": 1} == before
    assert (
        objects.field(placement.set_field(with_it, path, None), path) is None
    )


def test_a_plan_is_a_value():
    """It can be compared, and changing a copy leaves it alone."""
    ref = ObjectRef("test.example.org", "Kind3", "ns", "a")
    planned = plan.instantiate([item(ref)], REGISTRY)

    assert planned == plan.instantiate([item(ref)], REGISTRY)
    assert planned != dataclasses.replace(planned, retained=(ref,))


CAPI = "cluster.x-k8s.io"


def part(kind, name, group=CAPI, labels=None, **spec):
    return {
        "apiVersion": f"{group}/v1beta2",
        "kind": kind,
        "metadata": {"name": name, "namespace": "d", "labels": labels or {}},
        "spec": spec,
    }


def test_the_dependencies_of_a_retained_cluster_are_retained():
    """By what it names, and by what refers to the cluster."""

    def names(kind, name, group=CAPI):
        return {"apiGroup": group, "kind": kind, "name": name}

    made = [
        part(
            "Cluster",
            "c",
            topology={"classRef": {"name": "quick"}},
            controlPlaneRef=names("KubeadmControlPlane", "cp"),
            infrastructureRef=names("DevCluster", "infra"),
        ),
        part(
            "KubeadmControlPlane",
            "cp",
            f"controlplane.{CAPI}",
            machineTemplate={"infrastructureRef": names("DevMT", "t")},
        ),
        part("DevCluster", "infra", f"infrastructure.{CAPI}"),
        part("DevMT", "t", f"infrastructure.{CAPI}"),
        part("DevMT", "w", f"infrastructure.{CAPI}"),
        part(
            "MachineDeployment",
            "workers",
            clusterName="c",
            template={"spec": {"infrastructureRef": names("DevMT", "w")}},
        ),
        part("Hook", "labelled", labels={f"{CAPI}/cluster-name": "c"}),
        part("ClusterClass", "quick"),
        part("DevMT", "stranger", f"infrastructure.{CAPI}"),
        part("DevMT", "asked", f"infrastructure.{CAPI}", clusterName="c"),
    ]
    manifests = {ObjectRef.of(manifest): manifest for manifest in made}
    owned = {ref: ref.name for ref in manifests}
    asked = {ref: True for ref in owned if ref.name == "asked"}

    found = plan.change(
        (),
        kinds.BUILT_IN,
        prune.CurrentState(
            owned,
            prune_annotations=asked,
            needs=references.references(manifests),
        ),
        {},
    )

    assert {"stranger", "asked"} == {
        ref.name for stage in found.stages for ref in stage.refs
    }
