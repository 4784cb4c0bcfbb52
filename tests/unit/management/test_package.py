"""How the package of a management cluster is put together."""

from __future__ import annotations

import pytest
import yaml

import tacker_k8s_cr as k8s_cr
from tools.management import images
from tools.management import package_folder
from tools.plane.errors import PlaneError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: ${A:=true}", "a: true"),
        ("a: ${A:=:8443},${B:=x}", "a: :8443,set"),
        ("a: ${B}", "a: set"),
        ('a: ${A:=""}', 'a: ""'),
        ("a: ${A-x}", "a: x"),
        ("a: $(A) $A", "a: $(A) $A"),
    ],
)
def test_variables_have_their_values(text: str, expected: str) -> None:
    """That of the sample, else the default in the manifest."""
    assert expected == package_folder.substitute(text, {"B": "set"})


def test_a_variable_without_a_value_is_an_error() -> None:
    """No manifest goes out with a hole in it."""
    with pytest.raises(PlaneError, match="the variable A has no value"):
        package_folder.substitute("a: ${A}", {})


def test_the_package_names_the_images_that_are_made() -> None:
    """Of Cluster API the version is that of the plane's modules."""
    named = set()
    for provider in package_folder.PROVIDERS:
        path = package_folder.SAMPLE / "compose" / provider.name
        overlay = yaml.safe_load((path / "kustomization.yaml").read_text())
        (image,) = overlay["images"]
        named.add(f"{image['newName']}:{image['newTag']}")
    (deployment,) = (
        manifest
        for manifest in k8s_cr.load(package_folder.SAMPLE).manifests
        if manifest["kind"] == "Deployment"
    )
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    assert images.names().keys() == named
    assert images.CERTS == container["image"]
