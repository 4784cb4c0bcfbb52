"""Which object of a package each VDU is."""

from __future__ import annotations

from typing import Any

import pytest

from tacker_k8s_cr.model.errors import PackageInvalid
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Document
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.package import vdu_mapping
from tacker_k8s_cr.package.vdu_mapping import Fitness

VDU = "k8s-cr.tacker.openstack.org/vdu"
WEB = ObjectRef("apps", "Deployment", "", "web")


def _assess(manifest: Manifest) -> Fitness:
    return {
        "Deployment": Fitness.REPLICAS,
        "StatefulSet": Fitness.REPLICAS,
        "DaemonSet": Fitness.WORKLOAD,
        "Pod": Fitness.WORKLOAD,
        "Cluster": Fitness.DEPENDANTS,
    }.get(manifest["kind"], Fitness.NONE)


def _manifest(name: str, kind: str = "Deployment", vdu: str = "") -> Any:
    metadata: dict[str, Any] = {"name": name}
    if vdu:
        metadata["annotations"] = {VDU: vdu}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata}


def _package(*manifests: Any, vdus: str = "web") -> Package:
    found = {name: Vdu(name, name, 0, 9) for name in vdus.split()}
    vnfd = Vnfd("id", "simple", found, {}, {}, {}, {}, "")
    documents = [
        Document(manifest, f"{number}.yaml")
        for number, manifest in enumerate(manifests, 1)
    ]
    return Package("p", tuple(documents), vnfd)


def test_name_and_a_kind_that_scales_make_a_target() -> None:
    """A Service of the same name is not it."""
    package = _package(_manifest("web", "Service"), _manifest("web"))

    assert {"web": WEB} == vdu_mapping.map_vdus(package, _assess)


def test_annotation_wins_over_the_name() -> None:
    """An author who writes it means it."""
    package = _package(
        _manifest("web"), _manifest("server", "StatefulSet", vdu="web")
    )
    expected = ObjectRef("apps", "StatefulSet", "", "server")

    assert {"web": expected} == vdu_mapping.map_vdus(package, _assess)


@pytest.mark.parametrize("named", ["b", "Deployment/b", "Deployment.apps/b"])
def test_request_may_name_the_target(named: str) -> None:
    """By name, by kind and name, or as errors show an object."""
    package = _package(_manifest("web"), _manifest("b"))
    expected = ObjectRef("apps", "Deployment", "", "b")

    assert {"web": expected} == vdu_mapping.map_vdus(
        package, _assess, {"web": named}
    )


def test_request_against_the_annotation_is_refused() -> None:
    """Neither is obeyed: one of the two is a mistake."""
    package = _package(_manifest("web", vdu="web"), _manifest("b"))

    with pytest.raises(RequestInvalid, match="but its annotation is on"):
        vdu_mapping.map_vdus(package, _assess, {"web": "b"})
    assert {"web": WEB} == vdu_mapping.map_vdus(
        package, _assess, {"web": "web"}
    )


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ({"web": "x"}, "VDU web is mapped to x: no selected manifest"),
        ({"web": "web"}, "that may be any of Deployment.apps/web, Stateful"),
        ({"x": "web"}, "the mapping names VDU x; the package has: web"),
    ],
)
def test_mapping_must_name_one_object(
    mapping: dict[str, str], expected: str
) -> None:
    """The error has what was found instead."""
    package = _package(
        _manifest("web"),
        _manifest("web", "StatefulSet"),
        _manifest("a", "Service"),
    )

    with pytest.raises(RequestInvalid, match=expected):
        vdu_mapping.map_vdus(package, _assess, mapping)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("Pod", "Deployment", "Cluster"), "Deployment"),
        (("Cluster", "DaemonSet", "Service"), "DaemonSet"),
        (("ConfigMap", "Cluster"), "Cluster"),
        (("ConfigMap", "Service"), None),
        ((), None),
    ],
)
def test_kinds_decide_between_objects_of_one_name(
    kinds: tuple[str, ...], expected: str | None
) -> None:
    """Replicas first, then workloads, then other kinds with dependants.

    A VDU need not be among the manifests.
    """
    package = _package(*(_manifest("web", kind) for kind in kinds))
    found = vdu_mapping.map_vdus(package, _assess)

    assert expected == (found["web"].kind if found else None)


def test_author_and_request_may_choose_any_kind() -> None:
    """A DaemonSet, or a custom resource of which nothing is known."""
    package = _package(
        _manifest("a", "DaemonSet", vdu="web"),
        _manifest("b", "Widget"),
        vdus="web log",
    )

    assert {"web": "DaemonSet", "log": "Widget"} == {
        vdu: ref.kind
        for vdu, ref in vdu_mapping.map_vdus(
            package, _assess, {"log": "b"}
        ).items()
    }


def test_all_doubtful_vdus_are_reported_at_once() -> None:
    """With what an author needs to decide."""
    package = _package(
        _manifest("web"),
        _manifest("web", "StatefulSet"),
        _manifest("b", vdu="unknown"),
        _manifest("c", vdu="twice"),
        _manifest("d", vdu="twice"),
        vdus="web log twice",
    )
    with pytest.raises(PackageInvalid) as caught:
        vdu_mapping.map_vdus(package, _assess)

    assert [
        "3.yaml: Deployment.apps/b has the annotation of VDU unknown, which "
        "the VNFD does not have; it has: web, log, twice",
        "5.yaml: Deployment.apps/d has the annotation of VDU twice, and so "
        "has Deployment.apps/c",
        "p: VDU web may be any of Deployment.apps/web (1.yaml), "
        "StatefulSet.apps/web (2.yaml); select one with the annotation "
        f"{VDU}: web",
    ] == [str(problem) for problem in caught.value.problems]


def test_package_without_a_vnfd_has_no_targets() -> None:
    """Its objects are scaled by their own names."""
    package = Package("p", (Document(_manifest("web"), "1.yaml"),))

    assert {} == vdu_mapping.map_vdus(package, _assess)


CLUSTER = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Cluster",
    "metadata": {"name": "site"},
    "spec": {
        "topology": {
            "controlPlane": {"replicas": 1},
            "workers": {
                "machineDeployments": [
                    {"name": "web", "replicas": 1},
                    {
                        "name": "md-1",
                        "metadata": {"annotations": {VDU: "noted"}},
                    },
                ],
                "machinePools": [{"name": "pool"}],
            },
        }
    },
}


def test_an_entry_of_a_topology_is_a_target() -> None:
    """By its name, its annotation, or as a request names it."""

    def entry(place: str) -> ObjectRef:
        return ObjectRef("cluster.x-k8s.io", "Cluster", "", f"site:{place}")

    package = _package(CLUSTER, vdus="web noted masters pool")

    assert {
        "web": entry("machineDeployments.web"),
        "noted": entry("machineDeployments.md-1"),
        "masters": entry("controlPlane"),
        "pool": entry("machinePools.pool"),
    } == vdu_mapping.map_vdus(
        package, _assess, {"masters": "Cluster/site:controlPlane"}
    )
