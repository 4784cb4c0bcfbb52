"""Which calls of v1 go to Tacker's own driver, and how."""

import types

import pytest
from tacker import objects
from tacker.vnfm.infra_drivers.kubernetes import kubernetes_driver

from tacker_k8s_cr.driver.v1 import delegate
from tacker_k8s_cr.driver.v1 import infra_driver
from tacker_k8s_cr.driver.v1 import mapping
from tests import tacker_host

ID = "3f0d2a5e-5d2c-4c9e-8a7e-0f1e2d3c4b5a"
OURS = f"edge/{ID}"
THEIRS = "{'namespace': 'default', 'name': 'web', 'kind': 'Deployment'}"


class Recorder:
    """Another driver, which records its calls."""

    def __getattr__(self, name):
        return lambda **call: (name, call)


def named(name):
    """A method that gives its own name."""
    return lambda self, **call: name


Driver = delegate.delegates_to(Recorder)(
    type("Driver", (), {name: named(name) for name in delegate.CALLS})
)
"""Ours, of which every method gives its own name."""


@pytest.fixture
def running(tmp_path):
    (tmp_path / "vim_keys").mkdir()
    with tacker_host.running_operation(tmp_path / "vim_keys") as found:
        yield found


def instance(instance_id=None, state="INSTANTIATED", metadata=None, **params):
    return objects.VnfInstance(
        id=ID,
        instantiation_state=state,
        vnf_metadata=metadata or {},
        instantiated_vnf_info=objects.InstantiatedVnfInfo(
            instance_id=instance_id, additional_params=params
        ),
    )


def call_of(name, instance_id, **others):
    """A call of this method, about an instance with this reference."""
    about = {"instance_id": instance_id}
    return {
        "vnf_instance": instance(instance_id),
        "instantiate_vnf_req": objects.InstantiateVnfRequest(
            additional_params={}
        ),
        "vnf_id": instance_id,
        "vnf_dict": about,
        "vnf_info": about,
        "policy": about,
        **others,
    }


@pytest.mark.parametrize("name", delegate.CALLS)
def test_a_call_for_another_drivers_instance_is_passed_on(name):
    """With the arguments that Tacker gave, unchanged."""
    call = call_of(name, THEIRS)

    assert (name, call) == getattr(Driver(), name)(**call)


@pytest.mark.parametrize("name", delegate.CALLS)
def test_a_call_for_a_managed_instance_is_handled(name):
    """Its reference has the form that we give."""
    assert name == getattr(Driver(), name)(**call_of(name, OURS))


@pytest.mark.parametrize("name", delegate.CALLS)
def test_tackers_own_driver_has_what_is_passed_on(name):
    """A call that it does not know would be an error of another kind."""
    assert callable(getattr(kubernetes_driver.Kubernetes, name))
    assert callable(getattr(infra_driver.KubernetesCr, name))


@pytest.mark.parametrize("use_helm", [True, "true", "True"])
def test_a_request_for_helm_is_passed_on(use_helm):
    """Charts are what Tacker's own driver does."""
    call = {
        "vnf_instance": instance(state="NOT_INSTANTIATED"),
        "instantiate_vnf_req": objects.InstantiateVnfRequest(
            additional_params={"use_helm": use_helm}
        ),
    }

    assert delegate.by_request(call)


def test_what_helm_began_is_passed_on_when_it_ended_early():
    """Its rollback finds no reference, but the parameters."""
    began = instance(state="NOT_INSTANTIATED", use_helm="true")

    assert delegate.by_instance({"vnf_instance": began})


def test_an_instance_that_ended_early_is_recognized_by_its_note():
    """There is no reference after a failed instantiation or heal."""
    noted = instance(state="NOT_INSTANTIATED", metadata={mapping.NOTE: OURS})
    healed = instance(metadata={mapping.NOTE: OURS})

    assert not delegate.by_instance({"vnf_instance": noted})
    assert not delegate.by_instance({"vnf_instance": healed})


def test_a_heal_of_another_drivers_instance_stays_with_it():
    """Tacker has forgotten the reference between the heal's two halves."""
    assert delegate.by_request(
        {
            "vnf_instance": instance(),
            "instantiate_vnf_req": objects.InstantiateVnfRequest(
                additional_params={}
            ),
        }
    )


def test_a_new_instance_is_managed_unless_the_other_driver_began_it(running):
    """It left rows of resources, and no note of this driver."""
    vim = types.SimpleNamespace(vim_id=ID)
    made = running.vnf_instance(vim)
    call = {"vnf_instance": made, "context": running.context}
    assert not delegate.by_instance(call)

    objects.VnfResource(
        context=running.context,
        vnf_instance_id=made.id,
        resource_name="web",
        resource_type="apps/v1,Deployment",
        resource_identifier="",
        resource_status="",
        tenant_id=running.TENANT,
    ).create()

    assert delegate.by_instance(call)


def test_tackers_own_driver_is_made_once(options):
    """When it is first needed, and only then."""
    assert delegate.driver() is delegate.driver()
    assert isinstance(delegate.driver(), kubernetes_driver.Kubernetes)
