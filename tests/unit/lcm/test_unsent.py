"""What operations do not send, since an apply would change nothing."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.planning.forecast import Fate
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
from tests.fakes import FakeCluster
from tests.fakes.workloads import play_deployments
from tests.functional import manifests
from tests.unit.lcm.deaths import run
from tests.unit.packages import GROUP
from tests.unit.packages import STORED
from tests.unit.packages import package

WEB = ObjectRef("apps", "Deployment", "default", "web")
FAST = Options(dry_run=False)


@pytest.fixture
def cluster(clock):
    return FakeCluster(controller=play_deployments, idle=clock.idle)


def ref(name, kind="ConfigMap", group=""):
    return ObjectRef(group, kind, "default", name)


def configs(*names, **data):
    return [manifests.config_map(name, **data) for name in names]


def applied(cluster, do, *args, **kwargs):
    """Names of what an operation applied, in order, and its report."""
    cluster.sent.clear()
    report = do(cluster, "one", *args, **kwargs)
    names = [
        about.name
        for verb, about in cluster.sent
        if verb == "patch" and about.kind != "Namespace"
    ]
    return names, report


def actions(report):
    return {row.ref.name: row.action for row in report.rows}


def marked(manifest, **annotations):
    notes = {objects.PREFIX + key: text for key, text in annotations.items()}
    before = manifest["metadata"].get("annotations") or {}
    metadata = {**manifest["metadata"], "annotations": {**before, **notes}}
    return {**manifest, "metadata": metadata}


# -- What is sent -------------------------------------------------------------


def test_a_change_sends_what_differs(cluster, life):
    """And lets the server check that, and no more, by a dry run."""
    names = [f"c{number}" for number in range(60)]
    lcm.instantiate(cluster, "one", package(*configs(*names)), **life)
    changed = package(*configs("c7", key="new"), *configs(*names[8:], "more"))

    sent, report = applied(cluster, lcm.change, changed, **life)

    assert ["c7", "more"] * 2 == sent
    done = actions(report)
    assert Action.CONFIGURED is done["c7"]
    assert Action.CREATED is done["more"]
    assert Action.DELETED is done["c0"]
    assert 52 == report.count(Action.UNCHANGED)
    assert {"current"} == {
        row.verdict.state.value for row in report.rows if row.uid
    }


def test_a_package_that_is_applied_again_is_not_sent(cluster, life):
    """Of a thousand objects, some requests list them, and none writes."""
    given = package(*configs(*(f"c{number}" for number in range(1000))))
    lcm.instantiate(cluster, "one", given, options=FAST, **life)
    before = cluster.get(ref("c1"))

    sent, report = applied(cluster, lcm.change, given, **life)

    assert [] == sent
    assert 1000 == report.count(Action.UNCHANGED)
    assert (
        objects.uid(before) == {r.ref.name: r.uid for r in report.rows}["c1"]
    )
    assert 20 >= report.requests
    assert before == cluster.get(ref("c1"))


def test_all_is_sent_when_that_is_asked_for(cluster, life):
    """With the same outcome."""
    given = package(*configs("a", "b"))
    lcm.instantiate(cluster, "one", given, **life)

    sent, report = applied(
        cluster, lcm.change, given, options=Options(resend=True), **life
    )

    assert ["a", "b"] * 2 == sent
    assert {Action.UNCHANGED} == set(actions(report).values())


def test_what_another_client_has_edited_is_sent(cluster, life):
    """A value, the label, or who owns a field: each is as it was before."""
    given = package(*configs("a", "b", "c", "d"))
    lcm.instantiate(cluster, "one", given, **life)
    before = {name: cluster.get(ref(name)) for name in "abcd"}
    label = {"labels": {objects.INSTANCE: None}}
    cluster.patch(ref("a"), {"data": {"key": "edited"}}, "editor")
    cluster.patch(ref("b"), {"metadata": label}, "editor")
    cluster.patch(ref("c"), {"metadata": {"labels": {"x": "y"}}}, "editor")
    take = Options(conflict="take", dry_run=False)

    sent, report = applied(cluster, lcm.change, given, options=take, **life)

    assert ["a", "b"] == sorted(sent)
    assert "value" == cluster.get(ref("a"))["data"]["key"]
    assert before["b"]["metadata"]["labels"] == objects.labels(
        cluster.get(ref("b"))
    )
    assert Action.UNCHANGED is actions(report)["c"]


def test_a_field_of_another_manager_is_a_conflict_as_before(cluster, life):
    """The object is sent, and the server says who owns the field."""
    given = package(*configs("a", "b"))
    lcm.instantiate(cluster, "one", given, **life)
    cluster.patch(ref("a"), {"data": {"key": "edited"}}, "editor")

    with pytest.raises(errors.Conflict, match=r"data\.key is owned by editor"):
        lcm.change(cluster, "one", given, **life)


def test_an_object_with_another_uid_is_sent(cluster, life):
    """However much it looks like the one that was deleted."""
    given = package(*configs("a", "b"))
    lcm.instantiate(cluster, "one", given, **life)
    live = cluster.get(ref("a"))
    cluster.delete(ref("a"), objects.uid(live))
    twin = {k: live[k] for k in ("apiVersion", "kind", "data")}
    metadata = {
        k: live["metadata"][k] for k in ("name", "namespace", "labels")
    }
    cluster.apply({**twin, "metadata": metadata}, objects.MANAGER + "one")

    sent, _ = applied(cluster, lcm.change, given, options=FAST, **life)

    assert ["a"] == sent


def test_what_is_gone_is_made_again(cluster, life):
    """As before."""
    given = package(*configs("a", "b"))
    lcm.instantiate(cluster, "one", given, **life)
    cluster.delete(ref("a"), objects.uid(cluster.get(ref("a"))))

    sent, report = applied(cluster, lcm.change, given, options=FAST, **life)

    assert ["a"] == sent
    assert Action.CREATED is actions(report)["a"]


def test_who_may_not_list_sends_all(cluster, life):
    """A comparison object by object would cost as much."""
    given = package(*configs("a", "b"))
    lcm.instantiate(cluster, "one", given, **life)
    kind = GroupKind("", "ConfigMap")
    refused = errors.Forbidden("list", "configmaps", "default", "no")
    cluster.fail(refused, "list", kind)

    sent, _ = applied(cluster, lcm.change, given, options=FAST, **life)

    assert ["a", "b"] == sent


def test_objects_of_a_definition_that_changes_are_sent(cluster, life):
    """Those of one that does not change are not."""
    things = manifests.definition(GROUP, "Thing")
    others = manifests.definition(GROUP, "Other")
    objs = [
        manifests.custom(GROUP, kind, kind.lower(), STORED)
        for kind in ("Thing", "Other")
    ]
    lcm.instantiate(cluster, "one", package(things, others, *objs), **life)
    changed = manifests.definition(GROUP, "Thing", scale=False)

    sent, _ = applied(
        cluster,
        lcm.change,
        package(changed, others, *objs),
        options=FAST,
        **life,
    )

    assert [f"things.{GROUP}", "thing"] == sent


def test_a_number_that_a_scale_has_set_is_not_sent_back(cluster, life):
    """An object that differs in nothing else stays as it is."""
    given = package(manifests.deployment("web", 1))
    lcm.instantiate(cluster, "one", given, **life)
    lcm.scale(cluster, "one", {WEB: 3}, **life)

    sent, _ = applied(cluster, lcm.change, given, options=FAST, **life)

    assert [] == sent
    assert 3 == cluster.get(WEB)["spec"]["replicas"]


# -- What is waited for -------------------------------------------------------


def test_what_is_not_sent_is_waited_for(cluster, clock, life):
    """An object that is not current keeps an operation from its end."""
    given = package(manifests.deployment("web", 1), *configs("a"))
    lcm.instantiate(cluster, "one", given, **life)
    status = cluster.get(WEB)["status"]
    cluster.report(WEB, {**status, "availableReplicas": 0, "readyReplicas": 0})
    changed = package(manifests.deployment("web", 1), *configs("a", key="new"))

    with pytest.raises(errors.NotReady) as caught:
        lcm.change(cluster, "one", changed, deadline=Deadline.after(20, clock))

    assert [WEB] == [item.ref for item in caught.value.unsettled]
    cluster.report(WEB, status)
    sent, report = applied(cluster, lcm.change, changed, **life)
    assert [] == sent
    assert {"current"} == {row.verdict.state.value for row in report.rows}


def test_what_depends_on_an_object_that_is_sent_is_sent_after_it(
    cluster, life
):
    """What depends on one that is not sent, and current, is not either."""
    after = {"depends-on": "ConfigMap/default/a"}
    (b,) = configs("b")
    before = package(*configs("a"), marked(b, **after))
    lcm.instantiate(cluster, "one", before, **life)
    changed = package(*configs("a", key="new"), marked(b, **after))

    first, _ = applied(cluster, lcm.change, changed, options=FAST, **life)
    again, _ = applied(cluster, lcm.change, changed, options=FAST, **life)

    assert (["a", "b"], []) == (first, again)


def test_a_later_stage_is_compared_again(cluster, life):
    """What a controller edits while the first is carried out is sent."""
    (early,), (late, same) = configs("early"), configs("late", "same")
    waves = [marked(late, wave="1"), marked(same, wave="1")]
    lcm.instantiate(cluster, "one", package(early, *waves), **life)

    def edits(fake, obj):
        if obj["metadata"]["name"] == "early":
            fake.patch(ref("late"), {"data": {"key": "edited"}}, "editor")

    cluster.world.controller = edits
    take = Options(conflict="take", dry_run=False)
    changed = package(*configs("early", key="new"), *waves)

    sent, report = applied(cluster, lcm.change, changed, options=take, **life)

    assert ["early", "late", "late"] == sorted(sent)  # the edit is one
    assert "value" == cluster.get(ref("late"))["data"]["key"]
    assert Action.UNCHANGED is actions(report)["same"]


@pytest.mark.parametrize(("seconds", "seen"), [(1, False), (11, True)])
def test_an_old_comparison_is_repeated(cluster, clock, life, seconds, seen):
    """Another client may edit an object while the lock is waited for."""
    lcm.instantiate(cluster, "one", package(*configs("a", "b")), **life)
    edited = []

    def edits(fake, obj):
        if obj["kind"] == "Lease" and not edited:
            edited.append(obj)
            clock.now += seconds
            fake.patch(ref("b"), {"data": {"key": "edited"}}, "editor")

    cluster.world.controller = edits
    take = Options(conflict="take", dry_run=False)
    changed = package(*configs("a", key="new"), *configs("b"))

    sent, _ = applied(cluster, lcm.change, changed, options=take, **life)

    # The edit is a patch, too.
    assert (["b", "a", "b"] if seen else ["b", "a"]) == sent


# -- Other operations ---------------------------------------------------------


def test_to_heal_all_sends_what_was_edited(cluster, life):
    """And what was deleted; the rest is not sent."""
    given = package(*configs("a", "b", "c"))
    lcm.instantiate(cluster, "one", given, **life)
    cluster.patch(ref("a"), {"data": {"key": "edited"}}, "editor")
    cluster.delete(ref("b"), objects.uid(cluster.get(ref("b"))))

    sent, _ = applied(cluster, lcm.heal, options=FAST, **life)

    assert ["a", "b"] == sorted(sent)
    assert "value" == cluster.get(ref("a"))["data"]["key"]


def test_a_rollback_sends_what_the_change_had_sent(cluster, life):
    """The rest is as it was before."""
    lcm.instantiate(cluster, "one", package(*configs("a", "b", "c")), **life)
    new = package(*configs("a", key="new"), *configs("b", "c"))
    lcm.change(cluster, "one", new, **life)

    sent, report = applied(cluster, lcm.roll_back, options=FAST, **life)

    assert ["a"] == sent
    assert 2 == report.count(Action.UNCHANGED)


def test_a_repeated_instantiation_sends_what_is_missing(cluster, clock, life):
    """What the first try made is not sent again."""
    given = package(*configs("a"), manifests.deployment("web", 1))
    cluster.world.controller = None
    with pytest.raises(errors.NotReady):
        lcm.instantiate(
            cluster, "one", given, deadline=Deadline.after(5, clock)
        )
    cluster.world.controller = play_deployments
    cluster.report(WEB, {})
    play_deployments(cluster, cluster.get(WEB))

    sent, _ = applied(cluster, lcm.instantiate, given, options=FAST, **life)

    assert [] == sent


def test_a_forecast_tells_of_what_would_not_be_sent(cluster, life):
    """It is unchanged, by the same comparison as that of the change."""
    lcm.instantiate(cluster, "one", package(*configs("a", "b")), **life)
    new = package(*configs("a", key="new"), *configs("b"))

    sent, forecast = applied(cluster, lcm.forecast, new, **life)

    assert ["a"] == sent
    assert {"a": Fate.UPDATE, "b": Fate.UNCHANGED} == {
        row.ref.name: row.fate for row in forecast.rows
    }


def test_the_journal_announces_only_what_may_be_made(cluster, clock):
    """A write with a UID makes nothing that a crash could leave unknown."""
    run(lcm.instantiate, cluster, clock, package(*configs("a", "b")))
    seen = []

    def read(fake, obj):
        if obj["metadata"]["name"] in ("a", "c"):
            found = record.read(fake, "one", "default").inventory
            seen.append(found.journal)

    cluster.world.controller = read
    new = package(*configs("a", key="new"), *configs("b", "c"))

    run(lcm.change, cluster, clock, new)

    assert [(ref("c"),)] * 2 == [journal.pending for journal in seen]
    assert {"change"} == {journal.operation for journal in seen}
