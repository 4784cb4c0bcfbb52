"""The demonstration plays on a real API server, and notices what is wrong."""

from __future__ import annotations

import contextlib
import io

import pytest

from tacker_k8s_cr.planning.placing import NAMESPACE
from tools.demo.__main__ import Stage
from tools.demo.__main__ import played
from tools.demo.custom_resource import CustomResource
from tools.demo.scene import Scene
from tools.demo.show import Show

pytestmark = pytest.mark.plane


@pytest.fixture
def shown():
    """What the demonstration writes."""
    return io.StringIO()


@pytest.fixture
def scene(cluster, shown, tmp_path, unique):
    return Scene(
        cluster, Show(shown), tmp_path, alone=False, namespace=f"demo-{unique}"
    )


def test_the_story_without_cluster_api_goes_as_expected(scene, shown):
    """Each step has its line; at the end nothing is left of it."""
    stage = Stage(scene.show)
    story = CustomResource(scene)

    with contextlib.ExitStack() as stack:
        played(stage, stack, scene, story)
    scene.show.table(stage.done)

    titles = [step.title for step in stage.done]
    assert [step.title for step in story.steps] == titles[1:-1]
    assert "3 routers available" in shown.getvalue()
    assert not scene.exists


def test_what_is_left_is_noticed_and_taken_away(scene):
    """What stays is named; the story ends without it, however it ends."""
    left = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "left", "namespace": scene.namespace},
    }
    instantiate = CustomResource(scene).steps[0]

    with scene.held() as before:
        scene.cluster.create(left, "test")
        found = scene.left(before, seconds=0.0)
        instantiate.act()

    assert ["left"] == [ref.name for ref in found]
    assert not scene.exists
    assert [] == [
        obj["metadata"]["name"]
        for obj in scene.cluster.list_metadata(NAMESPACE)
        if obj["metadata"]["name"] == scene.namespace
    ]
