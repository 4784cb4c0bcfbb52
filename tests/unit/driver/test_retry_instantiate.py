"""An instantiation that finds the instance there already."""

import dataclasses

import pytest

from tacker_k8s_cr.driver import retry_instantiate
from tacker_k8s_cr.kinds import plugins
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.lcm.preparation import scale_levels as sizes
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.plan.options import Options
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.fakes.workloads import play_deployments
from tests.functional import manifests

VNFD = Vnfd(
    id="v",
    flavour="simple",
    vdus={"web": Vdu("web", "web", 0, 9), "db": Vdu("db", "db", 0, 9)},
    aspects={"webs": Aspect("webs", 5, {"web": (1,)})},
    initial={"web": 1, "db": 1},
    levels={"small": {"webs": 0}, "big": {"webs": 4}},
    level_numbers={
        "small": {"web": 1, "db": 1},
        "big": {"web": 5, "db": 2},
    },
    default_level="small",
)
GIVEN = Package(
    "test",
    (
        Document(manifests.deployment("web"), "web.yaml"),
        Document(manifests.deployment("db"), "db.yaml"),
    ),
    VNFD,
)


@pytest.fixture
def cluster(clock):
    return FakeCluster(controller=play_deployments, idle=clock.idle)


@pytest.fixture
def wanted(clock):
    """What all operations take."""
    return {
        "namespace": "default",
        "deadline": Deadline.after(600, clock),
        "registry": plugins.registry(),
        "options": Options(),
    }


@pytest.fixture
def retry(cluster, wanted):
    """Instantiates one that is at rest, and gives the numbers then."""

    def repeat(package=GIVEN, level="", scale_levels=None):
        retry_instantiate.instantiate_existing(
            lcm.Request(cluster, "one", **wanted),
            package,
            sizes.at_instantiate(package.vnfd, level, scale_levels),
            vdu_mapping={},
            policy=Policy(),
        )
        return {name: number(cluster, name) for name in ("web", "db")}

    lcm.instantiate(lcm.Request(cluster, "one", **wanted), GIVEN)
    return repeat


def number(cluster, name):
    ref = ObjectRef("apps", "Deployment", "default", name)
    return cluster.get(ref)["spec"]["replicas"]


def levels(cluster):
    return store.read(cluster, "one", "default").inventory.scale_levels


def test_the_numbers_are_those_of_the_instantiation_level(cluster, retry):
    """Those of VDUs that no aspect scales, too; in both directions."""
    assert {"web": 5, "db": 2} == retry(level="big")
    assert {"webs": 4} == levels(cluster)

    assert {"web": 1, "db": 1} == retry()
    assert {"webs": 0} == levels(cluster)


def test_the_replicas_are_those_of_the_scale_levels(cluster, retry):
    """In v1 Tacker names these, instead of the level."""
    assert {"web": 3, "db": 1} == retry(scale_levels={"webs": 2})
    assert {"webs": 2} == levels(cluster)


def test_changed_replicas_are_reset_to_the_level(cluster, wanted, retry):
    """As in an instantiation that is taken up where it stopped."""
    web = ObjectRef("apps", "Deployment", "default", "web")
    cluster.patch(web, {"spec": {"replicas": 3}}, "kubectl")
    assert 3 == cluster.get(web)["spec"]["replicas"]

    assert {"web": 1, "db": 1} == retry()


def test_an_unknown_level_is_refused_before_a_change(cluster, retry):
    """The error has its names; the package is not changed."""
    other = dataclasses.replace(GIVEN, documents=GIVEN.documents[:1])

    with pytest.raises(errors.RequestInvalid, match="small, big"):
        retry(other, level="huge")

    assert 1 == number(cluster, "db")


def test_without_a_vnfd_there_are_no_levels(cluster, retry):
    """The package is instantiated anyway."""
    bare = dataclasses.replace(GIVEN, vnfd=None)

    assert {"web": 1, "db": 1} == retry(bare)
