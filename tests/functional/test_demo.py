"""The demonstration plays on a real API server, and notices what is wrong."""

from __future__ import annotations

import contextlib
import io

import pytest

from tacker_k8s_cr.plan.placement import NAMESPACE
from tools.demo.__main__ import DemoRun
from tools.demo.__main__ import run_scenario
from tools.demo.custom_resource import CustomResource
from tools.demo.output import DemoOutput
from tools.demo.steps import DemoEnvironment

pytestmark = pytest.mark.plane


@pytest.fixture
def shown_lines():
    """What the demonstration writes."""
    return io.StringIO()


@pytest.fixture
def demo_steps(cluster, shown_lines, tmp_path, unique_name):
    return DemoEnvironment(
        cluster,
        DemoOutput(shown_lines),
        tmp_path,
        is_exclusive=False,
        namespace=f"demo-{unique_name}",
    )


def test_the_scenario_without_cluster_api_passes(demo_steps, shown_lines):
    """Each step has its line; at the end nothing is left of it."""
    stage = DemoRun(demo_steps.show)
    story = CustomResource(demo_steps)

    with contextlib.ExitStack() as stack:
        run_scenario(stage, stack, demo_steps, story)
    demo_steps.show.table(stage.done)

    titles = [step.title for step in stage.done]
    assert [step.title for step in story.steps] == titles[1:-1]
    assert "3 routers available" in shown_lines.getvalue()
    assert not demo_steps.exists


def test_leftovers_are_detected_and_removed(demo_steps):
    """What stays is named; the story ends without it, however it ends."""
    left = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "left", "namespace": demo_steps.namespace},
    }
    instantiate = CustomResource(demo_steps).steps[0]

    with demo_steps.create_namespace() as before:
        demo_steps.cluster.create(left, "test")
        found = demo_steps.find_leftovers(before, seconds=0.0)
        instantiate.act()

    assert ["left"] == [ref.name for ref in found]
    assert not demo_steps.exists
    assert [] == [
        obj["metadata"]["name"]
        for obj in demo_steps.cluster.list_metadata(NAMESPACE)
        if obj["metadata"]["name"] == demo_steps.namespace
    ]
