"""Operations that cross a crash, another package, or somebody else."""

from __future__ import annotations

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package.model import Aspect
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.package.model import Vdu
from tacker_k8s_cr.package.model import Vnfd
from tacker_k8s_cr.recording import record
from tests.fakes import FakeCluster
from tests.fakes.workloads import play_deployments
from tests.functional import manifests
from tests.mortal import Killed
from tests.mortal import mortal
from tests.unit.lcm.deaths import owned
from tests.unit.lcm.deaths import records
from tests.unit.packages import package

GROUP = "test.example.org"
STORED = {objects.PREFIX + "readiness": "created"}
FAST = Options(dry_run=False)


@pytest.fixture
def cluster(clock):
    return FakeCluster(controller=play_deployments, idle=clock.idle)


def ref(kind, name, group="", namespace="default"):
    return ObjectRef(group, kind, namespace, name)


def configs(*names):
    return package(*(manifests.config_map(name) for name in names))


@pytest.fixture
def half_made(cluster, life):
    """An instance of a and b, whose making died at once afterwards."""
    before = len(cluster.sent)
    for requests in range(5, 60):
        trial = FakeCluster(
            controller=play_deployments, idle=cluster.world.idle
        )
        with pytest.raises(Killed):
            lcm.instantiate(
                mortal(trial, requests, True),
                "one",
                configs("a", "b"),
                options=FAST,
                **life,
            )
        if ["a", "b"] == owned(trial):
            return trial
    raise AssertionError(before)


# -- A crash, and then something else ----------------------------------------


def test_another_package_after_a_crash_prunes_what_the_first_made(
    half_made, life
):
    """What no package names any more does not stay."""
    lcm.instantiate(half_made, "one", configs("c"), **life)

    assert ["c"] == owned(half_made)
    lcm.terminate(half_made, "one", **life)
    assert [] == owned(half_made)


def test_a_refused_retry_keeps_the_record_of_the_first_try(half_made, life):
    """Its objects can still be terminated."""
    denied = errors.Rejected(ref("ConfigMap", "z"), 403, "Forbidden", "no")
    half_made.fail(denied, "patch", ref("ConfigMap", "z"))

    with pytest.raises(errors.Rejected):
        lcm.instantiate(half_made, "one", configs("z"), **life)

    lcm.terminate(half_made, "one", **life)
    assert [] == owned(half_made)


def test_a_change_after_a_killed_change_owns_what_that_made(
    cluster, life, clock
):
    """And prunes it, where the new package does not name it."""
    lcm.instantiate(cluster, "one", configs("a"), **life)
    for requests in range(5, 80):
        with pytest.raises(Killed):
            lcm.change(
                mortal(cluster, requests, True),
                "one",
                configs("a", "b"),
                **life,
            )
        if "b" in owned(cluster):
            break

    lcm.change(cluster, "one", configs("a", "c"), **life)

    assert ["a", "c"] == owned(cluster)
    lcm.terminate(cluster, "one", **life)
    assert [] == owned(cluster)


def test_a_write_with_unknown_outcome_is_taken_back_too(cluster, life):
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
            cluster, "one", configs("b", "a"), options=FAST, **life
        )

    if records(cluster):
        lcm.terminate(cluster, "one", **life)
    assert [] == owned(cluster)


def test_a_namespace_that_a_killed_run_made_is_terminated(clock):
    """There was no record yet; its label and its maker tell."""
    deadline = Deadline.after(300, clock)
    given = package(manifests.namespace("home"))
    for requests in range(1, 40):
        cluster = FakeCluster(idle=clock.idle)
        with pytest.raises(Killed):
            lcm.instantiate(
                mortal(cluster, requests, True),
                "one",
                given,
                namespace="home",
                deadline=deadline,
            )
        if ["home"] == owned(cluster):
            break
    assert [] == records(cluster)

    lcm.terminate(cluster, "one", namespace="home", deadline=deadline)

    assert [] == owned(cluster)


def test_without_a_record_objects_go_in_their_authors_order(cluster, life):
    """What they said is on the objects (P17, P19)."""
    given = [manifests.config_map(name) for name in ("a", "b", "c")]
    for manifest, wave in zip(given, ("1", "3", "2"), strict=True):
        said = {objects.PREFIX + "wave": wave}
        manifest["metadata"]["annotations"] = said
    lcm.instantiate(cluster, "one", package(*given), **life)
    for secret in records(cluster):
        cluster.delete(secret, objects.uid(cluster.get(secret)))
    seen = []

    def listen(progress):
        for found in progress.awaited:
            if found.name not in seen:
                seen.append(found.name)

    lcm.terminate(cluster, "one", listen=listen, **life)

    assert ["b", "c", "a"] == seen


def test_a_lock_that_is_refused_leaves_no_namespace(cluster, life):
    """The namespace of the record is made before there can be a lock."""
    denied = errors.Forbidden("create", "leases", "home", "no")
    cluster.fail(denied, "create")

    with pytest.raises(errors.Forbidden) as caught:
        lcm.instantiate(
            cluster,
            "one",
            package(manifests.namespace("home")),
            namespace="home",
            **life,
        )

    assert not caught.value.begun
    assert [] == owned(cluster)


# -- Others ------------------------------------------------------------------


def meeting(cluster, theirs):
    """Somebody makes this just before we apply ours."""
    made = []
    apply = cluster.apply

    class Met:
        def __getattr__(self, name):
            return getattr(cluster, name)

        def until(self, deadline):
            return self

        def apply(self, manifest, manager, *, dry_run=False, **more):
            name = manifest["metadata"]["name"]
            if name == theirs["metadata"]["name"] and not (dry_run or made):
                made.append(cluster.create(theirs, "them"))
            return apply(manifest, manager, dry_run=dry_run, **more)

    return Met()


def test_nothing_is_forced_upon_what_somebody_has_just_made(cluster, life):
    """Not even where fields are to be taken from others (P20)."""
    theirs = manifests.config_map("a", "default", key="theirs", more="x")

    with pytest.raises(errors.Owned, match="them"):
        lcm.instantiate(
            meeting(cluster, theirs),
            "one",
            package(manifests.config_map("a", key="ours")),
            options=Options(conflict="take"),
            **life,
        )

    left = cluster.get(ref("ConfigMap", "a"))
    assert theirs["data"] == left["data"]


def test_what_our_apply_only_met_before_a_crash_is_not_deleted(cluster, life):
    """It has our label and our entry, and is still not ours (P20)."""
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
            met,
            "one",
            package(manifests.config_map("a", other="ours")),
            options=FAST,
            **life,
        )

    lcm.terminate(cluster, "one", **life)

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
        cluster, "one", package(role), namespace="na", deadline=deadline
    )
    other = {**role, "rules": [{"verbs": ["get"]}]}

    with pytest.raises(errors.Owned, match="the instance one"):
        lcm.instantiate(
            cluster, "one", package(other), namespace="nb", deadline=deadline
        )


def definition(*versions):
    found = manifests.definition(GROUP, "Thing")
    (first,) = found["spec"]["versions"]
    found["spec"]["versions"] = [
        {**first, "name": name, "storage": name == versions[0]}
        for name in versions
    ]
    return found


def test_a_definition_may_gain_a_version_that_its_objects_use(cluster, life):
    """The objects are there already, and are changed, not lost."""
    thing = manifests.custom(GROUP, "Thing", "x", STORED, size="s")
    lcm.instantiate(cluster, "one", package(definition("v1"), thing), **life)
    newer = {**thing, "apiVersion": f"{GROUP}/v2", "spec": {"size": "xl"}}
    before = cluster.get(ref("Thing", "x", GROUP))

    lcm.change(cluster, "one", package(definition("v1", "v2"), newer), **life)

    after = cluster.get(ref("Thing", "x", GROUP))
    assert objects.uid(before) == objects.uid(after)
    assert "xl" == after["spec"]["size"]


def test_a_definition_that_others_use_is_not_pruned(cluster, life):
    """However its manifest asks for it (P19)."""
    asked = definition("v1")
    asked["metadata"]["annotations"] = {objects.PREFIX + "prune": "true"}
    lcm.instantiate(
        cluster, "one", package(asked, manifests.config_map("a")), **life
    )
    other = manifests.custom(GROUP, "Thing", "theirs")
    other["metadata"]["namespace"] = "default"
    cluster.create(other, "them")

    with pytest.raises(errors.WouldBeLost, match="theirs") as caught:
        lcm.change(cluster, "one", configs("a"), **life)

    assert not caught.value.begun
    assert cluster.get(ref("Thing", "theirs", GROUP))


def test_a_second_terminate_looks_for_others_again(cluster, life):
    """They may have come after the first one failed (P19)."""
    lcm.instantiate(
        cluster,
        "one",
        package(definition("v1"), manifests.config_map("a")),
        **life,
    )
    cluster.fail(errors.Unavailable("a", 503, "no"), "delete")
    with pytest.raises(errors.Unavailable):
        lcm.terminate(cluster, "one", **life)
    other = manifests.custom(GROUP, "Thing", "theirs")
    other["metadata"]["namespace"] = "default"
    cluster.create(other, "them")

    with pytest.raises(errors.WouldBeLost, match="theirs"):
        lcm.terminate(cluster, "one", **life)

    lcm.terminate(cluster, "one", options=Options(lose_others=True), **life)
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
    cluster, life
):
    """The server would set it to one (P7)."""
    lcm.instantiate(
        cluster, "one", package(manifests.deployment("web", 3)), **life
    )

    silent = package(manifests.deployment("web", None, nodeName="x"))
    lcm.change(cluster, "one", silent, **life)

    assert 3 == replicas(cluster)


@pytest.mark.parametrize("conflict", ["fail", "take", "leave"])
def test_an_autoscaler_that_moves_while_we_apply_keeps_its_number(
    cluster, life, conflict
):
    """From the look at a package to its last write minutes may pass (P7)."""
    first = manifests.config_map("first")
    lcm.instantiate(
        cluster, "one", package(first, manifests.deployment("web", 1)), **life
    )
    play = cluster.world.controller

    def scale(fake, obj):
        play(fake, obj)
        if obj["metadata"]["name"] == "first":
            number = {"spec": {"replicas": 5}}
            fake.patch(WEB, number, "autoscaler", subresource="scale")
            play(fake, fake.get(WEB))

    cluster.world.controller = scale
    again = package(
        manifests.config_map("first", key="new"),
        manifests.deployment("web", 1, nodeName="x"),
    )
    lcm.change(
        cluster, "one", again, options=Options(conflict=conflict), **life
    )

    assert 5 == replicas(cluster)
    assert "x" == cluster.get(WEB)["spec"]["template"]["spec"]["nodeName"]


def test_a_retry_at_another_level_has_the_numbers_of_that_level(cluster, life):
    """The record and the cluster say the same, whatever the first try did."""
    given = with_vnfd(vnfd("a"))
    cluster.world.controller = None
    with pytest.raises(errors.NotReady):
        lcm.instantiate(
            cluster,
            "one",
            given,
            scale_levels={"a": 3},
            deadline=life["deadline"].sooner(5),
        )
    cluster.world.controller = play_deployments

    lcm.instantiate(cluster, "one", given, scale_levels={"a": 0}, **life)

    assert 1 == replicas(cluster)


def test_a_package_may_name_its_aspects_anew(cluster, life):
    """The levels go on where the aspect still is."""
    lcm.instantiate(cluster, "one", with_vnfd(vnfd("a")), **life)

    lcm.change(cluster, "one", with_vnfd(vnfd("b")), **life)
    lcm.scale(cluster, "one", aspect="b", steps=1, **life)

    assert 2 == replicas(cluster)


def test_a_scale_by_steps_is_gone_on_with_not_done_twice(cluster, life):
    """The level moves when the numbers have."""
    lcm.instantiate(cluster, "one", with_vnfd(vnfd("a")), **life)
    cluster.world.controller = None
    with pytest.raises(errors.NotReady):
        lcm.scale(
            cluster,
            "one",
            aspect="a",
            steps=1,
            deadline=life["deadline"].sooner(5),
        )
    cluster.world.controller = play_deployments

    lcm.scale(cluster, "one", aspect="a", steps=1, **life)

    assert 2 == replicas(cluster)


def test_a_number_that_was_sent_is_said_to_be_sent(cluster, life):
    """Though the object could not be read afterwards."""
    lcm.instantiate(cluster, "one", with_vnfd(vnfd("a")), **life)
    sent = []

    def fail_next_read(fake, obj):
        play_deployments(fake, obj)
        if obj["kind"] == "Deployment" and not sent:
            sent.append(obj)
            lost = errors.Unavailable("web", 503, "no")
            fake.fail(lost, "get", WEB)

    cluster.world.controller = fail_next_read
    with pytest.raises(errors.Unavailable) as caught:
        lcm.scale(cluster, "one", {WEB: 4}, **life)

    assert caught.value.begun
    assert (WEB,) == caught.value.written


# -- Bad input ---------------------------------------------------------------


def test_an_object_that_would_be_part_of_the_record_is_refused(cluster, life):
    """It would make the record unreadable."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "tacker-k8s-cr.one"},
    }

    with pytest.raises(errors.PackageInvalid, match="part of the instance"):
        lcm.instantiate(cluster, "one", package(secret), **life)


@pytest.mark.parametrize("versions", [["v1"], "v1", None, [{"served": True}]])
def test_a_definition_of_the_wrong_shape_is_the_servers_to_refuse(
    cluster, life, versions
):
    """It is no reason to stop with a trace."""
    wrong = definition("v1")
    wrong["spec"]["versions"] = versions
    given = ref("CustomResourceDefinition", wrong["metadata"]["name"])
    denied = errors.Rejected(given, 422, "Invalid", "versions")
    cluster.fail(denied, "patch")

    with pytest.raises(errors.Rejected, match="versions"):
        lcm.instantiate(cluster, "one", package(wrong), **life)


def test_a_record_that_cannot_be_read_is_an_error_of_ours(cluster, life):
    """It says which, and what is wrong with it."""
    lcm.instantiate(cluster, "one", configs("a"), **life)
    head = record.secret_ref("one", "default")
    cluster.patch(head, {"data": {"head": "e30="}}, "somebody")

    with pytest.raises(errors.InstanceExists, match="cannot be read"):
        lcm.status(cluster, "one", **life)
