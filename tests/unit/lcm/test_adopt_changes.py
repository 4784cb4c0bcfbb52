"""Changes of a container update script, taken into the record."""

from __future__ import annotations

import copy
import dataclasses

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests

WEB = ObjectRef("apps", "Deployment", "default", "web")
SETTINGS = ObjectRef("", "ConfigMap", "default", "settings")
SCRIPT = "OpenAPI-Generator"

OLD_VNFD = Vnfd(
    id="old",
    flavour="simple",
    vdus={"web": Vdu("web", "web", 0, 9)},
    aspects={"size": Aspect("size", 5, {"web": (1,)})},
    initial={"web": 1},
    levels={},
    level_numbers={},
    default_level="",
)
NEW_VNFD = dataclasses.replace(
    OLD_VNFD, id="new", aspects={"size": Aspect("size", 5, {"web": (2,)})}
)


def web(image, **more):
    found = copy.deepcopy(manifests.deployment("web", **more))
    found["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return found


def package(image, value, vnfd):
    objs = (web(image), manifests.config_map("settings", key=value))
    documents = (Document(obj, f"{obj['kind']}.yaml") for obj in objs)
    return Package(vnfd.id, tuple(documents), vnfd)


OLD = package("a:1", "old", OLD_VNFD)
NEW = package("a:2", "new", NEW_VNFD)


@pytest.fixture
def cluster(clock, operation_args):
    found = FakeCluster(Workloads(), idle=clock.idle)
    lcm.instantiate(lcm.Request(found, "one", **operation_args), OLD)
    return found


def script(cluster, image="a:2", value="new"):
    """As Tacker's script does: it reads and replaces."""
    live = copy.deepcopy(cluster.get(WEB))
    live["spec"]["template"]["spec"]["containers"][0]["image"] = image
    cluster.replace(live, SCRIPT)
    settings = cluster.get(SETTINGS)
    kept = {
        key: settings["metadata"][key]
        for key in ("name", "namespace", "resourceVersion", "uid")
    }
    cluster.replace(
        {**settings, "metadata": kept, "data": {"key": value}}, SCRIPT
    )


def image(cluster):
    spec = cluster.get(WEB)["spec"]["template"]["spec"]
    return spec["containers"][0]["image"]


def value(cluster):
    return cluster.get(SETTINGS)["data"]["key"]


def recorded(cluster):
    return store.read(cluster, "one", "default").inventory


def test_changes_of_a_script_are_not_drift_afterwards(cluster, operation_args):
    """The record and the owners of fields are as if we had applied it."""
    script(cluster)
    assert 2 == len(
        lcm.drift(lcm.Request(cluster, "one", **operation_args)).objects
    )
    generation = cluster.get(WEB)["metadata"]["generation"]

    report = lcm.adopt_changes(
        lcm.Request(cluster, "one", **operation_args), NEW
    )

    assert {WEB: Action.CONFIGURED, SETTINGS: Action.CONFIGURED} == {
        row.ref: row.action for row in report.objects
    }
    assert (
        () == lcm.drift(lcm.Request(cluster, "one", **operation_args)).objects
    )
    assert generation == cluster.get(WEB)["metadata"]["generation"]
    assert ("new", NEW.digest) == (
        recorded(cluster).vnfd.id,
        recorded(cluster).digest,
    )


def test_later_operations_neither_conflict_nor_revert(cluster, operation_args):
    """Heal, scale, change, and its rollback."""
    script(cluster)
    lcm.adopt_changes(lcm.Request(cluster, "one", **operation_args), NEW)

    lcm.heal(lcm.Request(cluster, "one", **operation_args))
    assert ("a:2", "new") == (image(cluster), value(cluster))
    lcm.scale(
        lcm.Request(cluster, "one", **operation_args),
        aspect="size",
        number_of_steps=1,
    )
    assert 3 == cluster.get(WEB)["spec"]["replicas"]
    third = package("a:3", "third", dataclasses.replace(NEW_VNFD, id="third"))
    lcm.change(lcm.Request(cluster, "one", **operation_args), third)
    assert ("a:3", "third") == (image(cluster), value(cluster))
    lcm.roll_back(lcm.Request(cluster, "one", **operation_args), package=NEW)
    assert ("a:2", "new") == (image(cluster), value(cluster))


def test_what_the_script_did_not_reach_stays_in_the_record(
    cluster, operation_args
):
    """A script may fail half way; a heal then brings back what it left."""
    script(cluster, image="a:1")

    report = lcm.adopt_changes(
        lcm.Request(cluster, "one", **operation_args), NEW
    )

    assert [SETTINGS] == [row.ref for row in report.objects]
    lcm.heal(lcm.Request(cluster, "one", **operation_args))
    assert ("a:1", "new") == (image(cluster), value(cluster))


def test_other_drift_is_not_reverted(cluster, operation_args):
    """What a user changed by hand stays, and stays drift."""
    script(cluster)
    cluster.patch(WEB, {"spec": {"minReadySeconds": 7}}, "kubectl")
    cluster.patch(
        WEB,
        {"spec": {"selector": {"matchLabels": {"app": "web"}}}},
        "kubectl",
    )
    cluster.patch(WEB, {"spec": {"paused": True}}, "kubectl")

    lcm.adopt_changes(lcm.Request(cluster, "one", **operation_args), NEW)

    spec = cluster.get(WEB)["spec"]
    assert (7, True) == (spec["minReadySeconds"], spec["paused"])
    assert "a:2" == image(cluster)


def test_a_field_that_was_also_changed_by_hand_stays(cluster, operation_args):
    """The owners of such an object are left alone."""
    script(cluster)
    cluster.patch(SETTINGS, {"data": {"key": "by hand"}}, "kubectl")

    report = lcm.adopt_changes(
        lcm.Request(cluster, "one", **operation_args), NEW
    )

    assert [WEB] == [row.ref for row in report.objects]
    assert "by hand" == value(cluster)


def test_an_instance_with_an_unfinished_operation_is_left_alone(
    cluster, clock, operation_args
):
    """It is finished or rolled back first."""
    cluster.world.controller.idle = True
    third = package("a:3", "third", dataclasses.replace(NEW_VNFD, id="third"))
    with pytest.raises(errors.ReadinessTimeout):
        lcm.change(
            lcm.Request(cluster, "one", deadline=Deadline.after(5, clock)),
            third,
        )

    with pytest.raises(errors.InstanceStateConflict):
        lcm.adopt_changes(lcm.Request(cluster, "one", **operation_args), NEW)
