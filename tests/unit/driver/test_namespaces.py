"""In which namespace an instance is when its request names none."""

import pytest

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import namespaces
from tacker_k8s_cr.driver.additional_params import RequestParams
from tests.functional import manifests
from tests.unit import packages

A = manifests.config_map("a")
B = manifests.config_map("b")
EDGE = manifests.config_map("a", "edge")
DEFINITION = manifests.definition("example.org", "Zone")
DEFINITION["spec"]["scope"] = "Cluster"
ZONE = {
    "apiVersion": "example.org/v1",
    "kind": "Zone",
    "metadata": {"name": "z"},
}


@pytest.mark.parametrize(
    ("found", "given"),
    [
        ("edge", [EDGE, manifests.config_map("b", "edge")]),
        ("edge", [manifests.namespace("edge"), EDGE]),
        ("edge", [EDGE, DEFINITION, ZONE]),
        ("", [A, B]),
        ("", [EDGE, B]),
        ("", [EDGE, manifests.config_map("b", "core")]),
        # Its kind may be one with namespaces.
        ("", [EDGE, ZONE]),
        ("", [manifests.namespace("edge")]),
        ("", []),
    ],
)
def test_the_namespace_that_all_manifests_name(found, given):
    """One without a namespace counts, unless its kind has none."""
    assert found == namespaces.common_namespace(given)


def test_manifests_name_the_namespace_where_the_request_does_not():
    """As with Tacker's own driver: request, manifests, ``default``."""
    package = packages.make_package(EDGE)

    assert (
        "edge"
        == namespaces.with_namespace(
            additional_params.read({}), package
        ).namespace
    )
    said = additional_params.read({"namespace": "core"})
    assert said is namespaces.with_namespace(said, package)
    nothing = RequestParams()
    assert nothing is namespaces.with_namespace(
        nothing, packages.make_package(A)
    )


@pytest.mark.parametrize(
    ("warned", "params", "policy"),
    [
        (True, {"namespace": "core"}, "default"),
        (False, {"namespace": "core"}, "force"),
        (False, {"namespace": "edge"}, "default"),
        (False, {}, "default"),
        (
            False,
            {
                "namespace": "core",
                "tacker_k8s_cr": {"namespace_mode": "strict"},
            },
            "default",
        ),
    ],
)
def test_a_namespace_other_than_that_of_the_request_is_a_warning(
    warned, params, policy
):
    """Tacker's own driver would move the object; the option is named."""
    package = packages.make_package(EDGE, B)

    found = namespaces.with_warnings(
        additional_params.read(params), package, policy
    )

    assert warned == bool(found.warnings)
    if warned:
        [said] = found.warnings
        assert "namespace core, but manifests name edge" in said
        assert "namespace_mode = force" in said
