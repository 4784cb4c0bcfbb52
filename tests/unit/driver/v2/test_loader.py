"""This driver replaces upstream's in the conductor of Tacker's v2."""

import importlib
import inspect
import logging
import subprocess
import sys
import types
import warnings

import pytest
from tacker.common import driver_manager

from tacker_k8s_cr.driver.v2 import loader

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    DISPATCH = importlib.import_module(loader.DISPATCH)
    EXCEPTIONS = importlib.import_module(
        "tacker.sol_refactored.common.exceptions"
    )
    SOL = importlib.import_module("tacker.sol_refactored.objects")
    UPSTREAM = importlib.import_module(loader.UPSTREAM)


@pytest.fixture(autouse=True)
def _as_upstream_has_it(monkeypatch, options):
    """Nothing is bound when a test begins, nor when it has ended."""
    monkeypatch.setattr(DISPATCH, "kubernetes", UPSTREAM)
    loader._log_disabled.cache_clear()


@pytest.fixture
def replace_module(monkeypatch):
    """Put another conductor's module instead of Tacker's."""

    def put(**differences):
        found = types.ModuleType(loader.DISPATCH)
        found.__dict__.update(
            {
                "kubernetes": DISPATCH.kubernetes,
                "VnfLcmDriverV2": DISPATCH.VnfLcmDriverV2,
                **differences,
            }
        )
        monkeypatch.setitem(sys.modules, loader.DISPATCH, found)
        return found

    return put


def upstream_with(**methods):
    """Upstream's module with another driver class."""
    found = types.ModuleType(loader.UPSTREAM)
    own = DISPATCH.kubernetes.Kubernetes
    found.Kubernetes = type("Kubernetes", (own,), methods)
    return found


def log_messages(caplog, level):
    return [
        record.getMessage()
        for record in caplog.records
        if (record.name, record.levelno) == (loader.__name__, level)
    ]


def test_the_conductor_finds_the_driver(caplog):
    """It is bound once and logged once, with both versions.

    A driver is created for each operation, as upstream's is.
    """
    caplog.set_level(logging.INFO)
    own = DISPATCH.kubernetes

    loader.install()
    bound = DISPATCH.kubernetes
    loader.install()

    assert bound is DISPATCH.kubernetes
    assert "KubernetesCrV2" == type(bound.Kubernetes()).__name__
    assert bound.Kubernetes() is not bound.Kubernetes()
    [line] = log_messages(caplog, logging.INFO)
    assert "v2 API of Tacker 16.0.0" in line
    assert "kubernetes_cr " in line
    assert loader.UPSTREAM == own.__name__
    assert inspect.isclass(own.Kubernetes)


def test_other_kinds_of_vims_keep_their_drivers():
    """OpenStack, Helm and Terraform go where they went before."""
    names = ("openstack", "helm", "terraform")
    before = {name: getattr(DISPATCH, name) for name in names}

    loader.install()

    assert before == {name: getattr(DISPATCH, name) for name in names}
    for name in ("openstack", "helm"):
        module = sys.modules[getattr(DISPATCH, name).__name__]
        assert getattr(DISPATCH, name) is module


@pytest.mark.parametrize("kind", ["ETSINFV.OPENSTACK_KEYSTONE.V_3", "other"])
def test_a_vim_of_another_type_does_not_reach_our_driver(kind):
    """Tacker's dispatch answers as it did; ours would have failed."""
    loader.install()
    vim_info = types.SimpleNamespace(vimType=kind)
    tacker = DISPATCH.VnfLcmDriverV2()

    with pytest.raises(EXCEPTIONS.DbSyncNoDiff):
        tacker.diff_check_inst(None, vim_info)
    with pytest.raises(EXCEPTIONS.DbSyncNoDiff):
        tacker.sync_db(None, None, vim_info)


def test_helm_keeps_its_driver():
    """A VIM for charts gets upstream's driver for them."""
    loader.install()
    vim_info = SOL.VimConnectionInfo(
        vimId="v",
        vimType="ETSINFV.HELM.V_3",
        interfaceInfo={"endpoint": "https://127.0.0.1:9"},
        accessInfo={},
    )
    asked = []

    class Helm:
        def diff_check_inst(self, inst, vim):
            asked.append((inst, vim))

    own = DISPATCH.helm.Helm
    assert "tacker.sol_refactored.infra_drivers.kubernetes.helm" == (
        own.__module__
    )
    DISPATCH.helm.Helm = Helm
    try:
        DISPATCH.VnfLcmDriverV2().diff_check_inst("an instance", vim_info)
    finally:
        DISPATCH.helm.Helm = own

    assert [("an instance", vim_info)] == asked


def test_it_can_be_switched_off(caplog, options):
    """Upstream's driver stays, and the log reports it once."""
    options(v2=False)
    caplog.set_level(logging.INFO)
    own = DISPATCH.kubernetes

    loader.install()
    loader.install()

    assert own is DISPATCH.kubernetes
    assert [
        "[tacker_k8s_cr] v2 is false: Tacker's own driver serves the v2 API"
    ] == log_messages(caplog, logging.INFO)


def test_nothing_happens_outside_the_conductor(monkeypatch, caplog):
    """The server has no such module: it is neither imported nor logged."""
    monkeypatch.delitem(sys.modules, loader.DISPATCH)

    loader.install()

    assert loader.DISPATCH not in sys.modules
    assert [] == caplog.records


@pytest.mark.requirement("TK-18")
def test_tacker_is_as_it_is_known_to_be():
    """The installed Tacker has the signatures that are relied upon."""
    loader.check(DISPATCH)

    assert set(loader.CALLS) == {
        name
        for name in vars(
            importlib.import_module("tacker_k8s_cr.driver.v2.driver")
        )["KubernetesCrV2"].__dict__
        if not name.startswith("_")
    }


@pytest.mark.parametrize("call", loader.CALLS)
def test_our_driver_takes_what_upstream_takes(call):
    """In number and order: Tacker calls by position."""
    ours = importlib.import_module("tacker_k8s_cr.driver.v2.driver")
    method = getattr(ours.KubernetesCrV2, call)
    names = list(inspect.signature(method).parameters)

    assert len(loader.CALLS[call]) == len(names)
    assert list(loader.CALLS[call])[1] == names[1]


def test_another_signature_is_refused_loudly(replace_module, caplog):
    """Every operation reports what is wrong and what to do.

    None falls to upstream's driver, which would leave out custom resources.
    """

    def scale(self, req, inst, vnfd):
        raise AssertionError("it was called")

    module = replace_module(kubernetes=upstream_with(scale=scale))

    loader.install()

    for call in loader.CALLS:
        with pytest.raises(EXCEPTIONS.SolHttpError503) as caught:
            getattr(module.kubernetes.Kubernetes(), call)(1, 2, 3, 4, 5)
        assert (
            "Kubernetes.scale: wanted (self, req, inst, grant_req, grant, "
            "vnfd), found (self, req, inst, vnfd)"
        ) in caught.value.detail
        assert "[tacker_k8s_cr] v2 = false" in caught.value.detail
    [line] = log_messages(caplog, logging.ERROR)
    assert "Tacker 16.0.0 is not known to this version" in line

    loader.install()
    assert 1 == len(log_messages(caplog, logging.ERROR))


def test_a_call_that_is_new_is_refused(replace_module):
    """Our driver would miss the method in the middle of an operation."""

    class VnfLcmDriverV2(DISPATCH.VnfLcmDriverV2):
        def change_ext_conn_process(self, req):
            kubernetes.Kubernetes().change_ext_conn(req)  # noqa: F821

    VnfLcmDriverV2 = type(  # noqa: N806
        "VnfLcmDriverV2",
        (),
        {**vars(DISPATCH.VnfLcmDriverV2), **vars(VnfLcmDriverV2)},
    )
    module = replace_module(VnfLcmDriverV2=VnfLcmDriverV2)

    loader.install()

    with pytest.raises(
        EXCEPTIONS.SolHttpError503,
        match="change_ext_conn_process is new",
    ):
        module.kubernetes.Kubernetes().heal()


def test_a_foreign_plug_in_is_not_replaced(replace_module):
    """Who bound the name before us is named."""
    module = replace_module(
        kubernetes=types.SimpleNamespace(Kubernetes=object)
    )

    loader.install()

    with pytest.raises(EXCEPTIONS.SolHttpError503, match="found namespace"):
        module.kubernetes.Kubernetes().heal()


def test_an_option_that_cannot_be_read_is_refused(options, monkeypatch):
    """An unreadable switch does not leave the work to upstream's driver."""
    monkeypatch.setenv("OS_TACKER_K8S_CR__V2", "perhaps")

    loader.install()

    with pytest.raises(EXCEPTIONS.SolHttpError503, match="perhaps"):
        DISPATCH.kubernetes.Kubernetes().heal()


def test_a_conductor_with_another_lookup_does_not_start(replace_module):
    """Where binding the name would not be noticed, nothing else is loud.

    stevedore goes on without a plug-in that raises an exception.
    """
    replace_module(VnfLcmDriverV2=type("VnfLcmDriverV2", (), {}))

    with pytest.raises(SystemExit, match="does not use kubernetes"):
        driver_manager.DriverManager(
            "tacker.tacker.vnfm.drivers", ["noop", "kubernetes_cr"]
        )


def test_a_refusing_driver_has_nothing_else():
    """What Tacker does not call does not exist."""
    with pytest.raises(AttributeError, match="something"):
        _ = loader.UnavailableDriver("why").something


IN_A_CONDUCTOR = """
import sys, threading, warnings
warnings.simplefilter("ignore")
import tacker.conductor.conductor_server
from tacker.common import driver_manager
from tacker.sol_refactored.conductor import vnflcm_driver_v2 as dispatch
own = dispatch.kubernetes.Kubernetes
import tacker_k8s_cr.driver.v1.infra_driver
assert dispatch.kubernetes.Kubernetes is own, "bound at import"
before = threading.enumerate()
for _ in range(4):
    driver_manager.DriverManager(
        "tacker.tacker.vnfm.drivers", ["noop", "kubernetes_cr"])
assert before == threading.enumerate()
from tacker_k8s_cr.driver.v2 import driver
assert dispatch.kubernetes.Kubernetes is driver.KubernetesCrV2
print("bound")
"""


def test_the_conductor_binds_it_when_it_makes_the_v1_driver():
    """Importing changes nothing; making the driver starts no thread."""
    found = subprocess.run(
        [sys.executable, "-c", IN_A_CONDUCTOR],
        capture_output=True,
        check=False,
        text=True,
    )

    assert "bound\n" == found.stdout, found.stderr
