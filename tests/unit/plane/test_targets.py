"""Which cluster is used, where things lie, and what the test kinds do."""

from __future__ import annotations

import os
import pathlib

import pytest

from tools.plane import stages
from tools.plane import target
from tools.plane.errors import PlaneError
from tools.plane.folders import Folders
from tools.plane.target import Target


def test_without_kubeconfig_it_is_the_local_plane():
    """Its own kubeconfig is used, and it is started if it does not run."""
    found = target.choose({"PLANE_RUN": "/p"})

    assert pathlib.Path("/p/admin.kubeconfig") == found.kubeconfig
    assert found.can_start


def test_kubeconfig_names_another_cluster(tmp_path):
    """It is taken as it is."""
    path = tmp_path / "config"
    path.touch()

    found = target.choose({"PLANE_RUN": "/p", "KUBECONFIG": str(path)})

    assert Target(path, is_local=False) == found


def test_kubeconfig_may_name_the_local_plane(tmp_path):
    """It has all that tests need, but the user that named it started it.

    One run would else end the plane that other runs use.
    """
    own = tmp_path / "admin.kubeconfig"
    own.touch()
    link = tmp_path / "link"
    link.symlink_to(own)

    found = target.choose(
        {"PLANE_RUN": str(tmp_path), "KUBECONFIG": str(link)}
    )

    assert Target(own, is_local=True) == found
    assert not found.can_start


@pytest.mark.parametrize(
    ("named", "said"),
    [("/a:/b", "several"), ("/nowhere/config", "does not exist")],
)
def test_an_unintended_kubeconfig_is_refused(named, said):
    """No test uses a cluster that was not named."""
    with pytest.raises(PlaneError, match=said):
        target.choose({"PLANE_RUN": "/p", "KUBECONFIG": named})


def test_a_complete_cluster_misses_nothing():
    """Cluster API's three parts and kwok's Stages are there."""
    served = [name for _, names in target.NEEDED.values() for name in names]

    assert {} == target.missing_features([*served, "pods"])


def test_missing_parts_of_a_cluster_are_named():
    """Another infrastructure provider is not enough for the samples."""
    found = target.missing_features(
        [
            "clusters.cluster.x-k8s.io",
            "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io",
            "stages.kwok.x-k8s.io",
            "widgets.demo.example.org",
        ]
    )

    assert ["capi"] == list(found)
    assert "devclusters.infrastructure.cluster.x-k8s.io" in found["capi"]


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"PLANE_RUN": "/a", "XDG_RUNTIME_DIR": "/b"}, "/a"),
        ({"XDG_RUNTIME_DIR": "/b"}, "/b/tacker-k8s-cr-plane"),
    ],
)
def test_the_run_folder_can_be_chosen(environ, folder):
    """A name of one's own comes before the session's folder."""
    assert pathlib.Path(folder) == Folders.from_environ(environ).run


def test_each_user_has_a_run_folder():
    """Without a session's folder the user's number is in the name."""
    assert Folders.from_environ({}).run.name.endswith(f"-{os.getuid()}")


def test_a_run_folder_that_is_not_a_folder_is_refused(tmp_path):
    """A link that another user may have created is not followed."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(PlaneError, match="not a folder of this user"):
        Folders(tmp_path / "run").make()


def test_a_readable_run_folder_is_restricted(tmp_path):
    """Keys and tokens go into it."""
    tmp_path.chmod(0o755)

    Folders(tmp_path).make()

    assert 0 == tmp_path.stat().st_mode & 0o077


def test_the_documents_of_the_stages_kinds_are_waited_for():
    """kwok tries a kind once, and needs its OpenAPI document."""
    objects = [
        {"kind": "Stage", "spec": {"resourceRef": {"apiGroup": "a.org/v1"}}},
        {"kind": "Stage", "spec": {"resourceRef": {"kind": "Pod"}}},
        {"kind": "CustomResourceDefinition"},
    ]

    assert {"apis/a.org/v1", "api/v1"} == stages.groups(objects)


def test_each_size_of_a_widget_has_a_stage():
    """What the description of the kind promises is there."""
    (kind,) = stages.documents([stages.HERE / "kinds/widget.yaml"])
    found = stages.documents([stages.HERE / "stages/widget.yaml"])

    assert "Widget" == kind["spec"]["names"]["kind"]
    assert {"slow", "broken", "failed", "ready", "adopt", "release"} == {
        one["metadata"]["name"].removeprefix("widget-") for one in found
    }
