"""What a rollback restores, on a real API server."""

from __future__ import annotations

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import policy
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
from tests.functional import manifests
from tests.functional.test_cluster_api import CAPI
from tests.functional.test_cluster_api import SAMPLE
from tests.functional.test_cluster_api import with_text

pytestmark = pytest.mark.plane

STORED = {objects.PREFIX + "readiness": "created"}
BROKEN = {objects.PREFIX + "failed-when": "spec.size=bad"}
"""Of an object that fails as soon as it is there: no test has to wait."""


@pytest.fixture
def life(namespace, deadline):
    return {"namespace": namespace, "deadline": deadline}


def ref(kind, namespace, name, group=""):
    return ObjectRef(group, kind, namespace, name)


def names(cluster, kind, namespace, selector=objects.INSTANCE):
    return {
        obj["metadata"]["name"]
        for obj in cluster.list_metadata(kind, namespace, selector)
    }


def test_an_instantiation_that_ended_early_is_undone(
    cluster, namespace, packed, life, unique, traces
):
    """Nothing is left, and it can be tried again (P22)."""
    group = f"{unique}.example.org"
    package = packed(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "silent", BROKEN, size="bad"),
        manifests.deployment("web", 1),
    )
    with pytest.raises(errors.Failed):
        k8s_cr.instantiate(cluster, unique, package, **life)

    report = k8s_cr.roll_back(cluster, unique, **life)

    assert {Action.DELETED} == {row.action for row in report.rows}
    assert [] == traces(unique, namespace)
    with pytest.raises(errors.InstanceUnknown):
        k8s_cr.roll_back(cluster, unique, **life)


def test_a_scale_that_ended_early_gets_the_number_from_before(
    cluster, namespace, packed, life, unique
):
    """And the instance is at rest again (P22, TK-5)."""
    group = f"{unique}.example.org"
    thing = ref("Thing", namespace, "one", group)
    most = {
        objects.PREFIX + "current-when": "spec.replicas",
        objects.PREFIX + "failed-when": "spec.replicas=5|7",
    }
    k8s_cr.instantiate(
        cluster,
        unique,
        packed(
            manifests.definition(group, "Thing"),
            manifests.custom(group, "Thing", "one", most, replicas=2),
        ),
        **life,
    )
    for number in (5, 7):  # the second tries again, with another number
        with pytest.raises(errors.Failed):
            k8s_cr.scale(cluster, unique, {thing: number}, **life)

    k8s_cr.roll_back(cluster, unique, **life)

    assert 2 == cluster.get(thing)["spec"]["replicas"]
    assert "instantiated" == k8s_cr.status(cluster, unique, **life).phase
    assert () == k8s_cr.roll_back(cluster, unique, **life).rows


def test_a_change_that_ended_early_is_undone(
    cluster, namespace, packed, life, unique
):
    """As it was: made goes, changed and pruned come back (P22, TK-6).

    Definitions of the failed change go too, and numbers stay.
    """
    old, new = f"old.{unique}.example.org", f"new.{unique}.example.org"
    former = packed(
        manifests.definition(old, "Thing"),
        manifests.custom(old, "Thing", "one", STORED, size="s"),
        manifests.deployment("web", 1),
        manifests.config_map("same"),
        manifests.config_map("settings", key="old"),
        manifests.config_map("pruned", key="kept"),
    )
    k8s_cr.instantiate(cluster, unique, former, **life)
    web = ref("Deployment", namespace, "web", "apps")
    k8s_cr.scale(cluster, unique, {web: 3}, **life)
    before = cluster.get(web)["spec"]["template"]
    failing = packed(
        manifests.definition(old, "Thing"),
        manifests.custom(old, "Thing", "one", STORED, size="xl"),
        manifests.deployment("web", 1, terminationGracePeriodSeconds=5),
        manifests.config_map("same"),
        manifests.config_map("settings", key="new"),
        manifests.config_map("added"),
        manifests.definition(new, "Thing"),
        manifests.custom(new, "Thing", "silent", BROKEN, size="bad"),
    )
    with pytest.raises(errors.Failed, match="silent"):
        k8s_cr.change(cluster, unique, failing, **life)

    report = k8s_cr.roll_back(cluster, unique, **life)

    maps = names(cluster, GroupKind("", "ConfigMap"), namespace)
    assert {"same", "settings", "pruned"} == maps
    settings = cluster.get(ref("ConfigMap", namespace, "settings"))
    assert "old" == settings["data"]["key"]
    definition = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
    found = names(cluster, definition, "")
    assert f"things.{old}" in found
    assert f"things.{new}" not in found
    one = cluster.get(ref("Thing", namespace, "one", old))
    assert "s" == one["spec"]["size"]
    assert before == cluster.get(web)["spec"]["template"]
    assert 3 == cluster.get(web)["spec"]["replicas"]
    assert "instantiated" == report.phase
    assert {"current"} == {row.verdict.state.value for row in report.rows}
    owned = record.read(cluster, unique, namespace).inventory.owned
    assert 6 == len(owned)

    k8s_cr.change(
        cluster, unique, packed(manifests.config_map("last")), **life
    )


def test_a_change_at_rest_is_undone_once(
    cluster, namespace, packed, life, unique
):
    """What was pruned comes back; to repeat it does nothing (P22)."""
    first = packed(manifests.config_map("a"), name="first")
    second = packed(manifests.config_map("b"), name="second")
    kind = GroupKind("", "ConfigMap")
    k8s_cr.instantiate(cluster, unique, first, **life)
    k8s_cr.change(cluster, unique, second, **life)

    k8s_cr.roll_back(cluster, unique, **life)

    assert {"a"} == names(cluster, kind, namespace)
    assert () == k8s_cr.roll_back(cluster, unique, **life).rows
    assert {"a"} == names(cluster, kind, namespace)


def test_at_rest_only_the_named_package_is_gone_back_to(
    cluster, namespace, packed, life, unique
):
    """A refused change leaves nothing to undo, and undoes no other."""
    first = packed(manifests.config_map("a"), name="first")
    second = packed(manifests.config_map("b"), name="second")
    third = packed(manifests.config_map("c"), name="third")
    kind = GroupKind("", "ConfigMap")
    k8s_cr.instantiate(cluster, unique, first, **life)
    k8s_cr.change(cluster, unique, second, **life)

    assert () == k8s_cr.roll_back(cluster, unique, package=second, **life).rows
    with pytest.raises(errors.RequestInvalid, match="was not of the package"):
        k8s_cr.roll_back(cluster, unique, package=third, **life)
    assert {"b"} == names(cluster, kind, namespace)
    k8s_cr.roll_back(cluster, unique, package=first, **life)
    assert {"a"} == names(cluster, kind, namespace)
    assert () == k8s_cr.roll_back(cluster, unique, package=first, **life).rows


def test_what_cannot_be_restored_is_named_and_the_rest_is(
    cluster, namespace, packed, life, unique
):
    """A name that somebody else took, say; a later try finds it free."""
    first = packed(
        manifests.config_map("gone"), manifests.config_map("back"), name="a"
    )
    k8s_cr.instantiate(cluster, unique, first, **life)
    k8s_cr.change(
        cluster, unique, packed(manifests.config_map("b"), name="b"), **life
    )
    theirs = manifests.config_map("gone", namespace, key="theirs")
    cluster.create(theirs, "somebody")

    with pytest.raises(errors.NotRestored, match="gone: could not be") as got:
        k8s_cr.roll_back(cluster, unique, **life)

    kind = GroupKind("", "ConfigMap")
    gone = ref("ConfigMap", namespace, "gone")
    assert [gone] == list(got.value.reasons)
    assert {"back"} == names(cluster, kind, namespace)
    assert "theirs" == cluster.get(gone)["data"]["key"]
    cluster.delete(gone, objects.uid(cluster.get(gone)))

    k8s_cr.roll_back(cluster, unique, **life)

    assert {"back", "gone"} == names(cluster, kind, namespace)


def test_what_stays_as_it_is_keeps_what_it_needs(
    cluster, namespace, packed, life, unique
):
    """Though the change has made that, and all else goes (P22, E7).

    The second try ends, and its report says what is not as it was.
    """
    group = f"{unique}.example.org"
    definition = manifests.definition(group, "Thing")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = schema["properties"]["spec"]
    text = {"type": "string", "maxLength": 9}
    spec["properties"]["uses"] = {
        "type": "object",
        "properties": {"kind": text, "name": text},
    }
    spec["x-kubernetes-validations"] = [
        {"rule": "size(self.size) >= size(oldSelf.size)", "message": "grows"}
    ]

    def package(size, used, *more, name):
        uses = {"kind": "ConfigMap", "name": used}
        thing = manifests.custom(
            group, "Thing", "one", STORED, size=size, uses=uses
        )
        found = manifests.config_map(used)
        return packed(definition, thing, found, *more, name=name)

    k8s_cr.instantiate(cluster, unique, package("s", "old", name="a"), **life)
    more = manifests.config_map("more")
    k8s_cr.change(
        cluster, unique, package("xl", "new", more, name="b"), **life
    )

    with pytest.raises(errors.NotRestored, match="grows"):
        k8s_cr.roll_back(cluster, unique, **life)

    kind = GroupKind("", "ConfigMap")
    assert {"old", "new"} == names(cluster, kind, namespace)
    thing = cluster.get(ref("Thing", namespace, "one", group))
    assert "xl" == thing["spec"]["size"]
    report = k8s_cr.roll_back(cluster, unique, **life)
    why = {
        row.ref.name: row.verdict.reason
        for row in report.rows
        if row.action is Action.KEPT
    }
    assert {"one", "new"} == set(why)
    assert "grows" in why["one"]
    assert "which stays as it is, needs it" in why["new"]
    assert "instantiated" == report.phase


def test_what_a_change_took_over_is_given_back(
    cluster, namespace, packed, life, unique
):
    """It was there before, so it stays, and is nobody's of ours."""
    theirs = manifests.config_map("theirs", namespace, key="theirs")
    cluster.create(theirs, "somebody")
    found = ref("ConfigMap", namespace, "theirs")
    k8s_cr.instantiate(
        cluster, unique, packed(manifests.config_map("a"), name="a"), **life
    )
    changed = packed(
        manifests.config_map("theirs", key="theirs", more="ours"), name="b"
    )
    k8s_cr.change(
        cluster,
        unique,
        changed,
        options=k8s_cr.Options(adopt=frozenset({found})),
        **life,
    )

    report = k8s_cr.roll_back(cluster, unique, **life)

    assert Action.RELEASED in {row.action for row in report.rows}
    left = cluster.get(found)
    assert {"key": "theirs"} == left["data"]
    assert objects.INSTANCE not in objects.labels(left)
    k8s_cr.terminate(cluster, unique, **life)
    assert cluster.get(found)


def test_what_an_instantiation_took_over_is_given_back(
    cluster, namespace, packed, life, unique, traces
):
    """All else goes, with the record (P20, P22)."""
    theirs = manifests.config_map("theirs", namespace, key="theirs")
    cluster.create(theirs, "somebody")
    found = ref("ConfigMap", namespace, "theirs")
    group = f"{unique}.example.org"
    package = packed(
        manifests.config_map("theirs", key="theirs", more="ours"),
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "silent", BROKEN, size="bad"),
    )
    with pytest.raises(errors.Failed):
        k8s_cr.instantiate(
            cluster,
            unique,
            package,
            options=k8s_cr.Options(adopt=frozenset({found})),
            **life,
        )

    k8s_cr.roll_back(cluster, unique, **life)

    assert {"key": "theirs"} == cluster.get(found)["data"]
    assert [] == traces(unique, namespace)


def test_a_scale_of_what_went_says_what_it_could_not_restore(
    cluster, namespace, packed, life, unique
):
    """The other objects have their numbers (P22)."""
    group = f"{unique}.example.org"
    k8s_cr.instantiate(
        cluster,
        unique,
        packed(
            manifests.definition(group, "Thing"),
            manifests.custom(group, "Thing", "one", STORED, replicas=2),
            manifests.deployment("web", 1, nodeName="none"),
        ),
        policy=policy.of(
            {"readiness": [{"of": "Deployment.apps", "readiness": "created"}]}
        ),
        **life,
    )
    web = ref("Deployment", namespace, "web", "apps")
    thing = ref("Thing", namespace, "one", group)

    def remove(progress):
        if progress.stage == "replicas" and (live := cluster.get(web)):
            cluster.delete(web, objects.uid(live))

    with pytest.raises(errors.Error, match="not found"):
        k8s_cr.scale(
            cluster, unique, {thing: 3, web: 2}, listen=remove, **life
        )

    with pytest.raises(errors.NotRestored, match=r"web: .* gone from the"):
        k8s_cr.roll_back(cluster, unique, **life)

    assert 2 == cluster.get(thing)["spec"]["replicas"]


@pytest.mark.capi
def test_a_cluster_goes_back_to_the_templates_it_had(
    cluster, namespace, unique, traces
):
    """By their names, with the machines it had (P10, P22, TK-17)."""

    def life(seconds=240):
        deadline = k8s_cr.Deadline.after(seconds)
        return {"namespace": namespace, "deadline": deadline}

    def machines():
        return names(cluster, GroupKind(CAPI, "Machine"), namespace, "")

    package = k8s_cr.load(SAMPLE)
    k8s_cr.instantiate(cluster, unique, package, **life())
    templates = GroupKind(f"infrastructure.{CAPI}", "DevMachineTemplate")
    before = names(cluster, templates, namespace), machines()
    # Its machines would never start, so that none of the former goes.
    changed = with_text(package, "2s", "24h")
    with pytest.raises(errors.NotReady):
        k8s_cr.change(cluster, unique, changed, **life(15))
    assert before[0] < names(cluster, templates, namespace)

    k8s_cr.roll_back(cluster, unique, **life())

    assert before == (names(cluster, templates, namespace), machines())
    k8s_cr.terminate(cluster, unique, **life())
    assert [] == traces(unique, namespace)
