"""Numbers in the topology of a Cluster."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.kinds import topology_replicas
from tacker_k8s_cr.kinds.topology_replicas import TopologyReplicas
from tacker_k8s_cr.model.objects import ObjectRef

CLUSTER = ObjectRef("cluster.x-k8s.io", "Cluster", "ns", "site")
NAMES = st.from_regex(r"\A[a-z0-9]([-a-z0-9.]{0,9}[a-z0-9])?\Z")
NUMBERS = st.integers(0, 9)


def cluster(control_plane, deployments, pools):
    def listed(numbers):
        return [
            {"name": name, "class": "a", "replicas": number}
            for name, number in numbers.items()
        ]

    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {
            "name": "site",
            "namespace": "ns",
            "uid": "1",
            "resourceVersion": "7",
        },
        "spec": {
            "topology": {
                "version": "v1.35.0",
                "controlPlane": {"replicas": control_plane},
                "workers": {
                    "machineDeployments": listed(deployments),
                    "machinePools": listed(pools),
                },
            }
        },
    }


CLUSTERS = st.builds(
    cluster,
    NUMBERS,
    st.dictionaries(NAMES, NUMBERS, max_size=3),
    st.dictionaries(NAMES, NUMBERS, max_size=3),
)


@given(CLUSTERS, NUMBERS, st.data())
@pytest.mark.requirement("P8")
def test_one_number_changes_and_all_others_stay(obj, number, data):
    """Whichever entry it is; the reference leads back to it."""
    found = topology_replicas.list_entries(obj)
    chosen = data.draw(st.sampled_from(found))

    changed = topology_replicas.with_replicas(obj, chosen, number)

    assert chosen == topology_replicas.parse_ref(chosen.ref)
    assert CLUSTER == topology_replicas.cluster_ref(chosen.ref)
    assert number == topology_replicas.replicas(changed, chosen)
    back = topology_replicas.with_replicas(
        changed, chosen, topology_replicas.replicas(obj, chosen)
    )
    assert obj == back
    for other in found:
        if other != chosen:
            assert topology_replicas.replicas(
                obj, other
            ) == topology_replicas.replicas(changed, other)


@given(CLUSTERS, st.data())
def test_a_patch_has_the_entry_and_what_it_was_read_from(obj, data):
    """A list goes whole, with the version of the object."""
    chosen = data.draw(st.sampled_from(topology_replicas.list_entries(obj)))
    changed = topology_replicas.with_replicas(obj, chosen, 42)

    patch = topology_replicas.merge_patch(changed, chosen)

    assert {"uid": "1", "resourceVersion": "7"} == patch["metadata"]
    assert 42 == topology_replicas.replicas(patch, chosen)
    assert "version" not in patch["spec"]["topology"]


def test_an_object_is_not_an_entry():
    """A Cluster alone, and a name with a colon of another kind."""
    role = ObjectRef("rbac.authorization.k8s.io", "Role", "ns", "system:a")

    assert topology_replicas.parse_ref(CLUSTER) is None
    assert topology_replicas.parse_ref(role) is None
    assert role == topology_replicas.cluster_ref(role)


def test_an_absent_entry_differs_from_one_without_replicas():
    """The first is unknown; the second belongs to another manager."""
    obj = cluster(1, {"md-0": 1}, {})
    there = TopologyReplicas(CLUSTER, "machineDeployments", "md-0")
    unsaid = topology_replicas.with_replicas(obj, there, None)

    assert (
        topology_replicas.get_entry(
            obj, TopologyReplicas(CLUSTER, "machinePools", "a")
        )
        is None
    )
    assert topology_replicas.get_entry(unsaid, there) is not None
    assert topology_replicas.replicas(unsaid, there) is None
