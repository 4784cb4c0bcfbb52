"""Requirements that a few objects on the fake cluster show."""

from __future__ import annotations

import json

import pytest

from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.state import store
from tests.fakes import FakeCluster
from tests.fakes.workloads import play_deployments
from tests.functional import manifests
from tests.unit.packages import STORED
from tests.unit.packages import make_package

GROUP = "test.example.org"
RBAC = "rbac.authorization.k8s.io"


def workload(name, kind="Deployment", after=()):
    """A workload that depends on others."""
    manifest = manifests.deployment(name)
    manifest["kind"] = kind
    if kind == "StatefulSet":
        manifest["spec"]["serviceName"] = name
    if after:
        manifest["metadata"]["annotations"] = {
            objects.PREFIX + "depends-on": ", ".join(after)
        }
    return manifest


class Controllers:
    """Report one workload as available whenever nothing else happens.

    :ivar before: the workloads that were applied when each got available.
    """

    def __init__(self, clock):
        self.clock = clock
        self.before = {}
        self.cluster = FakeCluster(idle=self)

    def __call__(self, seconds):
        applied = [
            ref
            for ref in self.cluster.world.objects
            if ref.kind in ("Deployment", "StatefulSet")
        ]
        for ref in applied:
            if ref.name not in self.before:
                self.before[ref.name] = {one.name for one in applied}
                self._report(ref)
                return
        self.clock.idle(seconds)

    def _report(self, ref):
        number = self.cluster.get(ref)["spec"]["replicas"]
        counters = ("replicas", "readyReplicas", "updatedReplicas")
        self.cluster.report(
            ref,
            {
                **dict.fromkeys((*counters, "availableReplicas"), number),
                "observedGeneration": 1,
                "currentReplicas": number,
                "currentRevision": "a",
                "updateRevision": "a",
                "conditions": [
                    {"type": "Available", "status": "True"},
                    {
                        "type": "Progressing",
                        "status": "True",
                        "reason": "NewReplicaSetAvailable",
                    },
                ],
            },
        )


@pytest.mark.parametrize(
    ("kind", "first", "others"),
    [
        pytest.param(
            "Deployment",
            "nrf",
            ("amf", "smf"),
            id="functions-after-the-repository-function",
        ),
        pytest.param(
            "StatefulSet",
            "database",
            ("udm", "udr"),
            id="functions-after-the-database",
        ),
    ],
)
@pytest.mark.requirement("IN-23", "IN-24")
def test_a_workload_waits_until_another_is_available(
    clock, operation_args, kind, first, others
):
    """Of its own kind or another one; all others are applied after it."""
    controllers = Controllers(clock)

    lcm.instantiate(
        lcm.Request(controllers.cluster, "one", **operation_args),
        make_package(
            *(workload(one, after=[f"{kind}.apps/{first}"]) for one in others),
            workload(first, kind),
        ),
    )

    assert {first} == controllers.before[first]
    assert {first, *others} == set(controllers.before)


def binding(name):
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": name}],
    }


@pytest.mark.requirement("IN-18")
def test_a_service_account_is_applied_before_its_binding(
    cluster, operation_args
):
    """Whatever the order of the package."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "a"},
    }

    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(binding("a"), account),
    )

    wanted = ["ServiceAccount", "RoleBinding"]
    created = [ref.kind for ref in cluster.world.objects]
    assert wanted == [kind for kind in created if kind in wanted]


THINGS = make_package(
    manifests.definition(GROUP, "Thing"),
    manifests.custom(GROUP, "Thing", "a", STORED),
    manifests.custom(GROUP, "Thing", "b", STORED),
)


@pytest.mark.requirement("CR-3")
def test_each_custom_resource_has_an_entry_in_the_record(
    cluster, operation_args
):
    """With its UID, and status shows it."""
    lcm.instantiate(lcm.Request(cluster, "one", **operation_args), THINGS)

    refs = {ObjectRef(GROUP, "Thing", "default", name) for name in "ab"}
    owned = store.read(cluster, "one", "default").inventory.owned
    assert {ref: objects.uid(cluster.get(ref)) for ref in refs} == {
        ref: uid for ref, uid in owned.items() if ref.kind == "Thing"
    }
    shown = lcm.status(lcm.Request(cluster, "one", **operation_args)).objects
    assert refs <= {row.ref for row in shown}


class Looking:
    """A cluster that reads the record before each apply of a Thing."""

    def __init__(self, cluster, found):
        self._cluster = cluster
        self._found = found

    def __getattr__(self, name):
        return getattr(self._cluster, name)

    def with_deadline(self, deadline):
        return Looking(self._cluster.with_deadline(deadline), self._found)

    def apply(self, manifest, *args, **more):
        ref = ObjectRef.of(manifest)
        if ref.kind == "Thing" and not more.get("dry_run"):
            read = store.read(self._cluster, "one", "default")
            self._found[ref.name] = ref in read.inventory.journal.pending
        return self._cluster.apply(manifest, *args, **more)


@pytest.mark.requirement("CR-4", "P21")
def test_the_record_names_an_object_before_it_is_applied(
    cluster, operation_args
):
    """A process that dies after the apply leaves no unknown object."""
    found = {}

    lcm.instantiate(
        lcm.Request(Looking(cluster, found), "one", **operation_args), THINGS
    )

    assert {"a": True, "b": True} == found


@pytest.mark.requirement("P6")
def test_each_instance_has_a_field_manager_of_its_own(cluster, operation_args):
    """Which has an Apply entry: the object was not created by a POST."""
    for name in ("one", "two"):
        lcm.instantiate(
            lcm.Request(cluster, name, **operation_args),
            make_package(manifests.config_map(name)),
        )

    managers = {}
    for name in ("one", "two"):
        obj = cluster.get(ObjectRef("", "ConfigMap", "default", name))
        (entry,) = obj["metadata"]["managedFields"]
        assert "Apply" == entry["operation"]
        managers[name] = entry["manager"]
    assert managers["one"] != managers["two"]
    for name, manager in managers.items():
        assert name in manager, json.dumps(managers)


@pytest.mark.parametrize("existed", [False, True])
@pytest.mark.requirement("CL-7")
def test_a_namespace_of_the_package_is_created_where_it_does_not_exist(
    cluster, operation_args, existed
):
    """Terminate deletes it, unless it existed before."""
    ref = ObjectRef("", "Namespace", "", "edge")
    if existed:
        cluster.apply(manifests.namespace("edge"), "another")

    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(
            manifests.namespace("edge"), manifests.config_map("a", "edge")
        ),
    )
    assert cluster.get(ref)
    assert cluster.get(ObjectRef("", "ConfigMap", "edge", "a"))
    lcm.terminate(lcm.Request(cluster, "one", **operation_args))

    assert None is cluster.get(ObjectRef("", "ConfigMap", "edge", "a"))
    assert existed == (cluster.get(ref) is not None)


@pytest.mark.parametrize("waits", [1, 5])
@pytest.mark.requirement("T10")
def test_a_wait_sends_no_requests_while_nothing_happens(
    clock, operation_args, waits
):
    """The watch shows the change; the object is not read again and again."""
    cluster = FakeCluster()
    web = ObjectRef("apps", "Deployment", "default", "web")
    sent = []

    def idle(seconds):
        sent.append(len(cluster.sent))
        clock.now += min(seconds, 1.0)
        if len(sent) == waits:
            play_deployments(cluster, cluster.world.objects[web].obj)

    cluster.world.idle = idle
    lcm.instantiate(
        lcm.Request(cluster, "one", **operation_args),
        make_package(manifests.deployment("web")),
    )

    assert waits == len(sent)
    assert sent[0] == sent[-1]
