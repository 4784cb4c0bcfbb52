"""Which entries of vdu_mapping concern a package."""

import dataclasses

import pytest

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import vdu_mapping
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tests.functional import manifests
from tests.unit import packages

WEB, DB = manifests.deployment("web"), manifests.deployment("db")
REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectRulesReview",
    "metadata": {},
}
VNFD = Vnfd(
    id="v",
    flavour="simple",
    vdus={name: Vdu(name, name, 0, None) for name in ("front", "back")},
    aspects={},
    initial={},
    levels={},
    level_numbers={},
    default_level="",
)


def reduced(mapping, *given):
    params = {
        "vdu_mapping": {
            vdu: {"kind": "Deployment", "name": name}
            for vdu, name in mapping.items()
        }
    }
    package = dataclasses.replace(packages.make_package(*given), vnfd=VNFD)
    asked, found = vdu_mapping.drop_unmapped(
        additional_params.read(params), package
    )
    return asked.vdu_mapping, found.warnings


FRONT = {"front": "Deployment/web"}
BOTH = {**FRONT, "back": "Deployment/db"}


@pytest.mark.parametrize(
    ("expected", "mapping", "given", "warning"),
    [
        (BOTH, {"front": "web", "back": "db"}, (WEB, DB), ""),
        (FRONT, {"front": "web"}, (WEB, DB, REVIEW), ""),
        (
            FRONT,
            {"front": "web", "back": "db"},
            (WEB, REVIEW),
            "vdu_mapping: Deployment/db, the object of VDU back, is not among",
        ),
        (
            FRONT,
            {"front": "web", "side": "db"},
            (WEB, DB),
            "vdu_mapping: the VNFD does not have the VDU side",
        ),
    ],
)
def test_entries_without_vdu_or_object_are_ignored(
    expected, mapping, given, warning
):
    """Tacker's own driver ignores them too; here each is a warning."""
    found, warnings = reduced(mapping, *given)

    assert expected == found
    assert bool(warning) == bool(warnings)
    assert warning in "".join(warnings)


def test_a_name_that_is_probably_misspelt_stays():
    """A workload is left without an entry, so the operation refuses it."""
    mapping = {"front": "web", "back": "bd"}

    assert reduced(mapping, WEB, DB) == (
        {**FRONT, "back": "Deployment/bd"},
        (),
    )


def test_other_keys_of_an_entry_are_ignored():
    """Requests for charts have helmreleasename beside kind and name."""
    entry = {"kind": "Deployment", "name": "web", "helmreleasename": "a"}

    asked = additional_params.read({"vdu_mapping": {"front": entry}})

    assert FRONT == asked.vdu_mapping


def test_a_package_without_a_vnfd_keeps_the_mapping():
    """The operation itself reports what is wrong with it."""
    entry = {"kind": "Deployment", "name": "web"}
    asked = additional_params.read({"vdu_mapping": {"front": entry}})
    package = packages.make_package(WEB)

    assert (asked, package) == vdu_mapping.drop_unmapped(asked, package)
