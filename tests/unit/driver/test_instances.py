"""An instance as both of Tacker's APIs name it."""

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import instances


def test_the_record_namespace_of_a_new_instance(options):
    """From the request, else the configuration, else that of the objects."""
    asked = additional_params.read({"namespace": "edge"})
    said = additional_params.read(
        {"tacker_k8s_cr": {"record_namespace": "here"}}
    )
    assert "edge" == instances.choose_record_namespace(asked)

    options(record_namespace="records")

    assert "records" == instances.choose_record_namespace(asked)
    assert "here" == instances.choose_record_namespace(said)


def test_an_instance_does_not_show_the_access_to_its_cluster():
    """Its repr, as in a traceback or a debugger, has no credential."""
    target = instances.InstanceTarget(
        "i", "edge", {"bearer_token": "planted-0815"}
    )

    assert "planted" not in repr(target)
