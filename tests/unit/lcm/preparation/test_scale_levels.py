"""How large instances are: at first, and after scale, change and rollback."""

from __future__ import annotations

import dataclasses

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.state import store
from tests.calls import call
from tests.fakes import FakeCluster
from tests.fakes.workloads import Workloads
from tests.functional import manifests

INCONSISTENT = Vnfd(
    id="v",
    flavour="simple",
    vdus={"web": Vdu("web", "web", 2, 4), "db": Vdu("db", "db", 1, 9)},
    aspects={"size": Aspect("size", 3, {"web": (1,)})},
    initial={"web": 2},
    levels={"small": {"size": 0}, "large": {"size": 2}},
    level_numbers={"large": {"web": 3}},
    default_level="small",
)
"""Level large gives 3 web, and the deltas 4; no policy gives db a number."""


def package(*objs, vnfd=INCONSISTENT):
    documents = (
        Document(obj, f"{number}.yaml") for number, obj in enumerate(objs, 1)
    )
    return Package("p", tuple(documents), vnfd)


WEB = manifests.deployment("web", 7)
DB = manifests.deployment("db", 5)
GIVEN = package(WEB, DB)


@pytest.fixture
def cluster(clock):
    return FakeCluster(Workloads(), idle=clock.idle)


@pytest.fixture
def instantiated(cluster, operation_args):
    """An instance of GIVEN, of whatever size."""

    def instantiate(given=GIVEN, **size):
        return call(
            lcm.instantiate, cluster, "one", given, **size, **operation_args
        )

    return instantiate


@pytest.fixture
def scaled(cluster, operation_args):
    """Scales to a level; returns the replicas of web and db."""

    def scale(level):
        lcm.scale(
            lcm.Request(cluster, "one", **operation_args),
            aspect="size",
            level=level,
        )
        return sizes(cluster)

    return scale


def sizes(cluster):
    """The replicas of web and db."""
    refs = (
        ObjectRef("apps", "Deployment", "default", name)
        for name in ("web", "db")
    )
    return [cluster.get(ref)["spec"]["replicas"] for ref in refs]


def recorded(cluster):
    return store.read(cluster, "one", "default").inventory


def test_an_instance_begins_with_the_number_of_its_level(
    cluster, instantiated, scaled
):
    """Each step adds its delta to that; db has its manifest's number."""
    instantiated(level="large")

    assert [3, 5] == sizes(cluster)
    assert [4, 5] == scaled(3)
    assert [2, 5] == scaled(1)


def test_scale_levels_count_from_the_initial_delta(
    cluster, instantiated, scaled
):
    """As in Tacker's v1 API, which does not read the level's number."""
    instantiated(scale_levels={"size": 2})

    assert [4, 5] == sizes(cluster)
    assert [3, 5] == scaled(1)


@pytest.mark.requirement("D5")
def test_the_profile_refuses_the_step_that_leaves_it(
    cluster, instantiated, scaled
):
    """Not the package: an instance may begin outside its profile."""
    profile = {**INCONSISTENT.vdus, "web": Vdu("web", "web", 4, 4)}
    vnfd = dataclasses.replace(INCONSISTENT, vdus=profile)
    instantiated(package(WEB, DB, vnfd=vnfd), level="large")

    assert [3, 5] == sizes(cluster)
    with pytest.raises(errors.RequestInvalid, match=r"web: .* 2 .* 4 to 4"):
        scaled(1)
    assert [4, 5] == scaled(3)


def test_different_numbers_of_a_level_are_a_warning(instantiated, scaled):
    """In the report, like a VDU without an object among the manifests."""
    warning = "p_df.yaml: instantiation level large: ..."
    given = dataclasses.replace(package(WEB), warnings=(warning,))

    assert (
        warning,
        "VDU db: no workload of the selected manifests is named db; the VDU "
        "has no VNFC and is not scaled",
    ) == instantiated(given).warnings


def test_a_change_keeps_the_number_and_counts_on_by_the_new_delta(
    cluster, instantiated, scaled, operation_args
):
    """And its rollback brings back what the old steps counted from."""
    instantiated(level="large")
    aspects = {"size": Aspect("size", 3, {"web": (2,)})}
    vdus = {**INCONSISTENT.vdus, "web": Vdu("web", "web", 0, 9)}
    vnfd = dataclasses.replace(INCONSISTENT, aspects=aspects, vdus=vdus)
    lcm.change(
        lcm.Request(cluster, "one", **operation_args),
        package(WEB, DB, vnfd=vnfd),
    )

    assert [3, 5] == sizes(cluster)
    assert {"size": 2} == recorded(cluster).scale_levels
    assert [5, 5] == scaled(3)
    assert [3, 5] == scaled(2)


def test_a_rollback_counts_from_where_it_was(
    cluster, instantiated, scaled, operation_args
):
    """The numbers that a change set are forgotten with it."""
    instantiated(level="large")
    aspects = {"size": Aspect("size", 3, {"web": (2,)})}
    vnfd = dataclasses.replace(INCONSISTENT, aspects=aspects)
    lcm.change(
        lcm.Request(cluster, "one", **operation_args),
        package(WEB, DB, vnfd=vnfd),
    )
    lcm.roll_back(lcm.Request(cluster, "one", **operation_args))

    assert [3, 5] == sizes(cluster)
    assert [4, 5] == scaled(3)


def test_a_vdu_that_comes_with_a_change_has_its_default_number(
    cluster, instantiated, scaled, operation_args
):
    """And counts on from there."""
    vdus = {"db": INCONSISTENT.vdus["db"]}
    instantiated(
        package(DB, vnfd=Vnfd("v", "simple", vdus, {}, {}, {}, {}, ""))
    )
    lcm.change(lcm.Request(cluster, "one", **operation_args), GIVEN)

    assert [2, 5] == sizes(cluster)
    assert [3, 5] == scaled(1)


def test_a_scaled_vdu_without_numbers_counts_from_its_manifest(
    cluster, instantiated, scaled
):
    """Where neither a level nor an initial delta gives one."""
    vnfd = dataclasses.replace(
        INCONSISTENT,
        initial={},
        level_numbers={},
        vdus={**INCONSISTENT.vdus, "web": Vdu("web", "web", 0, None)},
    )
    instantiated(package(WEB, DB, vnfd=vnfd), level="large")

    assert [7, 5] == sizes(cluster)
    assert [8, 5] == scaled(3)
    assert [5, 5] == scaled(0)


def test_only_what_is_scaled_needs_replicas(
    cluster, instantiated, operation_args
):
    """A DaemonSet may be a VDU, and is refused when it is scaled."""
    pod = WEB["spec"]["template"]
    daemons = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": "web",
            "annotations": {"k8s-cr.tacker.openstack.org/readiness": "exists"},
        },
        "spec": {"selector": WEB["spec"]["selector"], "template": pod},
    }
    instantiated(package(daemons, DB))
    assert "DaemonSet" == recorded(cluster).vdus["web"].kind

    with pytest.raises(
        errors.NotScalable, match=r"DaemonSet\.apps/default/web"
    ):
        lcm.scale(
            lcm.Request(cluster, "one", **operation_args),
            aspect="size",
            level=1,
        )


@pytest.mark.requirement("T11")
def test_an_aspect_without_objects_cannot_be_scaled(instantiated, scaled):
    """Its VDU is not among the selected manifests."""
    instantiated(package(DB))

    with pytest.raises(errors.RequestInvalid, match="it scales web, and the"):
        scaled(1)
