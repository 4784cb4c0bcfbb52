"""Operations that meet a crash, another package, or another client."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import record_secrets
from tests.failing_cluster import Killed
from tests.failing_cluster import fail_after
from tests.fakes import FakeCluster
from tests.fakes.workloads import play_deployments
from tests.functional import manifests
from tests.unit.lcm.kill_points import owned_objects
from tests.unit.lcm.kill_points import record_objects
from tests.unit.packages import make_package

GROUP = "test.example.org"
STORED = {objects.PREFIX + "readiness": "exists"}
FAST = Options(dry_run=False)


@pytest.fixture
def cluster(clock):
    return FakeCluster(controller=play_deployments, idle=clock.idle)


def ref(kind, name, group="", namespace="default"):
    return ObjectRef(group, kind, namespace, name)


def configs(*names):
    return make_package(*(manifests.config_map(name) for name in names))


@pytest.fixture
def interrupted_instance(cluster, operation_args):
    """An instance of a and b, whose making died at once afterwards."""
    before = len(cluster.sent)
    for requests in range(5, 60):
        trial = FakeCluster(
            controller=play_deployments, idle=cluster.world.idle
        )
        with pytest.raises(Killed):
            lcm.instantiate(
                lcm.Request(
                    fail_after(trial, requests, True),
                    "one",
                    options=FAST,
                    **operation_args,
                ),
                configs("a", "b"),
            )
        if ["a", "b"] == owned_objects(trial):
            return trial
    raise AssertionError(before)


# -- A crash, and then something else ----------------------------------------


def test_another_package_after_a_crash_prunes_what_the_first_made(
    interrupted_instance, operation_args
):
    """What no package names any more does not stay."""
    lcm.instantiate(
        lcm.Request(interrupted_instance, "one", **operation_args),
        configs("c"),
    )

    assert ["c"] == owned_objects(interrupted_instance)
    lcm.terminate(lcm.Request(interrupted_instance, "one", **operation_args))
    assert [] == owned_objects(interrupted_instance)


def test_a_refused_retry_keeps_the_record_of_the_first_try(
    interrupted_instance, operation_args
):
    """Its objects can still be terminated."""
    denied = errors.Rejected(ref("ConfigMap", "z"), 403, "Forbidden", "no")
    interrupted_instance.fail(denied, "patch", ref("ConfigMap", "z"))

    with pytest.raises(errors.Rejected):
        lcm.instantiate(
            lcm.Request(interrupted_instance, "one", **operation_args),
            configs("z"),
        )

    lcm.terminate(lcm.Request(interrupted_instance, "one", **operation_args))
    assert [] == owned_objects(interrupted_instance)


def test_a_change_after_a_killed_change_owns_what_that_made(
    cluster, operation_args, clock
):
    """And prunes it, where the new package does not name it."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), configs("a")
    )
    for requests in range(5, 80):
        with pytest.raises(Killed):
            lcm.change(
                lcm.Request(
                    fail_after(cluster, requests, True),
                    "one",
                    **operation_args,
                ),
                configs("a", "b"),
            )
        if "b" in owned_objects(cluster):
            break

    lcm.change(
        lcm.Request(cluster, "one", **operation_args), configs("a", "c")
    )

    assert ["a", "c"] == owned_objects(cluster)
    lcm.terminate(lcm.Request(cluster, "one", **operation_args))
    assert [] == owned_objects(cluster)


def test_a_write_with_unknown_outcome_is_undone_too(cluster, operation_args):
    """The answer was lost; another object was refused at the same time."""
    lost = errors.Unavailable("patch b", 503, "no")
    made = []

    def lose(fake, obj):
        play_deployments(fake, obj)
        if obj["metadata"]["name"] == "b" and not made:
            made.append(obj)
            raise lost

    cluster.world.controller = lose
    denied = errors.Rejected(ref("ConfigMap", "a"), 403, "Forbidden", "no")
    cluster.fail(denied, "patch", ref("ConfigMap", "a"))

    with pytest.raises(errors.Error):
        lcm.instantiate(
            lcm.Request(cluster, "one", options=FAST, **operation_args),
            configs("b", "a"),
        )

    if record_objects(cluster):
        lcm.terminate(lcm.Request(cluster, "one", **operation_args))
    assert [] == owned_objects(cluster)


def test_an_undo_that_fails_is_logged(cluster, operation_args, caplog):
    """The error is the one that ended the operation; the rest is logged."""
    rejection = errors.Rejected(ref("ConfigMap", "a"), 403, "Forbidden", "no")
    cluster.fail(rejection, "patch", ref("ConfigMap", "a"))
    forbidden = errors.Forbidden("delete", "configmaps", "default", "denied")
    cluster.fail(forbidden, "delete", ref("ConfigMap", "b"))

    with pytest.raises(errors.Rejected) as caught:
        lcm.instantiate(
            lcm.Request(cluster, "one", options=FAST, **operation_args),
            configs("b", "a"),
        )

    assert (ref("ConfigMap", "b"),) == caught.value.written
    assert (
        f"one: instantiate: not undone: {forbidden.summary()}"
        in caplog.messages
    )


def test_a_namespace_that_a_killed_run_made_is_terminated(clock):
    """There was no record yet; its label and its maker tell."""
    deadline = Deadline.after(300, clock)
    given = make_package(manifests.namespace("home"))
    for requests in range(1, 40):
        cluster = FakeCluster(idle=clock.idle)
        with pytest.raises(Killed):
            lcm.instantiate(
                lcm.Request(
                    fail_after(cluster, requests, True),
                    "one",
                    namespace="home",
                    deadline=deadline,
                ),
                given,
            )
        if ["home"] == owned_objects(cluster):
            break
    assert [] == record_objects(cluster)

    lcm.terminate(
        lcm.Request(cluster, "one", namespace="home", deadline=deadline)
    )

    assert [] == owned_objects(cluster)


def test_without_a_record_objects_are_deleted_in_their_declared_order(
    cluster, operation_args
):
    """What they said is on the objects."""
    given = [manifests.config_map(name) for name in ("a", "b", "c")]
    for manifest, wave in zip(given, ("1", "3", "2"), strict=True):
        said = {objects.PREFIX + "wave": wave}
        manifest["metadata"]["annotations"] = said
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), make_package(*given)
    )
    for secret in record_objects(cluster):
        cluster.delete(secret, objects.uid(cluster.get(secret)))
    seen = []

    def listen(progress):
        for found in progress.awaited:
            if found.name not in seen:
                seen.append(found.name)

    lcm.terminate(
        lcm.Request(cluster, "one", on_progress=listen, **operation_args)
    )

    assert ["b", "c", "a"] == seen


def test_a_lock_that_is_refused_leaves_no_namespace(cluster, operation_args):
    """The namespace of the record is made before there can be a lock."""
    denied = errors.Forbidden("create", "leases", "home", "no")
    cluster.fail(denied, "create")

    with pytest.raises(errors.Forbidden) as caught:
        lcm.instantiate(
            lcm.Request(cluster, "one", namespace="home", **operation_args),
            make_package(manifests.namespace("home")),
        )

    assert not caught.value.has_written
    assert [] == owned_objects(cluster)


# -- Others ------------------------------------------------------------------


def meeting(cluster, theirs):
    """Another client creates this just before ours is applied."""
    made = []
    apply = cluster.apply

    class Met:
        def __getattr__(self, name):
            return getattr(cluster, name)

        def with_deadline(self, deadline):
            return self

        def apply(self, manifest, manager, *, dry_run=False, **more):
            name = manifest["metadata"]["name"]
            if name == theirs["metadata"]["name"] and not (dry_run or made):
                made.append(cluster.create(theirs, "them"))
            return apply(manifest, manager, dry_run=dry_run, **more)

    return Met()


def test_nothing_is_forced_upon_a_just_created_object(cluster, operation_args):
    """Not even where fields are to be taken from others."""
    theirs = manifests.config_map("a", "default", key="theirs", more="x")

    with pytest.raises(errors.OwnedByOther, match="them"):
        lcm.instantiate(
            lcm.Request(
                meeting(cluster, theirs),
                "one",
                options=Options(field_conflicts="force"),
                **operation_args,
            ),
            make_package(manifests.config_map("a", key="ours")),
        )

    left = cluster.get(ref("ConfigMap", "a"))
    assert theirs["data"] == left["data"]


def test_an_object_that_an_apply_only_met_before_a_crash_is_not_deleted(
    cluster, operation_args
):
    """It has the instance's label and field manager, and is still foreign."""
    theirs = manifests.config_map("a", "default", key="theirs")
    met = meeting(cluster, theirs)
    once = errors.Unavailable("patch", 503, "no")
    real = met.apply

    def apply(manifest, manager, **more):
        if len(manifest) == 3:  # the bare object that gives our fields up
            raise once
        return real(manifest, manager, **more)

    type(met).apply = staticmethod(apply)
    with pytest.raises(errors.Unavailable):
        lcm.instantiate(
            lcm.Request(met, "one", options=FAST, **operation_args),
            make_package(manifests.config_map("a", other="ours")),
        )

    lcm.terminate(lcm.Request(cluster, "one", **operation_args))

    assert "theirs" == cluster.get(ref("ConfigMap", "a"))["data"]["key"]


def test_two_instances_of_one_name_do_not_share_an_object(cluster, clock):
    """Each has a record of its own, in its own namespace."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
        "rules": [],
    }
    for name in ("na", "nb"):
        cluster.create(manifests.namespace(name), "tests")
    deadline = Deadline.after(300, clock)
    lcm.instantiate(
        lcm.Request(cluster, "one", namespace="na", deadline=deadline),
        make_package(role),
    )
    other = {**role, "rules": [{"verbs": ["get"]}]}

    with pytest.raises(errors.OwnedByOther, match="the instance one"):
        lcm.instantiate(
            lcm.Request(cluster, "one", namespace="nb", deadline=deadline),
            make_package(other),
        )


def definition(*versions):
    found = manifests.definition(GROUP, "Thing")
    (first,) = found["spec"]["versions"]
    found["spec"]["versions"] = [
        {**first, "name": name, "storage": name == versions[0]}
        for name in versions
    ]
    return found


def test_a_definition_may_gain_a_version_that_its_objects_use(
    cluster, operation_args
):
    """The objects exist already, and are changed, not lost."""
    thing = manifests.custom(GROUP, "Thing", "x", STORED, size="s")
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(definition("v1"), thing),
    )
    newer = {**thing, "apiVersion": f"{GROUP}/v2", "spec": {"size": "xl"}}
    before = cluster.get(ref("Thing", "x", GROUP))

    lcm.change(
        lcm.Request(cluster, "one", **operation_args),
        make_package(definition("v1", "v2"), newer),
    )

    after = cluster.get(ref("Thing", "x", GROUP))
    assert objects.uid(before) == objects.uid(after)
    assert "xl" == after["spec"]["size"]


@pytest.mark.requirement("P19")
def test_a_definition_in_use_is_not_pruned(cluster, operation_args):
    """However its manifest asks for it."""
    asked = definition("v1")
    asked["metadata"]["annotations"] = {objects.PREFIX + "prune": "true"}
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(asked, manifests.config_map("a")),
    )
    other = manifests.custom(GROUP, "Thing", "theirs")
    other["metadata"]["namespace"] = "default"
    cluster.create(other, "them")

    with pytest.raises(errors.ForeignObjects, match="theirs") as caught:
        lcm.change(lcm.Request(cluster, "one", **operation_args), configs("a"))

    assert not caught.value.has_written
    assert cluster.get(ref("Thing", "theirs", GROUP))


def test_a_second_terminate_searches_foreign_objects_again(
    cluster, operation_args
):
    """They may have come after the first one failed."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(definition("v1"), manifests.config_map("a")),
    )
    cluster.fail(errors.Unavailable("a", 503, "no"), "delete")
    with pytest.raises(errors.Unavailable):
        lcm.terminate(lcm.Request(cluster, "one", **operation_args))
    other = manifests.custom(GROUP, "Thing", "theirs")
    other["metadata"]["namespace"] = "default"
    cluster.create(other, "them")

    with pytest.raises(errors.ForeignObjects, match="theirs"):
        lcm.terminate(lcm.Request(cluster, "one", **operation_args))

    lcm.terminate(
        lcm.Request(
            cluster,
            "one",
            options=Options(delete_foreign_objects=True),
            **operation_args,
        )
    )
    assert cluster.get(ref("Thing", "theirs", GROUP)) is None


# -- Numbers -----------------------------------------------------------------


def vnfd(*aspects, level=0):
    return Vnfd(
        id="v",
        flavour="simple",
        vdus={"web": Vdu("web", "web", 0, 9)},
        aspects={name: Aspect(name, 5, {"web": (1,)}) for name in aspects},
        initial={"web": 1},
        levels={"first": dict.fromkeys(aspects, level)},
        level_numbers={"first": {"web": 1 + level}},
        default_level="first",
    )


def with_vnfd(found, **more):
    return Package(
        "test",
        (Document(manifests.deployment("web", **more), "a.yaml"),),
        found,
    )


WEB = ref("Deployment", "web", "apps")


def replicas(cluster):
    return cluster.get(WEB)["spec"].get("replicas")


def test_a_package_that_no_longer_names_a_number_does_not_change_it(
    cluster, operation_args
):
    """The server would set it to one."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(manifests.deployment("web", 3)),
    )

    silent = make_package(manifests.deployment("web", None, nodeName="x"))
    lcm.change(lcm.Request(cluster, "one", **operation_args), silent)

    assert 3 == replicas(cluster)


@pytest.mark.parametrize("field_conflicts", ["fail", "force", "ignore"])
@pytest.mark.requirement("P7")
def test_an_autoscaler_that_acts_during_an_apply_keeps_its_replicas(
    cluster, operation_args, field_conflicts
):
    """Minutes may pass between the first read and the last write."""
    first = manifests.config_map("first")
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(first, manifests.deployment("web", 1)),
    )
    play = cluster.world.controller

    def scale(fake, obj):
        play(fake, obj)
        if obj["metadata"]["name"] == "first":
            number = {"spec": {"replicas": 5}}
            fake.patch(WEB, number, "autoscaler", subresource="scale")
            play(fake, fake.get(WEB))

    cluster.world.controller = scale
    again = make_package(
        manifests.config_map("first", key="new"),
        manifests.deployment("web", 1, nodeName="x"),
    )
    lcm.change(
        lcm.Request(
            cluster,
            "one",
            options=Options(field_conflicts=field_conflicts),
            **operation_args,
        ),
        again,
    )

    assert 5 == replicas(cluster)
    assert "x" == cluster.get(WEB)["spec"]["template"]["spec"]["nodeName"]


def test_a_retry_at_another_level_has_the_numbers_of_that_level(
    cluster, operation_args
):
    """The record and the cluster say the same, whatever the first try did."""
    given = with_vnfd(vnfd("a"))
    cluster.world.controller = None
    with pytest.raises(errors.ReadinessTimeout):
        lcm.instantiate(
            lcm.Request(
                cluster, "one", deadline=operation_args["deadline"].at_most(5)
            ),
            given,
            scale_levels={"a": 3},
        )
    cluster.world.controller = play_deployments

    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        given,
        scale_levels={"a": 0},
    )

    assert 1 == replicas(cluster)


def test_a_package_may_rename_its_aspects(cluster, operation_args):
    """The levels go on where the aspect still is."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), with_vnfd(vnfd("a"))
    )

    lcm.change(
        lcm.Request(cluster, "one", **operation_args), with_vnfd(vnfd("b"))
    )
    lcm.scale(
        lcm.Request(cluster, "one", **operation_args),
        aspect="b",
        number_of_steps=1,
    )

    assert 2 == replicas(cluster)


def test_a_scale_by_steps_is_resumed_and_not_repeated(cluster, operation_args):
    """The level moves when the numbers have."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), with_vnfd(vnfd("a"))
    )
    cluster.world.controller = None
    with pytest.raises(errors.ReadinessTimeout):
        lcm.scale(
            lcm.Request(
                cluster, "one", deadline=operation_args["deadline"].at_most(5)
            ),
            aspect="a",
            number_of_steps=1,
        )
    cluster.world.controller = play_deployments

    lcm.scale(
        lcm.Request(cluster, "one", **operation_args),
        aspect="a",
        number_of_steps=1,
    )

    assert 2 == replicas(cluster)


def test_sent_replicas_are_reported_as_sent(cluster, operation_args):
    """Though the object could not be read afterwards."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), with_vnfd(vnfd("a"))
    )
    sent = []

    def fail_next_read(fake, obj):
        play_deployments(fake, obj)
        if obj["kind"] == "Deployment" and not sent:
            sent.append(obj)
            lost = errors.Unavailable("web", 503, "no")
            fake.fail(lost, "get", WEB)

    cluster.world.controller = fail_next_read
    with pytest.raises(errors.Unavailable) as caught:
        lcm.scale(lcm.Request(cluster, "one", **operation_args), {WEB: 4})

    assert caught.value.has_written
    assert (WEB,) == caught.value.written


# -- Bad input ---------------------------------------------------------------


def test_an_object_that_would_be_part_of_the_record_is_refused(
    cluster, operation_args
):
    """It would make the record unreadable."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "tacker-k8s-cr.one"},
    }

    with pytest.raises(errors.PackageInvalid, match="part of the instance"):
        lcm.instantiate(
            lcm.Request(cluster, "one", **operation_args), make_package(secret)
        )


@pytest.mark.parametrize("versions", [["v1"], "v1", None, [{"served": True}]])
def test_an_invalid_definition_is_left_to_the_server_to_refuse(
    cluster, operation_args, versions
):
    """It does not end the operation with a traceback."""
    wrong = definition("v1")
    wrong["spec"]["versions"] = versions
    given = ref("CustomResourceDefinition", wrong["metadata"]["name"])
    denied = errors.Rejected(given, 422, "Invalid", "versions")
    cluster.fail(denied, "patch")

    with pytest.raises(errors.Rejected, match="versions"):
        lcm.instantiate(
            lcm.Request(cluster, "one", **operation_args), make_package(wrong)
        )


def test_an_unreadable_record_is_an_error_of_the_package(
    cluster, operation_args
):
    """It names the record and its fault."""
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args), configs("a")
    )
    head = record_secrets.secret_ref("one", "default")
    cluster.patch(head, {"data": {"head": "e30="}}, "other-manager")

    with pytest.raises(errors.RecordInvalid, match="cannot be read"):
        lcm.status(lcm.Request(cluster, "one", **operation_args))
