"""Our errors, as problem details of Tacker's v2 API."""

import logging

import pytest
from tacker.sol_refactored.common import exceptions

from tacker_k8s_cr.driver import advice
from tacker_k8s_cr.driver import error_text
from tacker_k8s_cr.driver.v2 import problem_details
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict

REF = ObjectRef("apps", "Deployment", "edge", "web")
LATE = [errors.PendingObject(REF, Verdict(State.IN_PROGRESS, "0/2"), 60.0)]


def raised(error):
    with (
        pytest.raises(exceptions.SolException) as caught,
        problem_details.translate_errors("scale", "i-1"),
    ):
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, errors.RequestInvalid("why")),
        (400, errors.PackageInvalid([errors.Problem("a", "b")])),
        (422, errors.KindNotServed(GroupKind("e.org", "Phone"))),
        (422, errors.NamespaceNotFound({"edge": ["a.yaml"]})),
        (422, errors.NotScalable(REF, "why")),
        (404, errors.InstanceNotFound("i-1", "edge")),
        (409, errors.InstanceExists("i-1", "instantiated")),
        (409, errors.InstanceStateConflict("i-1", "scaling")),
        (409, errors.InstanceElsewhere("i-1", "there", "here")),
        (409, errors.AttemptUnverified("i-1", "there", "why")),
        (409, errors.RecordInvalid("i-1", "why")),
        (409, errors.RecordMissing("i-1", [REF])),
        (409, errors.PreviousPackageMissing("i-1")),
        (409, errors.OperationInProgress("i-1", "host/1")),
        (409, errors.LockLost("i-1", "why")),
        (409, errors.OwnedByOther({REF: "other-manager"})),
        (409, errors.ForeignObjects({REF: "why"})),
        (409, errors.RolloutRefused({REF: "why"})),
        (409, errors.FieldConflict(REF, {"spec": "kubectl"})),
        (409, errors.Conflict(REF, "changed")),
        (401, errors.Unauthenticated("https://a")),
        (403, errors.Forbidden("get", "pods", "edge", "no")),
        (422, errors.Rejected(REF, 422, "Invalid", "no")),
        (
            422,
            errors.DryRunFailed([errors.Rejected(REF, 422, "Invalid", "no")]),
        ),
        (503, errors.Unreachable("https://a", "refused")),
        (503, errors.Unavailable("GET pods", 503, "later")),
        (504, errors.ReadinessTimeout(LATE, 60.0)),
        (504, errors.DeletionTimeout(LATE, 60.0)),
        (504, errors.DependencyMissing(REF, "no such kind")),
        (422, errors.ObjectsFailed(LATE, 60.0)),
        (500, errors.Error("else")),
    ],
)
@pytest.mark.requirement("C6")
def test_each_error_has_its_status(status, error):
    """The sentence is the project's, whose error is the cause."""
    found = raised(error)

    assert status == found.status
    assert found.detail.startswith(str(error))
    assert error is found.__cause__
    assert {"status", "title", "detail"} <= found.make_problem_details().keys()


def error_classes():
    """Every kind of error that the package may raise."""
    found = [errors.Error]
    for kind in found:
        found += kind.__subclasses__()
    ours = f"{errors.__name__}."
    return {kind for kind in found if kind.__module__.startswith(ours)}


def test_every_kind_of_error_has_a_status():
    """The root, and classes that only group errors, are never raised."""
    gathering = {"Error", "ClusterError", "_WithPending"}

    without = {
        kind.__name__
        for kind in error_classes()
        if not any(
            issubclass(kind, kinds) for kinds, _, _ in problem_details._KINDS
        )
    }

    assert without == gathering & without


def test_a_long_error_is_cut_for_the_database(caplog):
    """The log has all of it, with the instance and the operation."""
    late = LATE * 500
    error = errors.ReadinessTimeout(late, 60.0)

    found = raised(error)

    assert error_text.LONGEST + 300 > len(found.detail)
    assert "the rest is in the conductor's log" in found.detail
    [line] = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert line.getMessage() == (
        f"scale failed: {error.full()}\n{advice.advice(error)}"
    )
    assert "[instance: i-1] " == line.instance


def test_an_error_of_the_program_shows_nothing(caplog):
    """Its text may be anything, a credential for instance."""
    caplog.set_level(logging.ERROR)

    found = raised(KeyError("planted-secret"))

    assert 500 == found.status
    assert "planted" not in found.detail
    assert "scale: KeyError" in found.detail
    assert "planted" not in caplog.text
    assert "KeyError in raised, line" in caplog.text


def test_an_error_of_tacker_stays_as_it_is():
    """It has its status and detail already."""
    error = exceptions.SolHttpError404(sol_detail="a file")

    assert error is raised(error)


def test_a_failed_synchronization_is_of_tackers_type():
    """Tacker logs its first argument, and asks again later."""
    with (
        pytest.raises(exceptions.DbSyncFailed) as caught,
        problem_details.not_synchronized("i-1"),
    ):
        raise errors.InstanceNotFound("i-1", "edge")

    assert "i-1: instance i-1 not found (no record" in caught.value.args[0]


def test_no_difference_is_not_a_failure():
    """Tacker's own word for it passes."""
    with (
        pytest.raises(exceptions.DbSyncNoDiff),
        problem_details.not_synchronized("i-1"),
    ):
        raise exceptions.DbSyncNoDiff("none")
