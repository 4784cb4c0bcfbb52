"""Packages that are not as they should be are refused in words.

There are more of them, and a real server, in ``tests/faults``.
"""

from __future__ import annotations

import json
import pathlib

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.lcm import api as lcm
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Resource
from tacker_k8s_cr.model.objects import split_api_version
from tacker_k8s_cr.model.package import Package
from tests import malformed_packages
from tests.fakes import FakeCluster
from tests.fakes import served_kinds
from tests.fakes.clock import Clock

FOLDERS = 200
CSARS = 12


def serve(cluster: FakeCluster, package: Package) -> None:
    """Cluster API's kinds, which the samples are of."""
    for document in package.documents:
        kind = GroupKind.of(document.manifest)
        if kind.group.endswith("cluster.x-k8s.io"):
            _, version = split_api_version(document.manifest["apiVersion"])
            plural = f"{kind.kind.lower()}s"
            cluster.world.kinds[kind] = (
                Resource(
                    *(kind.group, version, kind.kind, plural, True),
                    *(served_kinds.VERBS, served_kinds.SCALABLE),
                ),
            )


def outcome(path: pathlib.Path) -> str:
    """Return the error about a package; empty when it is instantiated.

    Any other exception than the project's is raised, and so is a write
    before a refusal of the package.
    """
    clock = Clock(least=1.0)
    cluster = FakeCluster(idle=clock.idle)
    before = dict(cluster.world.objects)
    try:
        package = k8s_cr.load(path)
        serve(cluster, package)
        lcm.instantiate(
            lcm.Request(cluster, "one", deadline=Deadline.after(20, clock)),
            package,
        )
    except errors.Error as error:
        refusal = error
    else:
        return ""
    if not refusal.has_written:
        assert before == cluster.world.objects
    assert malformed_packages.is_clear_message(refusal.sentence()), refusal
    assert malformed_packages.is_clear_message(str(refusal)), refusal
    return str(refusal)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return malformed_packages.source_packages(
        tmp_path_factory.mktemp("samples")
    )


def test_a_spoiled_package_is_refused_in_words(sources, tmp_path):
    """Real manifests with a fault: no traceback, no write."""
    of = malformed_packages.malformed_folders(sources)

    refused = malformed_packages.try_packages(
        of, range(FOLDERS), tmp_path, outcome
    )

    assert FOLDERS / 2 < refused


def test_a_spoiled_csar_is_refused_in_words(sources, tmp_path):
    """Its definitions and its archive, too."""
    of = malformed_packages.malformed_csars(sources)
    refused = malformed_packages.try_packages(
        of, range(CSARS), tmp_path, outcome
    )

    assert CSARS / 2 < refused


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["v1", "ConfigMap", "List", "apps/v1", "Deployment"])
)
KEYS = st.sampled_from(
    [
        *("apiVersion", "kind", "metadata", "name", "namespace", "labels"),
        *("annotations", "items", "spec", "data", "status", "finalizers"),
        *("ownerReferences", "template", "replicas", "versions", "names"),
    ]
) | st.text(max_size=3)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=10,
)
KINDS = [
    (resource.api_version, resource.kind)
    for resource in served_kinds.built_in_resources()
    if resource.kind != "Lease"
]
OBJECTS = st.builds(
    lambda served, name, metadata, more: {
        **more,
        "apiVersion": served[0],
        "kind": served[1],
        "metadata": {**metadata, "name": name},
    },
    st.sampled_from(KINDS),
    st.sampled_from(["a", "web", "widgets.example.org"]) | st.text(max_size=5),
    st.dictionaries(KEYS, TREES, max_size=2),
    st.dictionaries(KEYS, TREES, max_size=4),
)


@given(st.lists(OBJECTS | TREES, max_size=3))
@settings(max_examples=100)
def test_whatever_the_documents_hold(tmp_path_factory, documents):
    """Generated documents come to life, or are refused in words."""
    path = tmp_path_factory.getbasetemp() / "generated.yaml"
    path.write_text("\n---\n".join(json.dumps(d) for d in documents))

    outcome(path)


@given(st.text(max_size=200) | st.binary(max_size=200))
@settings(max_examples=100)
def test_any_content_of_a_file(tmp_path_factory, content):
    """Text or bytes that were never meant as a manifest."""
    path = tmp_path_factory.getbasetemp() / "generated.yaml"
    data = (
        content.encode(errors="replace") if isinstance(content, str) else b""
    )
    path.write_bytes(data if isinstance(content, str) else content)

    outcome(path)
