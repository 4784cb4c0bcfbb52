"""Instances that another program has instantiated."""

from __future__ import annotations

import contextlib
import copy

import pytest

from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.state import store
from tests.calls import call
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests
from tests.unit.lcm.kill_points import killed_clusters
from tests.unit.lcm.kill_points import owned_objects
from tests.unit.lcm.kill_points import record_objects
from tests.unit.lcm.kill_points import run_operation

TACKER = "OpenAPI-Generator"
WEB = ObjectRef("apps", "Deployment", "default", "web")
SETTINGS = ObjectRef("", "ConfigMap", "default", "settings")
VNFD = Vnfd(
    id="v",
    flavour="simple",
    vdus={"web": Vdu("web", "web", 0, 9)},
    aspects={"size": Aspect("size", 5, {"web": (1,)})},
    initial={"web": 1},
    levels={},
    level_numbers={},
    default_level="",
)


def package(*objs):
    documents = (Document(obj, f"{obj['kind']}.yaml") for obj in objs)
    return Package("p", tuple(documents), VNFD)


GIVEN = package(
    manifests.deployment("web", 1), manifests.config_map("settings", key="a")
)


@pytest.fixture
def new_cluster(clock):
    """A cluster with an instance of Tacker's own driver, at level 2."""

    def made():
        found = FakeCluster(Workloads(), idle=clock.idle)
        labels = {objects.VNF_INSTANCE: "one"}
        for obj in GIVEN.manifests:
            obj = copy.deepcopy(dict(obj))
            obj["metadata"] |= {"namespace": "default", "labels": labels}
            if obj["kind"] == "Deployment":
                obj["spec"]["replicas"] = 3
            found.create(obj, TACKER)
        return found

    return made


@pytest.fixture
def cluster(new_cluster):
    return new_cluster()


@pytest.fixture
def adopted(cluster, operation_args):
    def adopt(given=GIVEN, **more):
        labels = {objects.VNF_INSTANCE: "one"}
        return call(
            lcm.adopt,
            cluster,
            "one",
            given,
            policy=Policy(namespace_mode="force", labels=labels),
            scale_levels={"size": 2},
            **more,
            **operation_args,
        )

    return adopt


def recorded(cluster):
    return store.read(cluster, "one", "default").inventory


def test_objects_stay_as_they_are(cluster, adopted):
    """Their generations, their numbers and their Pods."""
    generation = cluster.get(WEB)["metadata"]["generation"]
    pods = set(cluster.world.objects)

    report = adopted()

    assert {WEB: Action.ADOPTED, SETTINGS: Action.ADOPTED} == {
        row.ref: row.action for row in report.objects
    }
    assert generation == cluster.get(WEB)["metadata"]["generation"]
    assert pods <= set(cluster.world.objects)
    assert {"size": 2} == recorded(cluster).scale_levels


def test_an_adopted_instance_lives_on(cluster, adopted, operation_args):
    """Drift is empty; heal, scale, change, rollback and terminate work."""
    adopted()

    assert (
        () == lcm.drift(lcm.Request(cluster, "one", **operation_args)).objects
    )
    lcm.scale(
        lcm.Request(cluster, "one", **operation_args),
        aspect="size",
        number_of_steps=1,
    )
    assert 4 == cluster.get(WEB)["spec"]["replicas"]
    lcm.heal(lcm.Request(cluster, "one", **operation_args))
    other = package(
        manifests.deployment("web", 1, hostNetwork=True),
        manifests.config_map("settings", key="b"),
    )
    lcm.change(lcm.Request(cluster, "one", **operation_args), other)
    assert "b" == cluster.get(SETTINGS)["data"]["key"]
    assert 4 == cluster.get(WEB)["spec"]["replicas"]
    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))
    assert "a" == cluster.get(SETTINGS)["data"]["key"]
    lcm.terminate(lcm.Request(cluster, "one", **operation_args))
    assert ([], []) == (owned_objects(cluster), record_objects(cluster))


def test_what_differs_from_the_package_keeps_its_value(
    cluster, adopted, operation_args
):
    """The report names the field, and a later heal keeps it too."""
    cluster.patch(SETTINGS, {"data": {"key": "changed"}}, "kubectl")

    report = adopted()

    (notes,) = [row.notes for row in report.objects if row.ref == SETTINGS]
    assert ("live value retained: data.key",) == notes
    lcm.heal(lcm.Request(cluster, "one", **operation_args))
    assert "changed" == cluster.get(SETTINGS)["data"]["key"]
    assert (
        () == lcm.drift(lcm.Request(cluster, "one", **operation_args)).objects
    )


def test_what_does_not_exist_is_left_out(cluster, adopted, operation_args):
    """With a warning; a change of package creates it."""
    more = package(*GIVEN.manifests, manifests.config_map("more"))

    report = adopted(more)

    assert (
        "ConfigMap/default/more (ConfigMap.yaml) does not exist and is not "
        "adopted",
    ) == report.warnings
    lcm.heal(lcm.Request(cluster, "one", **operation_args))
    assert {"web", "settings"} == set(owned_objects(cluster))
    lcm.change(lcm.Request(cluster, "one", **operation_args), more)
    assert {"web", "settings", "more"} == set(owned_objects(cluster))


def test_a_kind_that_is_not_served_is_skipped(adopted):
    """Tacker's own driver creates no custom resources."""
    thing = manifests.custom("example.org", "Thing", "x")

    assert 2 == len(adopted(package(*GIVEN.manifests, thing)).objects)


def test_what_the_program_did_not_create_stays_at_the_end(
    cluster, adopted, operation_args
):
    """Such as an object that was there before."""
    adopted(select_created=lambda live: live.keys() - {SETTINGS})
    lcm.terminate(lcm.Request(cluster, "one", **operation_args))

    assert None is cluster.get(WEB)
    assert "a" == cluster.get(SETTINGS)["data"]["key"]
    assert [] == owned_objects(cluster)


@pytest.mark.parametrize("label", [objects.INSTANCE, objects.VNF_INSTANCE])
def test_an_object_of_another_instance_is_refused(cluster, adopted, label):
    """Nothing is written."""
    cluster.patch(SETTINGS, {"metadata": {"labels": {label: "two"}}}, "x")

    with pytest.raises(errors.OwnedByOther, match="the instance two"):
        adopted()

    assert [] == record_objects(cluster)


def test_an_instance_is_adopted_once(cluster, adopted):
    """It is managed by its record then."""
    adopted()

    with pytest.raises(errors.InstanceExists, match="already exists"):
        adopted()


def test_an_adoption_may_die_at_any_request(new_cluster, clock):
    """To repeat it is to finish it, and nothing is lost."""
    policy = Policy(labels={objects.VNF_INSTANCE: "one"})
    how = {"policy": policy, "scale_levels": {"size": 2}}
    died = 0
    for cluster in killed_clusters(
        lcm.adopt, lambda _: None, new_cluster, clock, GIVEN, **how
    ):
        died += 1
        with contextlib.suppress(errors.InstanceExists):
            run_operation(lcm.adopt, cluster, clock, GIVEN, **how)
        assert {"web", "settings"} == set(owned_objects(cluster))
        assert 3 == cluster.get(WEB)["spec"]["replicas"]
        run_operation(lcm.terminate, cluster, clock)
        assert ([], []) == (owned_objects(cluster), record_objects(cluster))
        assert None is cluster.get(WEB)
    assert died > 10


def test_a_refused_manifest_does_not_stop_an_adoption(cluster, adopted):
    """Its object is owned without its fields."""
    cluster.fail(
        errors.Rejected(SETTINGS, 422, "Invalid", "immutable"),
        "patch",
        SETTINGS,
    )
    report = adopted()

    assert {WEB, SETTINGS} == {row.ref for row in report.objects}
