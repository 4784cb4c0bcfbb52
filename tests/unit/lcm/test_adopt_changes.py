"""Changes of a container update script, taken into the record."""

from __future__ import annotations

import copy
import dataclasses

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.package.model import Aspect
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.package.model import Vdu
from tacker_k8s_cr.package.model import Vnfd
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.report import Action
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
def cluster(clock, life):
    found = FakeCluster(Workloads(), idle=clock.idle)
    lcm.instantiate(found, "one", OLD, **life)
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
    return record.read(cluster, "one", "default").inventory


def test_what_a_script_changed_is_no_drift_afterwards(cluster, life):
    """The record and the owners of fields are as if we had applied it (R6)."""
    script(cluster)
    assert 2 == len(lcm.drift(cluster, "one", **life).rows)
    generation = cluster.get(WEB)["metadata"]["generation"]

    report = lcm.adopt_changes(cluster, "one", NEW, **life)

    assert {WEB: Action.CONFIGURED, SETTINGS: Action.CONFIGURED} == {
        row.ref: row.action for row in report.rows
    }
    assert () == lcm.drift(cluster, "one", **life).rows
    assert generation == cluster.get(WEB)["metadata"]["generation"]
    assert ("new", NEW.digest) == (
        recorded(cluster).vnfd.id,
        recorded(cluster).digest,
    )


def test_later_operations_neither_conflict_nor_revert(cluster, life):
    """Heal, scale, change, and its rollback (R6)."""
    script(cluster)
    lcm.adopt_changes(cluster, "one", NEW, **life)

    lcm.heal(cluster, "one", **life)
    assert ("a:2", "new") == (image(cluster), value(cluster))
    lcm.scale(cluster, "one", aspect="size", steps=1, **life)
    assert 3 == cluster.get(WEB)["spec"]["replicas"]
    third = package("a:3", "third", dataclasses.replace(NEW_VNFD, id="third"))
    lcm.change(cluster, "one", third, **life)
    assert ("a:3", "third") == (image(cluster), value(cluster))
    lcm.roll_back(cluster, "one", package=NEW, **life)
    assert ("a:2", "new") == (image(cluster), value(cluster))


def test_what_the_script_did_not_reach_stays_in_the_record(cluster, life):
    """A script may fail half way; a heal then brings back what it left."""
    script(cluster, image="a:1")

    report = lcm.adopt_changes(cluster, "one", NEW, **life)

    assert [SETTINGS] == [row.ref for row in report.rows]
    lcm.heal(cluster, "one", **life)
    assert ("a:1", "new") == (image(cluster), value(cluster))


def test_other_drift_is_not_reverted(cluster, life):
    """What somebody changed by hand stays, and stays drift."""
    script(cluster)
    cluster.patch(WEB, {"spec": {"minReadySeconds": 7}}, "kubectl")
    cluster.patch(
        WEB,
        {"spec": {"selector": {"matchLabels": {"app": "web"}}}},
        "kubectl",
    )
    cluster.patch(WEB, {"spec": {"paused": True}}, "kubectl")

    lcm.adopt_changes(cluster, "one", NEW, **life)

    spec = cluster.get(WEB)["spec"]
    assert (7, True) == (spec["minReadySeconds"], spec["paused"])
    assert "a:2" == image(cluster)


def test_a_field_that_was_also_changed_by_hand_stays(cluster, life):
    """The owners of such an object are left alone."""
    script(cluster)
    cluster.patch(SETTINGS, {"data": {"key": "by hand"}}, "kubectl")

    report = lcm.adopt_changes(cluster, "one", NEW, **life)

    assert [WEB] == [row.ref for row in report.rows]
    assert "by hand" == value(cluster)


def test_an_instance_amid_an_operation_is_left_alone(cluster, clock, life):
    """It is finished or taken back first."""
    cluster.world.controller.idle = True
    third = package("a:3", "third", dataclasses.replace(NEW_VNFD, id="third"))
    with pytest.raises(errors.NotReady):
        lcm.change(cluster, "one", third, deadline=Deadline.after(5, clock))

    with pytest.raises(errors.InstanceExists):
        lcm.adopt_changes(cluster, "one", NEW, **life)
