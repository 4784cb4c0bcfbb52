"""Our errors, as Tacker's."""

import logging

import pytest
from tacker.common import exceptions
from tacker.extensions import vnfm

from tacker_k8s_cr.driver import error_text
from tacker_k8s_cr.driver.v1 import tacker_errors
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

REF = ObjectRef("apps", "Deployment", "edge", "web")
LATE = errors.ReadinessTimeout(
    [errors.PendingObject(REF, Verdict(State.IN_PROGRESS, "0/2"), 60.0)], 60.0
)


def raised(operation, error):
    with (
        pytest.raises(exceptions.TackerException) as caught,
        tacker_errors.translate_errors(operation, "i-1"),
    ):
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("operation", "error", "kind"),
    [
        ("instantiate", LATE, vnfm.CNFCreateWaitFailed),
        ("scale", LATE, vnfm.CNFScaleFailed),
        ("terminate", LATE, vnfm.VNFDeleteFailed),
        ("delivery", LATE, exceptions.TackerException),
        ("scale", errors.NotScalable(REF, "why"), exceptions.InvalidInput),
        ("heal", LATE, vnfm.CNFHealFailed),
        (
            "heal",
            errors.NotHealable({REF: "why"}),
            exceptions.InvalidInput,
        ),
        (
            "instantiate",
            errors.PackageInvalid([errors.Problem("a", "b")]),
            exceptions.InvalidInput,
        ),
        ("scale", errors.RequestInvalid("why"), exceptions.InvalidInput),
        (
            "scale",
            errors.OperationInProgress("i-1", "host/1"),
            exceptions.Conflict,
        ),
        (
            "instantiate",
            errors.InstanceExists("i-1", "instantiated"),
            exceptions.Conflict,
        ),
    ],
)
def test_each_error_has_its_type_in_tacker(operation, error, kind):
    """The sentence is the project's, whose error is the cause."""
    found = raised(operation, error)

    assert kind is type(found)
    assert str(error) in str(found)
    assert error is found.__cause__


def test_every_error_is_translated():
    """None reaches Tacker as a class that it does not know."""
    error = raised("sync", errors.LockLost("i-1", "another holder took it"))

    assert isinstance(error, exceptions.TackerException)


def test_a_long_error_is_cut_for_the_user_and_whole_in_the_log(caplog):
    """The sentence becomes part of a record that is sent around."""
    many = [
        errors.PendingObject(REF, Verdict(State.IN_PROGRESS, "x" * 90), 1.0)
    ] * 99

    with caplog.at_level(logging.ERROR):
        error = raised("instantiate", errors.ReadinessTimeout(many, 60.0))

    assert len(str(error)) < error_text.LONGEST + 400
    cut, rest = str(error).split(
        "\n... (the rest is in the conductor's log)\n"
    )
    assert cut.endswith("and 74 more objects")
    assert rest.startswith("Remove the cause")
    assert 99 == caplog.text.count("x" * 90)


def test_an_internal_error_brings_no_text_into_tackers_database(caplog):
    """Its text is not logged either, since it may hold any data."""
    with caplog.at_level(logging.ERROR):
        found = raised("scale", ValueError("planted-token-0815"))

    assert exceptions.TackerException is type(found)
    assert "planted" not in str(found)
    assert "scale" in str(found)
    assert "ValueError" in str(found)
    assert "planted-token-0815" not in caplog.text
    assert "ValueError in raised, line" in caplog.text
    assert found.__suppress_context__


def test_an_error_of_tackers_is_left_as_it_is():
    """Tacker distinguishes them by their types."""
    error = exceptions.VimConnectionNotFound(vim_id="v-1")

    assert error is raised("scale", error)


def test_what_is_not_supported_names_the_operation():
    """The user hears what was asked for and that nothing happened."""
    assert (
        "a rollback of a scale is not supported by the infra driver "
        "kubernetes_cr; nothing was changed"
    ) == str(tacker_errors.unsupported("a rollback of a scale"))
