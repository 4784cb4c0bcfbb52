"""Rules of the installation check."""

from oslo_upgradecheck.upgradecheck import Code
import pytest

from tacker_k8s_cr.driver.check import check_rules
from tacker_k8s_cr.driver.check.check_rules import DriverStatus
from tacker_k8s_cr.driver.check.check_rules import PackagedDriver
from tacker_k8s_cr.driver.check.check_rules import Unfinished
from tacker_k8s_cr.driver.check.check_rules import Versions

GOOD = Versions((3, 11), "1.0.0", "16.0.0", "36.0.3")

INFRA = {
    "noop": DriverStatus("noop", "noop"),
    "openstack": DriverStatus("openstack", "openstack"),
    "kubernetes": DriverStatus("kubernetes", "kubernetes"),
    "kubernetes_cr": DriverStatus("kubernetes_cr", "kubernetes"),
    "kubernets_cr": DriverStatus("kubernets_cr", error="no such driver"),
}

MANAGEMENT = {
    "vnflcm_noop": DriverStatus("vnflcm_noop", "vnflcm_noop", hash="n"),
    "kubeconfig-webhook": DriverStatus(
        "kubeconfig-webhook", "kubeconfig-webhook", hash="k"
    ),
    "odd": DriverStatus("odd", "other", hash="o"),
}

FILE = "Scripts/kubeconfig_webhook.py"


def levels(found):
    return [item.level for item in found]


def infra(option, names):
    return list(
        check_rules.check_infra_drivers(option, names.split(","), INFRA)
    )


def management(names):
    return list(
        check_rules.check_management_drivers(names.split(","), MANAGEMENT)
    )


def test_a_valid_environment_has_no_problems():
    """Every version is listed anyway."""
    found = list(check_rules.check_versions(GOOD))

    assert {Code.SUCCESS} == {item.code for item in found}
    assert ["3.11", "1.0.0", "16.0.0", "36.0.3"] == [f.details for f in found]


@pytest.mark.parametrize(
    ("versions", "level", "said"),
    [
        (
            Versions((3, 9), "1", "16.0.0", "36.0.3"),
            "failure",
            "3.10 or later",
        ),
        (Versions((3, 11), "1", "", "36.0.3"), "failure", "not installed"),
        (
            Versions((3, 11), "1", "17.0.0", "36.0.3"),
            "warning",
            "not tested with 17.0.0",
        ),
        (Versions((3, 11), "1", "16.0.0", "30.1.0"), "failure", "31 or later"),
        (Versions((3, 11), "1", "16.0.0", ""), "failure", "not installed"),
    ],
)
def test_an_unsupported_version_is_named(versions, level, said):
    """With the expected one; an unknown Tacker is not an error yet."""
    [found] = [
        item
        for item in check_rules.check_versions(versions)
        if item.code is not Code.SUCCESS
    ]

    assert level == found.level
    assert said in found.details


@pytest.mark.parametrize("option", check_rules.OPTIONS)
def test_our_driver_in_the_place_of_the_other_is_right(option):
    """Whatever other types of VIM there are beside."""
    [found] = infra(option, "noop,openstack,kubernetes_cr")

    assert Code.SUCCESS is found.code
    assert f"[tacker] {option}" == found.subject


@pytest.mark.parametrize("option", check_rules.OPTIONS)
def test_tackers_own_driver_is_found_for_each_option(option):
    """With one option only, things work until the first scale."""
    [found] = infra(option, "openstack,kubernetes")

    assert Code.FAILURE is found.code
    assert "expected kubernetes_cr, got kubernetes. " in found.details
    assert (option, "openstack,kubernetes_cr") == found.fix


def test_both_drivers_keep_the_services_from_starting():
    """Tacker dies of a KeyError, which the finding names."""
    [found] = infra("infra_driver", "noop,kubernetes,kubernetes_cr")

    assert Code.FAILURE is found.code
    assert "KeyError: <class 'type'>" in found.details
    assert ("infra_driver", "noop,kubernetes_cr") == found.fix


def test_a_misspelt_driver_is_found():
    """Tacker only logs it, and has no driver for the VIM's type."""
    found = infra("infra_driver", "noop,kubernets_cr")

    assert ["failure", "failure"] == levels(found)
    assert "kubernets_cr: no such driver" == found[0].details
    assert "expected kubernetes_cr, got none" in found[1].details


def test_a_driver_that_cannot_be_loaded_is_named_once():
    """It is listed, so there is nothing to change in the option."""
    broken = DriverStatus(
        "kubernetes_cr", error="cannot be loaded: ImportError"
    )
    [found] = check_rules.check_infra_drivers(
        "infra_driver", ["kubernetes_cr"], {"kubernetes_cr": broken}
    )

    assert "kubernetes_cr: cannot be loaded: ImportError" == found.details
    assert found.fix is None


def test_the_management_driver_is_looked_for():
    """Without it only packages that name it suffer: a warning."""
    assert ["success"] == levels(management("vnflcm_noop,kubeconfig-webhook"))
    [found] = management("vnflcm_noop")
    assert Code.WARNING is found.code
    assert (
        "vnflcm_mgmt_driver",
        "vnflcm_noop,kubeconfig-webhook",
    ) == found.fix


def test_a_management_driver_of_another_type_is_an_error():
    """Tacker indexes by the name and looks up by the type."""
    found = management("kubeconfig-webhook,odd")

    assert ["failure", "success"] == levels(found)
    assert "odd reports the type other" in found[0].details


@pytest.mark.parametrize(
    ("carried", "names", "level", "said"),
    [
        (
            PackagedDriver("p", "kubeconfig-webhook", FILE, "k"),
            ["kubeconfig-webhook"],
            "success",
            "1 contain the installed driver's file",
        ),
        (
            PackagedDriver("p", "kubeconfig-webhook", FILE, "old"),
            ["kubeconfig-webhook"],
            "failure",
            "differs from the installed kubeconfig-webhook",
        ),
        (
            PackagedDriver("p", "kubeconfig-webhook", FILE, ""),
            ["kubeconfig-webhook"],
            "failure",
            f"{FILE} is missing in the package",
        ),
        (
            PackagedDriver("p", "kubeconfig-webhook", FILE, "k"),
            [],
            "failure",
            "requires kubeconfig-webhook",
        ),
    ],
)
def test_a_package_has_to_carry_the_installed_file(
    carried, names, level, said
):
    """Tacker compares the two by hash in each operation."""
    [found] = check_rules.check_packages([carried], names, MANAGEMENT)

    assert level == found.level
    assert said in found.details


def test_scripts_of_v2_are_not_drivers():
    """Their names are not those of installed drivers."""
    script = PackagedDriver("p", "my-script", "../Scripts/x.py", "x")

    assert [] == list(check_rules.check_packages([script], [], MANAGEMENT))


def test_an_operation_that_waits_is_a_warning():
    """Who began it should end it, before drivers are switched."""
    waiting = Unfinished("v2", "op-1", "HEAL", "i-1")
    [found] = check_rules.check_unfinished([waiting])

    assert Code.WARNING is found.code
    assert "v2 operation op-1" == found.subject
    assert "HEAL of instance i-1 is in FAILED_TEMP" in found.details


@pytest.mark.parametrize(
    ("wanted", "named", "faults", "found"),
    [
        (True, True, (), ["success"]),
        (True, True, ("a", "b"), ["failure", "failure"]),
        (True, False, (), ["failure"]),
        (False, True, (), ["warning"]),
    ],
)
def test_the_v2_api_is_looked_at(wanted, named, faults, found):
    """It is served with v1's driver, if this Tacker is a known one."""
    assert found == levels(check_rules.check_v2(wanted, named, faults))


def test_the_lines_to_change_are_those_of_the_options():
    """One for each option, all fixes in it."""
    found = [
        *infra("vnflcm_infra_driver", "openstack,kubernetes"),
        *infra("infra_driver", "noop,kubernetes_cr"),
        *management("vnflcm_noop"),
        *check_rules.check_packages(
            [PackagedDriver("p", "odd", FILE, "o")],
            ["vnflcm_noop"],
            MANAGEMENT,
        ),
    ]

    assert (
        "[tacker]",
        "vnflcm_infra_driver = openstack,kubernetes_cr",
        "vnflcm_mgmt_driver = vnflcm_noop,kubeconfig-webhook,odd",
    ) == check_rules.fix_lines(found)
    assert () == check_rules.fix_lines(infra("infra_driver", "kubernetes_cr"))
