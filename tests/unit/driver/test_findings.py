"""What is right and wrong with an installation, from what was seen of it."""

import pytest

from tacker_k8s_cr.driver import findings
from tacker_k8s_cr.driver.findings import Carried
from tacker_k8s_cr.driver.findings import Driver
from tacker_k8s_cr.driver.findings import Level
from tacker_k8s_cr.driver.findings import Unfinished
from tacker_k8s_cr.driver.findings import Versions

GOOD = Versions((3, 11), "1.0.0", "16.0.0", "36.0.3")

INFRA = {
    "noop": Driver("noop", "noop"),
    "openstack": Driver("openstack", "openstack"),
    "kubernetes": Driver("kubernetes", "kubernetes"),
    "kubernetes_cr": Driver("kubernetes_cr", "kubernetes"),
    "kubernets_cr": Driver("kubernets_cr", error="no such driver"),
}

MANAGEMENT = {
    "vnflcm_noop": Driver("vnflcm_noop", "vnflcm_noop", hash="n"),
    "kubeconfig-webhook": Driver(
        "kubeconfig-webhook", "kubeconfig-webhook", hash="k"
    ),
    "odd": Driver("odd", "other", hash="o"),
}

FILE = "Scripts/kubeconfig_webhook.py"


def levels(found):
    return [item.level.value for item in found]


def infra(option, names):
    return list(findings.of_infra(option, names.split(","), INFRA))


def management(names):
    return list(findings.of_management(names.split(","), MANAGEMENT))


def test_a_good_environment_has_nothing_to_say():
    """Every version is named all the same."""
    found = list(findings.of_versions(GOOD))

    assert {Level.FINE} == {item.level for item in found}
    assert ["3.11", "1.0.0", "16.0.0", "36.0.3"] == [f.what for f in found]


@pytest.mark.parametrize(
    ("versions", "level", "said"),
    [
        (Versions((3, 9), "1", "16.0.0", "36.0.3"), "error", "3.10 or later"),
        (Versions((3, 11), "1", "", "36.0.3"), "error", "not installed"),
        (Versions((3, 11), "1", "17.0.0", "36.0.3"), "warning", "not known"),
        (Versions((3, 11), "1", "16.0.0", "30.1.0"), "error", "31 or later"),
        (Versions((3, 11), "1", "16.0.0", ""), "error", "not installed"),
    ],
)
def test_a_version_that_does_not_fit_is_named(versions, level, said):
    """With what was wanted; an unknown Tacker is no error yet."""
    [found] = [
        item
        for item in findings.of_versions(versions)
        if item.level is not Level.FINE
    ]

    assert level == found.level.value
    assert said in found.what


@pytest.mark.parametrize("option", findings.OPTIONS)
def test_our_driver_in_the_place_of_the_other_is_right(option):
    """Whatever other types of VIM there are beside."""
    [found] = infra(option, "noop,openstack,kubernetes_cr")

    assert Level.FINE is found.level
    assert f"[tacker] {option}" == found.subject


@pytest.mark.parametrize("option", findings.OPTIONS)
def test_tackers_own_driver_is_found_for_each_option(option):
    """With one option only, things work until the first scale."""
    [found] = infra(option, "openstack,kubernetes")

    assert Level.ERROR is found.level
    assert "get kubernetes; wanted: kubernetes_cr" in found.what
    assert (option, "openstack,kubernetes_cr") == found.fix


def test_both_drivers_keep_the_services_from_starting():
    """Tacker dies of a KeyError, which the finding names."""
    [found] = infra("infra_driver", "noop,kubernetes,kubernetes_cr")

    assert Level.ERROR is found.level
    assert "KeyError: <class 'type'>" in found.what
    assert ("infra_driver", "noop,kubernetes_cr") == found.fix


def test_a_misspelt_driver_is_found():
    """Tacker only logs it, and has no driver for the VIM's type."""
    found = infra("infra_driver", "noop,kubernets_cr")

    assert ["error", "error"] == levels(found)
    assert "kubernets_cr: no such driver" == found[0].what
    assert "get none" in found[1].what


def test_a_driver_that_cannot_be_loaded_is_named_once():
    """It is listed, so there is nothing to change in the option."""
    broken = Driver("kubernetes_cr", error="cannot be loaded: ImportError")
    [found] = findings.of_infra(
        "infra_driver", ["kubernetes_cr"], {"kubernetes_cr": broken}
    )

    assert "kubernetes_cr: cannot be loaded: ImportError" == found.what
    assert found.fix is None


def test_the_management_driver_is_looked_for():
    """Without it only packages that name it suffer: a warning."""
    assert ["fine"] == levels(management("vnflcm_noop,kubeconfig-webhook"))
    [found] = management("vnflcm_noop")
    assert Level.WARNING is found.level
    assert (
        "vnflcm_mgmt_driver",
        "vnflcm_noop,kubeconfig-webhook",
    ) == found.fix


def test_a_management_driver_of_another_type_is_an_error():
    """Tacker indexes by the name and looks up by the type."""
    found = management("kubeconfig-webhook,odd")

    assert ["error", "fine"] == levels(found)
    assert "odd says that its type is other" in found[0].what


@pytest.mark.parametrize(
    ("carried", "names", "level", "said"),
    [
        (
            Carried("p", "kubeconfig-webhook", FILE, "k"),
            ["kubeconfig-webhook"],
            "fine",
            "1 carry the installed driver's file",
        ),
        (
            Carried("p", "kubeconfig-webhook", FILE, "old"),
            ["kubeconfig-webhook"],
            "error",
            "is not the installed kubeconfig-webhook",
        ),
        (
            Carried("p", "kubeconfig-webhook", FILE, ""),
            ["kubeconfig-webhook"],
            "error",
            f"names {FILE}, which it does not have",
        ),
        (
            Carried("p", "kubeconfig-webhook", FILE, "k"),
            [],
            "error",
            "needs kubeconfig-webhook",
        ),
    ],
)
def test_a_package_has_to_carry_the_installed_file(
    carried, names, level, said
):
    """Tacker compares the two by hash in each operation."""
    [found] = findings.of_packages([carried], names, MANAGEMENT)

    assert level == found.level.value
    assert said in found.what


def test_scripts_of_v2_are_no_drivers():
    """Their names are not those of installed drivers."""
    script = Carried("p", "my-script", "../Scripts/x.py", "x")

    assert [] == list(findings.of_packages([script], [], MANAGEMENT))


def test_an_operation_that_waits_is_a_warning():
    """Who began it should end it, before drivers are switched."""
    waiting = Unfinished("v2", "op-1", "HEAL", "i-1")
    [found] = findings.of_unfinished([waiting])

    assert Level.WARNING is found.level
    assert "v2 operation op-1" == found.subject
    assert "HEAL of the instance i-1 is in FAILED_TEMP" in found.what


@pytest.mark.parametrize(
    ("wanted", "named", "faults", "found"),
    [
        (True, True, (), ["fine"]),
        (True, True, ("a", "b"), ["error", "error"]),
        (True, False, (), ["error"]),
        (False, True, (), ["warning"]),
    ],
)
def test_the_v2_api_is_looked_at(wanted, named, faults, found):
    """It is served with v1's driver, if this Tacker is a known one."""
    assert found == levels(findings.of_v2(wanted, named, faults))


def test_the_lines_to_change_are_those_of_the_options():
    """One for each option, all fixes in it."""
    found = [
        *infra("vnflcm_infra_driver", "openstack,kubernetes"),
        *infra("infra_driver", "noop,kubernetes_cr"),
        *management("vnflcm_noop"),
        *findings.of_packages(
            [Carried("p", "odd", FILE, "o")], ["vnflcm_noop"], MANAGEMENT
        ),
    ]

    assert (
        "[tacker]",
        "vnflcm_infra_driver = openstack,kubernetes_cr",
        "vnflcm_mgmt_driver = vnflcm_noop,kubeconfig-webhook,odd",
    ) == findings.lines(found)
    assert () == findings.lines(infra("infra_driver", "kubernetes_cr"))
