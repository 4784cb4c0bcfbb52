"""Numbers in the topology of a Cluster."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacker_k8s_cr.kinds import entries
from tacker_k8s_cr.kinds.entries import Entry
from tacker_k8s_cr.objects import ObjectRef

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
def test_one_number_changes_and_all_others_stay(obj, number, data):
    """Whichever entry it is; the reference leads back to it (P8)."""
    found = entries.of(obj)
    chosen = data.draw(st.sampled_from(found))

    changed = entries.with_number(obj, chosen, number)

    assert chosen == entries.named(chosen.ref)
    assert CLUSTER == entries.owner(chosen.ref)
    assert number == entries.number(changed, chosen)
    back = entries.with_number(changed, chosen, entries.number(obj, chosen))
    assert obj == back
    for other in found:
        if other != chosen:
            assert entries.number(obj, other) == entries.number(changed, other)


@given(CLUSTERS, st.data())
def test_a_patch_has_the_entry_and_what_it_was_read_from(obj, data):
    """A list goes whole, with the version of the object."""
    chosen = data.draw(st.sampled_from(entries.of(obj)))
    changed = entries.with_number(obj, chosen, 42)

    patch = entries.patch(changed, chosen)

    assert {"uid": "1", "resourceVersion": "7"} == patch["metadata"]
    assert 42 == entries.number(patch, chosen)
    assert "version" not in patch["spec"]["topology"]


def test_an_object_is_no_entry():
    """A Cluster by itself, and a name with a colon of another kind."""
    role = ObjectRef("rbac.authorization.k8s.io", "Role", "ns", "system:a")

    assert entries.named(CLUSTER) is None
    assert entries.named(role) is None
    assert role == entries.owner(role)


def test_an_entry_that_is_not_there_is_told_from_one_without_a_number():
    """Of the first nothing is known; the second is somebody else's."""
    obj = cluster(1, {"md-0": 1}, {})
    there = Entry(CLUSTER, "machineDeployments", "md-0")
    unsaid = entries.with_number(obj, there, None)

    assert entries.content(obj, Entry(CLUSTER, "machinePools", "a")) is None
    assert entries.content(unsaid, there) is not None
    assert entries.number(unsaid, there) is None
