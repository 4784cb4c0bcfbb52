"""What operations do not send, since an apply would change nothing."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.plan.forecast import ForecastAction
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import store
from tests.calls import call
from tests.fakes import FakeCluster
from tests.fakes.workloads import play_deployments
from tests.functional import manifests
from tests.unit.lcm.kill_points import run_operation
from tests.unit.packages import GROUP
from tests.unit.packages import STORED
from tests.unit.packages import make_package

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
    report = call(do, cluster, "one", *args, **kwargs)
    names = [
        about.name
        for verb, about in cluster.sent
        if verb == "patch" and about.kind != "Namespace"
    ]
    return names, report


def actions(report):
    return {row.ref.name: row.action for row in report.objects}


def marked(manifest, **annotations):
    notes = {objects.PREFIX + key: text for key, text in annotations.items()}
    before = manifest["metadata"].get("annotations") or {}
    metadata = {**manifest["metadata"], "annotations": {**before, **notes}}
    return {**manifest, "metadata": metadata}


# -- What is sent -------------------------------------------------------------


def test_a_change_sends_what_differs(cluster, operation_args):
    """And lets the server check that, and no more, by a dry run."""
    names = [f"c{number}" for number in range(60)]
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(*configs(*names)),
    )
    changed = make_package(
        *configs("c7", key="new"), *configs(*names[8:], "more")
    )

    sent, report = applied(cluster, lcm.change, changed, **operation_args)

    assert ["c7", "more"] * 2 == sent
    done = actions(report)
    assert Action.CONFIGURED is done["c7"]
    assert Action.CREATED is done["more"]
    assert Action.DELETED is done["c0"]
    assert 52 == report.count(Action.UNCHANGED)
    assert {"current"} == {
        row.verdict.state.value for row in report.objects if row.uid
    }


def test_a_package_that_is_applied_again_is_not_sent(cluster, operation_args):
    """Of a thousand objects, some requests list them, and none writes."""
    given = make_package(*configs(*(f"c{number}" for number in range(1000))))
    lcm.instantiate(
        lcm.Request(cluster, "one", options=FAST, **operation_args), given
    )
    before = cluster.get(ref("c1"))

    sent, report = applied(cluster, lcm.change, given, **operation_args)

    assert [] == sent
    assert 1000 == report.count(Action.UNCHANGED)
    assert (
        objects.uid(before)
        == {r.ref.name: r.uid for r in report.objects}["c1"]
    )
    assert 20 >= report.requests
    assert before == cluster.get(ref("c1"))


def test_all_is_sent_when_that_is_asked_for(cluster, operation_args):
    """With the same outcome."""
    given = make_package(*configs("a", "b"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)

    sent, report = applied(
        cluster,
        lcm.change,
        given,
        options=Options(resend=True),
        **operation_args,
    )

    assert ["a", "b"] * 2 == sent
    assert {Action.UNCHANGED} == set(actions(report).values())


def test_what_another_client_has_edited_is_sent(cluster, operation_args):
    """A value, the label, or who owns a field: each is as it was before."""
    given = make_package(*configs("a", "b", "c", "d"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    before = {name: cluster.get(ref(name)) for name in "abcd"}
    label = {"labels": {objects.INSTANCE: None}}
    cluster.patch(ref("a"), {"data": {"key": "edited"}}, "editor")
    cluster.patch(ref("b"), {"metadata": label}, "editor")
    cluster.patch(ref("c"), {"metadata": {"labels": {"x": "y"}}}, "editor")
    take = Options(field_conflicts="force", dry_run=False)

    sent, report = applied(
        cluster, lcm.change, given, options=take, **operation_args
    )

    assert ["a", "b"] == sorted(sent)
    assert "value" == cluster.get(ref("a"))["data"]["key"]
    assert before["b"]["metadata"]["labels"] == objects.labels(
        cluster.get(ref("b"))
    )
    assert Action.UNCHANGED is actions(report)["c"]


def test_a_field_of_another_manager_is_a_conflict_as_before(
    cluster, operation_args
):
    """The object is sent, and the server names the owner of the field."""
    given = make_package(*configs("a", "b"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    cluster.patch(ref("a"), {"data": {"key": "edited"}}, "editor")

    with pytest.raises(
        errors.FieldConflict, match=r"data\.key is owned by editor"
    ):
        lcm.change(lcm.Request(cluster, "one", **operation_args), given)


def test_an_object_with_another_uid_is_sent(cluster, operation_args):
    """However much it looks like the one that was deleted."""
    given = make_package(*configs("a", "b"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    live = cluster.get(ref("a"))
    cluster.delete(ref("a"), objects.uid(live))
    twin = {k: live[k] for k in ("apiVersion", "kind", "data")}
    metadata = {
        k: live["metadata"][k] for k in ("name", "namespace", "labels")
    }
    cluster.apply({**twin, "metadata": metadata}, objects.MANAGER + "one")

    sent, _ = applied(
        cluster, lcm.change, given, options=FAST, **operation_args
    )

    assert ["a"] == sent


def test_a_deleted_object_is_created_again(cluster, operation_args):
    """As before."""
    given = make_package(*configs("a", "b"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    cluster.delete(ref("a"), objects.uid(cluster.get(ref("a"))))

    sent, report = applied(
        cluster, lcm.change, given, options=FAST, **operation_args
    )

    assert ["a"] == sent
    assert Action.CREATED is actions(report)["a"]


def test_without_permission_to_list_all_is_sent(cluster, operation_args):
    """A comparison object by object would cost as much."""
    given = make_package(*configs("a", "b"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    kind = GroupKind("", "ConfigMap")
    refused = errors.Forbidden("list", "configmaps", "default", "no")
    cluster.fail(refused, "list", kind)

    sent, _ = applied(
        cluster, lcm.change, given, options=FAST, **operation_args
    )

    assert ["a", "b"] == sent


def test_objects_of_a_definition_that_changes_are_sent(
    cluster, operation_args
):
    """Those of one that does not change are not."""
    things = manifests.definition(GROUP, "Thing")
    others = manifests.definition(GROUP, "Other")
    objs = [
        manifests.custom(GROUP, kind, kind.lower(), STORED)
        for kind in ("Thing", "Other")
    ]
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(things, others, *objs),
    )
    changed = manifests.definition(GROUP, "Thing", scale=False)

    sent, _ = applied(
        cluster,
        lcm.change,
        make_package(changed, others, *objs),
        options=FAST,
        **operation_args,
    )

    assert [f"things.{GROUP}", "thing"] == sent


def test_a_number_that_a_scale_has_set_is_not_sent_back(
    cluster, operation_args
):
    """An object that differs in nothing else stays as it is."""
    given = make_package(manifests.deployment("web", 1))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    lcm.scale(lcm.Request(cluster, "one", **operation_args), {WEB: 3})

    sent, _ = applied(
        cluster, lcm.change, given, options=FAST, **operation_args
    )

    assert [] == sent
    assert 3 == cluster.get(WEB)["spec"]["replicas"]


# -- What is waited for -------------------------------------------------------


def test_what_is_not_sent_is_waited_for(cluster, clock, operation_args):
    """An object that is not current keeps an operation from its end."""
    given = make_package(manifests.deployment("web", 1), *configs("a"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    status = cluster.get(WEB)["status"]
    cluster.report(WEB, {**status, "availableReplicas": 0, "readyReplicas": 0})
    changed = make_package(
        manifests.deployment("web", 1), *configs("a", key="new")
    )

    with pytest.raises(errors.ReadinessTimeout) as caught:
        lcm.change(
            lcm.Request(cluster, "one", deadline=Deadline.after(20, clock)),
            changed,
        )

    assert [WEB] == [item.ref for item in caught.value.pending]
    cluster.report(WEB, status)
    sent, report = applied(cluster, lcm.change, changed, **operation_args)
    assert [] == sent
    assert {"current"} == {row.verdict.state.value for row in report.objects}


def test_what_depends_on_an_object_that_is_sent_is_sent_after_it(
    cluster, operation_args
):
    """What depends on one that is not sent, and current, is not either."""
    after = {"depends-on": "ConfigMap/default/a"}
    (b,) = configs("b")
    before = make_package(*configs("a"), marked(b, **after))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), before)
    changed = make_package(*configs("a", key="new"), marked(b, **after))

    first, _ = applied(
        cluster, lcm.change, changed, options=FAST, **operation_args
    )
    again, _ = applied(
        cluster, lcm.change, changed, options=FAST, **operation_args
    )

    assert (["a", "b"], []) == (first, again)


def test_a_later_stage_is_compared_again(cluster, operation_args):
    """What a controller edits while the first is carried out is sent."""
    (early,), (late, same) = configs("early"), configs("late", "same")
    waves = [marked(late, wave="1"), marked(same, wave="1")]
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(early, *waves),
    )

    def edits(fake, obj):
        if obj["metadata"]["name"] == "early":
            fake.patch(ref("late"), {"data": {"key": "edited"}}, "editor")

    cluster.world.controller = edits
    take = Options(field_conflicts="force", dry_run=False)
    changed = make_package(*configs("early", key="new"), *waves)

    sent, report = applied(
        cluster, lcm.change, changed, options=take, **operation_args
    )

    assert ["early", "late", "late"] == sorted(sent)  # the edit is one
    assert "value" == cluster.get(ref("late"))["data"]["key"]
    assert Action.UNCHANGED is actions(report)["same"]


@pytest.mark.parametrize(("seconds", "seen"), [(1, False), (11, True)])
def test_an_old_comparison_is_repeated(
    cluster, clock, operation_args, seconds, seen
):
    """Another client may edit an object while the lock is waited for."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(*configs("a", "b")),
    )
    edited = []

    def edits(fake, obj):
        if obj["kind"] == "Lease" and not edited:
            edited.append(obj)
            clock.now += seconds
            fake.patch(ref("b"), {"data": {"key": "edited"}}, "editor")

    cluster.world.controller = edits
    take = Options(field_conflicts="force", dry_run=False)
    changed = make_package(*configs("a", key="new"), *configs("b"))

    sent, _ = applied(
        cluster, lcm.change, changed, options=take, **operation_args
    )

    # The edit is a patch, too.
    assert (["b", "a", "b"] if seen else ["b", "a"]) == sent


# -- Other operations ---------------------------------------------------------


def test_to_heal_all_sends_what_was_edited(cluster, operation_args):
    """And what was deleted; the rest is not sent."""
    given = make_package(*configs("a", "b", "c"))
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), given)
    cluster.patch(ref("a"), {"data": {"key": "edited"}}, "editor")
    cluster.delete(ref("b"), objects.uid(cluster.get(ref("b"))))

    sent, _ = applied(cluster, lcm.heal, options=FAST, **operation_args)

    assert ["a", "b"] == sorted(sent)
    assert "value" == cluster.get(ref("a"))["data"]["key"]


def test_a_rollback_sends_what_the_change_had_sent(cluster, operation_args):
    """The rest is as it was before."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(*configs("a", "b", "c")),
    )
    new = make_package(*configs("a", key="new"), *configs("b", "c"))
    lcm.change(lcm.Request(cluster, "one", **operation_args), new)

    sent, report = applied(
        cluster, lcm.roll_back, options=FAST, **operation_args
    )

    assert ["a"] == sent
    assert 2 == report.count(Action.UNCHANGED)


def test_a_repeated_instantiation_sends_what_is_missing(
    cluster, clock, operation_args
):
    """What the first try made is not sent again."""
    given = make_package(*configs("a"), manifests.deployment("web", 1))
    cluster.world.controller = None
    with pytest.raises(errors.ReadinessTimeout):
        lcm.instantiate(
            lcm.Request(cluster, "one", deadline=Deadline.after(5, clock)),
            given,
        )
    cluster.world.controller = play_deployments
    cluster.report(WEB, {})
    play_deployments(cluster, cluster.get(WEB))

    sent, _ = applied(
        cluster, lcm.instantiate, given, options=FAST, **operation_args
    )

    assert [] == sent


def test_a_forecast_shows_unchanged_objects(cluster, operation_args):
    """It is unchanged, by the same comparison as that of the change."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(*configs("a", "b")),
    )
    new = make_package(*configs("a", key="new"), *configs("b"))

    sent, forecast = applied(cluster, lcm.forecast, new, **operation_args)

    assert ["a"] == sent
    assert {"a": ForecastAction.UPDATE, "b": ForecastAction.UNCHANGED} == {
        row.ref.name: row.action for row in forecast.objects
    }


def test_the_journal_announces_only_what_may_be_made(cluster, clock):
    """A write with a UID makes nothing that a crash could leave unknown."""
    run_operation(
        lcm.instantiate, cluster, clock, make_package(*configs("a", "b"))
    )
    seen = []

    def read(fake, obj):
        if obj["metadata"]["name"] in ("a", "c"):
            found = store.read(fake, "one", "default").inventory
            seen.append(found.journal)

    cluster.world.controller = read
    new = make_package(*configs("a", key="new"), *configs("b", "c"))

    run_operation(lcm.change, cluster, clock, new)

    assert [(ref("c"),)] * 2 == [journal.pending for journal in seen]
    assert {"change"} == {journal.operation for journal in seen}
