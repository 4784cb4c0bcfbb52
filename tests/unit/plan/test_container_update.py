"""What Tacker's container update scripts change."""

from __future__ import annotations

import base64
import copy

import pytest

from tacker_k8s_cr.plan import container_update
from tests.functional import manifests

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "a"},
    "stringData": {"key": "planted"},
}


def with_image(image, kind="Deployment"):
    found = copy.deepcopy(manifests.deployment("web"))
    found["kind"] = kind
    found["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return found


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_images_are_those_of_the_new_package(kind):
    """And nothing else: other fields of the new package are not applied."""
    former, new = with_image("a:1", kind), with_image("a:2", kind)
    new["spec"]["replicas"] = 9
    new["spec"]["template"]["spec"]["containers"].append({"name": "more"})

    assert with_image("a:2", kind) == container_update.updated_manifest(
        former, new
    )
    assert None is container_update.updated_manifest(
        former, copy.deepcopy(former)
    )


def test_a_stateful_set_is_left_as_it_is():
    """The scripts do not update it."""
    former = with_image("a:1", "StatefulSet")

    assert None is container_update.updated_manifest(
        former, with_image("a:2", "StatefulSet")
    )


def test_a_config_map_is_replaced():
    """With all of the new package's content."""
    former = manifests.config_map("a", x="1")
    new = {**manifests.config_map("a", y="2"), "immutable": True}

    assert new == container_update.updated_manifest(former, new)
    assert former == container_update.updated_manifest(
        former, copy.deepcopy(former)
    )


def test_the_content_of_a_secret_is_compared_however_it_is_written():
    """The server keeps what is given as text in its encoded form."""
    encoded = base64.b64encode(b"planted").decode()
    obj = {**SECRET, "data": {"key": encoded}}
    del obj["stringData"]

    assert container_update.is_updated(obj, SECRET)
    other = {**SECRET, "stringData": {"key": "other"}}
    assert not container_update.is_updated(obj, other)


def test_only_what_the_object_shows_was_changed_by_the_script():
    """It may have ended half way."""
    live = with_image("a:1")
    live["status"] = {"replicas": 1}

    assert container_update.is_updated(live, with_image("a:1"))
    assert not container_update.is_updated(live, with_image("a:2"))
