"""Waves and dependencies: what is refused, what waits, and the way back."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.engine import dry_run
from tacker_k8s_cr.engine import kind_resolution
from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.kinds.base import ApplyOrder
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.plan import deletion_plan
from tacker_k8s_cr.plan import namespace_override
from tacker_k8s_cr.plan import plan
from tacker_k8s_cr.plan import waves
from tacker_k8s_cr.plan.placement import PlacedManifest

REGISTRY = kinds.BUILT_IN
GROUP = "test.example.org"


def manifest(kind, name, *, wave=None, needs=None, group="", namespace="ns"):
    said = {"wave": wave, "depends-on": needs}
    metadata = {
        "name": name,
        "annotations": {
            objects.PREFIX + key: str(value)
            for key, value in said.items()
            if value is not None
        },
    }
    if namespace:
        metadata["namespace"] = namespace
    version = f"{group}/v1" if group else "v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def definition(kind, **more):
    group = "apiextensions.k8s.io"
    made = manifest(
        "CustomResourceDefinition",
        f"{kind.lower()}s.{GROUP}",
        group=group,
        namespace="",
        **more,
    )
    made["spec"] = {"group": GROUP, "names": {"kind": kind}}
    return made


def placed(*manifests):
    return [
        PlacedManifest(ObjectRef.of(m), m, f"a.yaml, document {number}")
        for number, m in enumerate(manifests, 1)
    ]


def planned(items):
    return plan.instantiate(
        items, REGISTRY, order=waves.order_of(items, REGISTRY)
    )


def refused(*manifests):
    with pytest.raises(errors.PackageInvalid) as caught:
        waves.order_of(placed(*manifests), REGISTRY)
    return caught.value.outcome()


def names(stages):
    return [[step.ref.name for step in stage.steps] for stage in stages]


# -- What annotations say ----------------------------------------------------


@pytest.mark.requirement("B3")
def test_an_object_waits_for_what_it_depends_on_and_nothing_else_does():
    """Kind, group, namespace and name; several at once."""
    (stage,) = planned(
        placed(
            manifest(
                "Secret",
                "mine",
                needs=f"ConfigMap/ns/one,\nThing.{GROUP}/two",
            ),
            manifest("ConfigMap", "one"),
            manifest("ConfigMap", "one", namespace="other"),
            manifest("Thing", "two", group=GROUP),
        )
    ).stages
    after = {step.ref.name: step.after for step in stage.steps if step.after}

    assert {
        "mine": {
            ObjectRef("", "ConfigMap", "ns", "one"),
            ObjectRef(GROUP, "Thing", "ns", "two"),
        }
    } == after
    assert not stage.barrier


def test_a_namespace_that_is_left_out_is_the_objects_own():
    """Else that of the only object of the name, or of none."""
    (stage,) = planned(
        placed(
            manifest(
                "Secret",
                "mine",
                needs="ConfigMap/near, ConfigMap/far, PriorityClass"
                ".scheduling.k8s.io/high",
            ),
            manifest("ConfigMap", "near"),
            manifest("ConfigMap", "near", namespace="other"),
            manifest("ConfigMap", "far", namespace="other"),
            manifest(
                "PriorityClass",
                "high",
                group="scheduling.k8s.io",
                namespace="",
            ),
        )
    ).stages
    (after,) = [step.after for step in stage.steps if step.after]

    assert {
        "ConfigMap/ns/near",
        "ConfigMap/other/far",
        "PriorityClass.scheduling.k8s.io/high",
    } == set(map(str, after))


@pytest.mark.requirement("B3")
def test_a_wave_waits_for_the_one_before():
    """Without a wave an object is of wave 0; definitions come first."""
    found = planned(
        placed(
            manifest("ConfigMap", "late", wave=2),
            manifest("ConfigMap", "usual"),
            manifest("Secret", "early", wave=-1),
            manifest("Namespace", "ns", namespace=""),
            manifest("Namespace", "third", wave=2, namespace=""),
        )
    )

    assert [["ns"], ["early"], ["usual"], ["third"], ["late"]] == names(
        found.stages
    )
    assert [True, True, True, True, False] == [
        stage.barrier for stage in found.stages
    ]
    assert [
        "definitions",
        "wave -1",
        "wave 0",
        "definitions of wave 2",
        "wave 2",
    ] == [stage.name for stage in found.stages]


def test_a_definition_that_depends_on_a_workload_comes_after_it():
    """And what it defines waits for it, without being told."""
    things = definition("Thing", needs="ConfigMap/ns/web")
    others = definition("Other")
    found = planned(
        placed(
            things,
            others,
            manifest("ConfigMap", "web"),
            manifest("Thing", "one", group=GROUP),
            manifest("Other", "two", group=GROUP),
        )
    )

    assert [{f"others.{GROUP}"}, {"web", f"things.{GROUP}", "one", "two"}] == [
        set(some) for some in names(found.stages)
    ]
    after = {s.ref.name: s.after for s in found.stages[1].steps if s.after}
    assert {f"things.{GROUP}", "one"} == after.keys()
    assert {ObjectRef.of(things)} == after["one"]


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (
            {"wave": "soon"},
            "a.yaml, document 1: ConfigMap/ns/a: annotation "
            "k8s-cr.tacker.openstack.org/wave: 'soon' is not a whole number",
        ),
        (
            {"needs": "the web server"},
            "depends-on: 'the web server' is not an object such as "
            "Deployment.apps/edge/web",
        ),
        (
            {"needs": "ConfigMap/b, ConfigMap/x/b"},
            "a.yaml, document 1: ConfigMap/ns/a depends on ConfigMap/x/b: is "
            "not in the package; it has ConfigMap/ns/b",
        ),
        (
            {"needs": "Secret/s"},
            "depends on Secret/s: Secret/x/s, Secret/y/s: which is meant?",
        ),
        (
            {"needs": "Service/b"},
            "depends on Service/b: is not in the package",
        ),
    ],
)
def test_what_cannot_be_followed_is_refused_by_its_place(annotation, said):
    """Before anything is written."""
    assert said in refused(
        manifest("ConfigMap", "a", **annotation),
        manifest("ConfigMap", "b"),
        manifest("Secret", "s", namespace="x"),
        manifest("Secret", "s", namespace="y"),
    )


def test_objects_that_need_each_other_are_refused():
    """All of them are named, with their places."""
    assert (
        "a.yaml, document 1: ConfigMap/ns/a needs ConfigMap/ns/c (a.yaml, "
        "document 3), which needs ConfigMap/ns/b (a.yaml, document 2), which "
        "needs ConfigMap/ns/a (a.yaml, document 1): each would wait for the "
        "other\n"
        "a.yaml, document 4: Secret/ns/x needs Secret/ns/x (a.yaml, document "
        "4): each would wait for the other"
    ) == refused(
        manifest("ConfigMap", "a", needs="ConfigMap/c"),
        manifest("ConfigMap", "b", needs="ConfigMap/a"),
        manifest("ConfigMap", "c", needs="ConfigMap/b"),
        manifest("Secret", "x", needs="Secret/x"),
    )


def test_a_definition_may_not_depend_on_what_it_defines():
    """That it is needed there does not have to be declared."""
    assert "each would wait for the other" in refused(
        definition("Thing", needs=f"Thing.{GROUP}/ns/one"),
        manifest("Thing", "one", group=GROUP),
    )


def test_what_is_needed_may_not_be_of_a_later_wave():
    """By a dependency, a definition or a namespace; both ends are named."""
    said = refused(
        manifest("ConfigMap", "a", needs="ConfigMap/b"),
        manifest("ConfigMap", "b", wave=1),
        definition("Thing", wave=3),
        manifest("Thing", "one", group=GROUP, wave=2),
        manifest("Namespace", "ns", wave=1, namespace=""),
    )

    assert (
        "a.yaml, document 1: ConfigMap/ns/a of wave 0 needs ConfigMap/ns/b of "
        "wave 1 (a.yaml, document 2), which comes later"
    ) in said
    assert f"Thing.{GROUP}/ns/one of wave 2 needs Custom" in said
    assert "ConfigMap/ns/a of wave 0 needs Namespace/ns of wave 1" in said


def test_a_dependency_moves_with_its_object():
    """With the namespace that a request gives to all of a package."""
    documents = [
        Document(m, "a.yaml")
        for m in (
            manifest(
                "ConfigMap",
                "a",
                namespace="from",
                needs=f"Thing.{GROUP}/from/b, Secret/else/c,Secret/d",
            ),
            manifest("Thing", "b", namespace="from", group=GROUP),
        )
    ]
    scopes = {
        GroupKind("", "ConfigMap"): True,
        GroupKind(GROUP, "Thing"): True,
    }

    moved = namespace_override.override_namespace(documents, scopes, "to")

    assert f"Thing.{GROUP}/to/b, Secret/else/c,Secret/d" == (
        objects.annotation(moved[0].manifest, "depends-on")
    )


def test_a_renamed_template_is_still_depended_on():
    """Authors know objects by the names that they gave them."""
    items = placed(
        manifest("ConfigMap", "a", needs="Secret/t"), manifest("Secret", "t")
    )
    live = {items[1].ref: "t-1234"}

    order = waves.order_of(items, REGISTRY, live)

    assert {items[0].ref: {ObjectRef("", "Secret", "ns", "t-1234")}} == (
        order.needs
    )


def test_kinds_are_announced_by_request_and_by_annotation():
    """An invalid kind is refused with its place."""
    operator = manifest("Deployment", "a", group="apps")
    said = operator["metadata"]["annotations"]
    said[objects.PREFIX + "expected-kinds"] = (
        "Thing.example.org,\nZone.b.c:Cluster"
    )
    documents = [Document(operator, "a.yaml, document 1")]
    asked = policy.from_dict({"expected_kinds": ["Other.example.org"]})

    found = kind_resolution.expected_kinds(documents, asked)

    assert {
        GroupKind("example.org", "Thing"): True,
        GroupKind("b.c", "Zone"): False,
        GroupKind("example.org", "Other"): True,
    } == {kind: item.namespaced for kind, item in found.items()}
    said[objects.PREFIX + "expected-kinds"] = "Thing/a, Other"
    with pytest.raises(errors.PackageInvalid) as caught:
        kind_resolution.expected_kinds(documents, asked)
    assert (
        "a.yaml, document 1: Deployment.apps/ns/a: annotation "
        "k8s-cr.tacker.openstack.org/expected-kinds: 'Thing/a': expected "
        "a kind"
    ) in str(caught.value)


def test_a_denial_counts_when_nothing_is_missing_that_it_may_ask_for():
    """What depends on others, or is of a later wave, may ask for them."""
    items = placed(
        manifest("ConfigMap", "first"),
        manifest("ConfigMap", "needs", needs="ConfigMap/first"),
        manifest("ConfigMap", "late", wave=1),
    )
    order = waves.order_of(items, REGISTRY)
    first, needs, late = (item.ref for item in items)

    assert {needs, late} == dry_run.blocked_by_missing(items, order, ())
    assert {late} == dry_run.blocked_by_missing(items, order, (first,))
    assert set() == dry_run.blocked_by_missing(items, order, (first, needs))
    assert set() == dry_run.blocked_by_missing(
        items, order, (first, needs, late)
    )


# -- Any package -------------------------------------------------------------

KINDS = (
    ("Secret", ""),
    ("ConfigMap", ""),
    ("Deployment", "apps"),
    ("Role", "rbac.authorization.k8s.io"),
    ("Thing", GROUP),
    ("Cluster", "cluster.x-k8s.io"),
    ("ValidatingWebhookConfiguration", "admissionregistration.k8s.io"),
)


@st.composite
def packages(draw):
    """Objects that need only such as stand before them, in any waves."""
    made = [definition("Thing"), manifest("Namespace", "ns", namespace="")]
    said = []
    for number in range(draw(st.integers(1, 9))):
        kind, group = draw(st.sampled_from(KINDS))
        known = [ref for ref, _ in said]
        needs = draw(st.sets(st.sampled_from(known))) if known else set()
        least = max((w for r, w in said if r in needs), default=0)
        wave = draw(st.sampled_from((None, *range(max(least, 0), least + 3))))
        if least > 0 and wave is None:
            wave = least
        found = manifest(
            kind,
            f"o{number}",
            group=group,
            wave=wave,
            needs=", ".join(map(str, sorted(needs))) or None,
        )
        made.append(found)
        said.append((ObjectRef.of(found), wave or 0))
    return made


def rounds(found):
    """Objects as they would be written if each got current at once."""
    current = set()
    for stage in found.stages:
        left = list(stage.steps)
        while left:
            free = [step for step in left if step.after <= current]
            assert free, "nothing would ever be written"
            for step in free:
                yield step.ref, frozenset(current)
            current |= {step.ref for step in free}
            left = [step for step in left if step not in free]


@given(packages())
@pytest.mark.requirement("B4")
def test_what_an_object_depends_on_is_current_before_it_is_written(made):
    """And all that is of an earlier wave."""
    items = placed(*made)
    order = waves.order_of(items, REGISTRY)
    when = dict(rounds(planned(items)))

    assert {item.ref for item in items} == when.keys()
    for ref, before in when.items():
        assert order.needs.get(ref, frozenset()) <= before
        if ref.kind not in ("CustomResourceDefinition", "Namespace"):
            assert {r for r in when if order.wave(r) < order.wave(ref)} <= (
                before
            )


@given(packages(), st.randoms())
@pytest.mark.requirement("B1")
def test_the_order_of_files_is_of_no_account(made, random):
    """Any order of the documents gives the same plan."""

    def shown(some):
        return [
            (
                stage.name,
                stage.barrier,
                {(s.ref, s.after) for s in stage.steps},
            )
            for stage in planned(placed(*some)).stages
        ]

    mixed = list(made)
    random.shuffle(mixed)

    assert shown(made) == shown(mixed)


@given(packages())
@pytest.mark.requirement("TK-4", "F1")
def test_terminate_deletes_in_reverse_order(made):
    """Nothing goes before what depends on it, nor before a later wave."""
    items = placed(*made)
    manifests = {item.ref: item.manifest for item in items}
    order = waves.recorded_order(manifests)
    found = deletion_plan.terminate(
        dict.fromkeys(manifests, "u"), REGISTRY, order=order
    )
    stage_of = {
        ref: number
        for number, stage in enumerate(found.stages)
        for ref in stage.refs
    }

    assert manifests.keys() == stage_of.keys()
    assert len(manifests) == sum(len(stage.refs) for stage in found.stages)
    for ref, needs in order.needs.items():
        assert all(stage_of[ref] < stage_of[other] for other in needs)
    for one, other in itertools.permutations(stage_of, 2):
        first = {"CustomResourceDefinition", "Namespace"}
        if not first & {one.kind, other.kind} and (
            order.wave(one) > order.wave(other)
        ):
            assert stage_of[one] < stage_of[other]


@pytest.mark.requirement("P17")
def test_only_dependents_are_deleted_earlier():
    """An operator is deleted after the resources that it manages.

    Also when another operator, which depends on one of them, has to be
    deleted before that one.
    """
    made = [
        manifest(
            "Thing", "certificate", group=GROUP, needs="Deployment.apps/a"
        ),
        manifest("Thing", "cluster", group=GROUP),
        manifest("Deployment", "a", group="apps"),
        manifest(
            "Deployment",
            "b",
            group="apps",
            needs=f"Thing.{GROUP}/certificate",
        ),
    ]
    manifests = {ObjectRef.of(m): m for m in made}

    found = deletion_plan.terminate(
        dict.fromkeys(manifests, "u"),
        REGISTRY,
        order=waves.recorded_order(manifests),
    )

    assert [["cluster"], ["b"], ["certificate"], ["a"]] == [
        [ref.name for ref in stage.refs] for stage in found.stages
    ]


@given(packages())
@pytest.mark.requirement("P3")
def test_without_annotations_there_is_one_barrier(made):
    """Namespaces and definitions; then all the rest."""
    for found in made:
        found["metadata"]["annotations"] = {}
    stages = planned(placed(*made)).stages

    assert [True, False] == [stage.barrier for stage in stages]
    assert not any(step.after for stage in stages for step in stage.steps)
    assert all(step.rank <= ApplyOrder.DEFINITION for step in stages[0].steps)


# -- A package like Cluster API's --------------------------------------------


def operators():
    """Two operators, of which the second needs what the first makes."""
    hooks = "admissionregistration.k8s.io"
    rbac = "rbac.authorization.k8s.io"
    certificates = "cert-manager.io"
    made = [
        definition("Certificate"),
        definition("Cluster"),
        manifest(
            "Certificate",
            "serving-cert",
            group=certificates,
            needs="Deployment.apps/cert-manager-webhook",
        ),
        manifest(
            "Cluster",
            "c",
            group="cluster.x-k8s.io",
            needs="Deployment.apps/capi-controller-manager",
        ),
        manifest("DevMachineTemplate", "t", group="infra.cluster.x-k8s.io"),
    ]
    for number, name in enumerate(
        ("cert-manager-webhook", "capi-controller-manager")
    ):
        made += [
            manifest("Namespace", f"n{number}", namespace=""),
            manifest("ServiceAccount", name),
            manifest("ConfigMap", name),
            manifest("ClusterRole", name, group=rbac, namespace=""),
            manifest("ClusterRoleBinding", name, group=rbac, namespace=""),
            manifest("Service", name),
            manifest("Deployment", name, group="apps"),
            manifest(
                "ValidatingWebhookConfiguration",
                name,
                group=hooks,
                namespace="",
            ),
        ]
    made[0]["spec"]["group"] = certificates
    made[1]["spec"]["group"] = "cluster.x-k8s.io"
    return made


@given(st.permutations(operators()))
def test_operators_and_their_objects_in_any_order_of_their_files(made):
    """Each before what it needs; nothing waits that need not."""
    first, rest = planned(placed(*made)).stages
    ranks = {step.ref.kind: step.rank for step in rest.steps}
    order = [
        "ConfigMap",
        "ClusterRole",
        "Service",
        "Deployment",
        "ValidatingWebhookConfiguration",
        "DevMachineTemplate",
        "Certificate",
        "Cluster",
    ]

    assert {"Namespace", "CustomResourceDefinition"} == {
        step.ref.kind for step in first.steps
    }
    assert sorted(order, key=ranks.__getitem__) == order
    assert len(set(map(ranks.get, order))) == len(order)
    assert {
        "serving-cert": ["cert-manager-webhook"],
        "c": ["capi-controller-manager"],
    } == {
        step.ref.name: [ref.name for ref in step.after]
        for step in rest.steps
        if step.after
    }


@given(st.permutations(operators()))
@pytest.mark.requirement("P17", "F3")
def test_operators_are_deleted_after_their_objects(made):
    """In the same order, however their files stand."""
    manifests = {ObjectRef.of(m): m for m in made}
    stages = deletion_plan.terminate(
        dict.fromkeys(manifests, "u"),
        REGISTRY,
        order=waves.recorded_order(manifests),
    ).stages

    assert [
        {"Cluster"},
        {"Certificate"},
        {"DevMachineTemplate"},
        {"ValidatingWebhookConfiguration"},
        {"Deployment"},
        {
            *("ServiceAccount", "ConfigMap", "ClusterRole"),
            *("ClusterRoleBinding", "Service"),
        },
        {"CustomResourceDefinition"},
        {"Namespace"},
    ] == [{ref.kind for ref in stage.refs} for stage in stages]
