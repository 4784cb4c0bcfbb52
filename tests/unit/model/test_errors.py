"""A sentence about many places begins with the reason and is short."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.errors import Problem
from tacker_k8s_cr.model.errors import problems
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict


def ref(name: str) -> ObjectRef:
    return ObjectRef("", "ConfigMap", "ns", name)


PLACES = [f"a.yaml, document {number}" for number in range(1, 301)]


def test_a_missing_namespace_comes_before_its_three_hundred_places():
    """The reason, the count and the first places; all are in the details."""
    error = errors.NamespaceNotFound({"typo": PLACES})

    assert (
        "namespace typo does not exist, and the package does not create it "
        "(300 places: a.yaml, document 1; a.yaml, document 2; "
        "a.yaml, document 3; and 297 more)"
    ) == error.outcome()
    assert PLACES == [problem.where for problem in error.details]


def test_one_place_comes_before_its_reason():
    """A single fault reads like a compiler's: place, object, reason."""
    error = errors.Rejected(ref("a"), 422, "Invalid", "no")
    error.places = {ref("a"): "a.yaml, document 2"}

    assert (
        "a.yaml, document 2: ConfigMap/ns/a: no (422 Invalid)"
        == error.outcome()
    )


def test_equal_faults_of_a_package_are_one_line():
    """Forty equal faults are one line; another fault has its own."""
    error = errors.PackageInvalid(
        [
            *(Problem(where, "missing kind") for where in PLACES[:40]),
            Problem("b.yaml", "is empty"),
        ]
    )

    assert [
        "missing kind (40 places: a.yaml, document 1; a.yaml, document 2; "
        "a.yaml, document 3; and 37 more)",
        "b.yaml: is empty",
    ] == error.outcome().splitlines()
    assert 41 == len(error.details)


def test_many_different_faults_are_counted():
    """A sentence has at most 25 reasons, and counts those it leaves out."""
    error = errors.PackageInvalid(
        [Problem(where, f"fault of {where}") for where in PLACES]
    )
    lines = error.outcome().splitlines()

    assert (26, "and 275 more lines like these") == (len(lines), lines[-1])


def test_a_kind_that_is_not_served_comes_before_its_places():
    """Each kind has its line, with the places that name it."""
    error = errors.KindNotServed(
        GroupKind("example.org", "Thing"),
        "v1",
        where=PLACES,
        others=[
            errors.KindNotServed(
                GroupKind("apps", "Deployment"), "v1beta1", ("v1",), ("b",)
            )
        ],
    )
    first, second = error.outcome().splitlines()

    assert first.startswith("the server does not serve Thing.example.org v1, ")
    assert "(300 places: a.yaml, document 1; a.yaml, document 2; " in first
    assert "b: Deployment.apps is served at v1, not at v1beta1" == second


def test_refusals_of_many_objects_for_one_reason_are_one_line():
    """Each object keeps its document in the details."""
    refs = [ref(f"a{number}") for number in range(6)]
    rejected = [
        errors.Rejected(each, 500, "", "unknown field x", schema_mismatch=True)
        for each in refs
    ]
    error = errors.DryRunFailed(
        [*rejected, errors.Unavailable("get x", 503, "busy")]
    )
    error.places = {refs[0]: "a.yaml"}

    assert [
        "unknown field x (6 objects: a.yaml: ConfigMap/ns/a0; "
        "ConfigMap/ns/a1; ConfigMap/ns/a2; and 3 more)",
        "get x: busy (503)",
    ] == error.outcome().splitlines()
    assert ["a.yaml", *[""] * 6] == [p.where for p in error.details]


def test_owners_of_many_objects_are_grouped():
    """Objects of one owner are one line."""
    error = errors.OwnedByOther(
        {ref(f"a{n}"): "the instance b" for n in range(5)}
        | {ref("z"): "a Helm release"}
    )

    assert [
        "exists already and belongs to the instance b (5 objects: "
        "ConfigMap/ns/a0; ConfigMap/ns/a1; ConfigMap/ns/a2; and 2 more)",
        "ConfigMap/ns/z: exists already and belongs to a Helm release",
    ] == error.outcome().splitlines()


def test_rights_that_are_missing_are_limited():
    """The head comes first, and at most 25 lines follow."""
    error = errors.PermissionsMissing("s", [f"get of {n}" for n in range(100)])
    lines = error.outcome().splitlines()

    assert "missing permissions on s:" == lines[0]
    assert (27, "and 75 more") == (len(lines), lines[-1])
    assert 100 == len(error.details)


def test_a_message_has_four_parts_in_their_order():
    """What failed and why, what has been written, what to do next."""
    error = errors.InstanceExists("one", "instantiated")
    error.undone = 2
    error.written = (ref("a"),)
    error.deadline_passed = True

    assert [
        "instance one already exists (phase: instantiated); the deadline "
        "passed",
        "Created before that, and deleted again: 2 object(s)",
        "Written before that, and still there: 1 object(s): ConfigMap/ns/a",
        "Use another name, apply another package by a change, or terminate "
        "that instance first",
    ] == str(error).splitlines()
    assert error.full() == str(error)


faults = st.lists(
    st.builds(
        Problem,
        st.sampled_from(["", *PLACES[:9]]),
        st.sampled_from("abc"),
        st.none() | st.builds(ref, st.sampled_from("xyz")),
    )
)


@given(faults)
def test_every_reason_is_reported_once(found):
    """A reason is on one line, in the order of its first place."""
    lines = problems.sentence(found).splitlines()

    assert len({problem.what for problem in found}) == len(lines)


@given(st.lists(st.text("abc", min_size=1)), st.integers(1, 9))
def test_a_list_names_some_and_counts_the_rest(items, shown):
    """None is lost: those that are not named are counted."""
    said = problems.join_first(items, shown, "\0")
    *named, last = said.split("\0")

    if len(items) <= shown + 1:
        assert "\0".join(items) == said
    else:
        assert items[:shown] == named
        assert f"and {len(items) - shown} more" == last


def test_an_error_states_that_the_deadline_passed():
    """Beside what the last attempt failed with."""
    error = errors.Unreachable("https://a", "Connection refused")
    error.deadline_passed = True
    error.written = (ref("one"),)

    assert (
        "the API server https://a cannot be reached: Connection refused; the "
        "deadline passed\n"
        "Written before that, and still there: 1 object(s): "
        "ConfigMap/ns/one"
    ) == error.outcome()


def test_several_lines_are_followed_by_the_deadline():
    """It belongs to all of them."""
    error = errors.DependencyMissing(
        ref("one"),
        "no",
        others=[errors.DependencyMissing(ref("two"), "nor this")],
    )
    error.deadline_passed = True

    assert (
        "ConfigMap/ns/one: no\n"
        "ConfigMap/ns/two: nor this\n"
        "The deadline passed."
    ) == error.summary()


def test_a_deadline_is_not_reported_twice():
    """A request that was not sent for it has no other reason."""
    error = errors.Unavailable.not_sent("get /version")

    assert error.deadline_passed
    assert "get /version: the deadline passed (408)" == error.outcome()


def test_timed_out_objects_are_limited_and_those_with_errors_come_first():
    """Three hundred objects do not hide the one that failed."""
    verdicts = [Verdict(State.IN_PROGRESS, "0 of 1 replica(s)")] * 299
    verdicts.append(Verdict(State.FAILED, "image not found"))
    unsettled = [
        errors.PendingObject(ref(f"c{number}"), verdict, 9.0)
        for number, verdict in enumerate(verdicts)
    ]
    unwritten = {ref(f"d{number}"): "no webhook" for number in range(40)}

    error = errors.ReadinessTimeout(unsettled, 10.0, unwritten)
    first, second, *rest = error.outcome().splitlines()

    assert "300 object(s) not current after 10 s:" == first
    assert "  ConfigMap/ns/c299: failed: image not found (for 9 s)" == second
    assert problems.MAX_REASONS + 1 == len(rest)
    assert "  and 275 more objects" == rest[-2]
    assert (
        "  not written: no webhook (40 objects: ConfigMap/ns/d0; "
        "ConfigMap/ns/d1; ConfigMap/ns/d2; and 37 more)"
    ) == rest[-1]
