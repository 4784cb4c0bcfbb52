"""An operation that is killed at any request is finished by the next one.

The same is shown on a real API server elsewhere; here every single request
of three operations is tried.
"""

from __future__ import annotations

import base64
import contextlib
import itertools

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr import lcm
from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.options import Options
from tacker_k8s_cr.package.model import Document
from tacker_k8s_cr.package.model import Package
from tacker_k8s_cr.recording import leases
from tacker_k8s_cr.recording import lock
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.recording import stored
from tests.fakes import FakeCluster
from tests.functional import manifests

GROUP = "test.example.org"
STORED = {objects.PREFIX + "readiness": "created"}


def package(*given):
    return Package(
        "test",
        tuple(
            Document(manifest, f"a.yaml, document {number}")
            for number, manifest in enumerate(given, 1)
        ),
    )


OLD = package(
    manifests.custom(GROUP, "Thing", "one", STORED),
    manifests.definition(GROUP, "Thing"),
    manifests.config_map("same"),
    manifests.config_map("old"),
)
NEW = package(
    manifests.definition(GROUP, "Thing"),
    manifests.custom(GROUP, "Thing", "one", STORED, size="xl"),
    manifests.custom(GROUP, "Thing", "two", STORED),
    manifests.config_map("same"),
)


class Killed(BaseException):
    """Nobody catches it, as nobody catches a signal."""


VERBS = (
    "apply",
    "create",
    "delete",
    "get",
    "get_metadata",
    "list_metadata",
    "list_objects",
    "patch",
    "replace",
    "version",
)


class Mortal:
    """A cluster that is gone for its caller from one request on."""

    def __init__(self, cluster, life, after):
        self._cluster = cluster
        self._life = life
        self._after = after

    def __getattr__(self, name):
        found = getattr(self._cluster, name)
        if name not in VERBS:
            return found

        def verb(*args, **more):
            left = next(self._life, 0)
            if left <= 0 and not (left == 0 and self._after):
                raise Killed
            result = found(*args, **more)
            if left <= 0:
                raise Killed
            return result

        return verb

    def until(self, deadline):
        return Mortal(self._cluster.until(deadline), self._life, self._after)


def mortal(cluster, requests, after):
    """Lives for so many requests; the next one is its last."""
    return Mortal(cluster, iter(range(requests, -10_000, -1)), after)


@pytest.fixture
def fresh(clock):
    def cluster():
        return FakeCluster(idle=clock.idle)

    return cluster


def run(operation, cluster, clock, *args, **more):
    return operation(
        cluster, "one", *args, deadline=Deadline.after(300, clock), **more
    )


def owned(cluster):
    """Names of all that bears our label."""
    return sorted(
        ref.name
        for ref, stored in cluster.world.objects.items()
        if objects.INSTANCE in objects.labels(stored.obj)
    )


def records(cluster):
    """Head, pieces, and the Lease."""
    return [
        ref
        for ref in cluster.world.objects
        if ref.name.startswith(record.NAME)
    ]


def headless(cluster):
    """Pieces that the head does not name."""
    head = cluster.get(record.secret_ref("one", "default"))
    text = base64.b64decode(head["data"]["head"]).decode()
    name = head["metadata"]["name"]
    named = {name, *(f"{name}.{piece}" for piece in stored.pieces_of(text))}
    return [
        ref
        for ref in records(cluster)
        if ref.kind == "Secret" and ref.name not in named
    ]


def deaths(operation, prepare, fresh, clock, *args, **more):
    """Every cluster in which the operation died, one request later each.

    To die before a request leaves what it leaves to die after the one before.
    """
    for requests in itertools.count():
        cluster = fresh()
        prepare(cluster)
        try:
            run(
                operation,
                mortal(cluster, requests, True),
                clock,
                *args,
                **more,
            )
        except Killed:
            yield cluster
        else:
            return


def nothing(cluster):
    """The cluster as it comes."""


def test_instantiate_is_taken_up_wherever_it_died(fresh, clock):
    """No object is lost or doubled, and terminate leaves none (P21, M7)."""
    died = 0
    for cluster in deaths(lcm.instantiate, nothing, fresh, clock, OLD):
        died += 1
        with contextlib.suppress(
            errors.InstanceExists
        ):  # it died when all was done; what writes next cleans up
            run(lcm.instantiate, cluster, clock, OLD)
            assert [] == headless(cluster)
        assert ["old", "one", "same", f"things.{GROUP}"] == owned(cluster)
        inventory = record.read(cluster, "one", "default").inventory
        assert 4 == len(inventory.owned)

        run(lcm.terminate, cluster, clock)

        assert [] == owned(cluster)
        assert [] == records(cluster)
    assert died > 15


def test_instantiate_that_died_is_terminated(fresh, clock):
    """Without being taken up first, and nothing stays."""
    for cluster in deaths(lcm.instantiate, nothing, fresh, clock, OLD):
        with contextlib.suppress(
            errors.InstanceUnknown
        ):  # it died before there was a record
            run(lcm.terminate, cluster, clock)
        assert [] == owned(cluster)
        assert [] == records(cluster)


def test_change_is_taken_up_wherever_it_died(fresh, clock):
    """What the new package names is there, and nothing else (T6)."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, OLD)

    died = 0
    for cluster in deaths(lcm.change, prepare, fresh, clock, NEW):
        died += 1
        run(lcm.change, cluster, clock, NEW)
        assert ["one", "same", f"things.{GROUP}", "two"] == owned(cluster)
        one = cluster.get(ObjectRef(GROUP, "Thing", "default", "one"))
        assert "xl" == one["spec"]["size"]
        assert [] == headless(cluster)

        run(lcm.terminate, cluster, clock)

        assert [] == owned(cluster)
        assert [] == records(cluster)
    assert died > 15


def test_terminate_is_taken_up_wherever_it_died(fresh, clock):
    """The second run removes what the first one left."""

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, OLD)

    died = 0
    for cluster in deaths(lcm.terminate, prepare, fresh, clock):
        died += 1
        with contextlib.suppress(
            errors.InstanceUnknown
        ):  # it died when all was done
            run(lcm.terminate, cluster, clock)
        assert [] == owned(cluster)
        assert [] == records(cluster)
    assert died > 10


def test_what_was_to_be_adopted_is_given_up_wherever_it_died(fresh, clock):
    """It stays, and bears no mark of ours (P20, P21)."""
    ref = ObjectRef("", "ConfigMap", "default", "old")
    theirs = manifests.config_map("old", "default", other="theirs")

    def prepare(cluster):
        cluster.create(theirs, "somebody")

    died = 0
    adopting = Options(adopt=frozenset([ref]))
    for cluster in deaths(
        lcm.instantiate, prepare, fresh, clock, OLD, options=adopting
    ):
        died += 1
        with contextlib.suppress(errors.InstanceUnknown):
            run(lcm.terminate, cluster, clock)
        assert [] == owned(cluster)
        assert "theirs" == cluster.get(ref)["data"]["other"]
        assert [] == records(cluster)
    assert died > 15


HOME = ObjectRef("", "Namespace", "", "home")


@pytest.mark.parametrize("finish", [True, False])
def test_a_namespace_of_the_record_comes_and_goes_wherever_it_died(
    fresh, clock, finish
):
    """It holds the record and the lock, and goes with the instance (P21)."""
    given = package(manifests.namespace("home"), manifests.config_map("a"))

    def life(operation, cluster, *args):
        run(operation, cluster, clock, *args, namespace="home")

    died = 0
    for cluster in deaths(
        lcm.instantiate, nothing, fresh, clock, given, namespace="home"
    ):
        died += 1
        if finish:
            with contextlib.suppress(errors.InstanceExists):
                life(lcm.instantiate, cluster, given)
            assert ["a", "home"] == owned(cluster)
        with contextlib.suppress(errors.InstanceUnknown):
            life(lcm.terminate, cluster)
        assert [] == owned(cluster)
        assert [] == records(cluster)
        assert cluster.get(HOME) is None
    assert died > 15


def test_the_end_of_such_a_namespace_is_taken_up_wherever_it_died(
    fresh, clock
):
    """The record goes with it, and may be gone when the next begins (P21)."""
    given = package(manifests.namespace("home"), manifests.config_map("a"))

    def prepare(cluster):
        run(lcm.instantiate, cluster, clock, given, namespace="home")

    died = 0
    for cluster in deaths(
        lcm.terminate, prepare, fresh, clock, namespace="home"
    ):
        died += 1
        with contextlib.suppress(errors.InstanceUnknown):
            run(lcm.terminate, cluster, clock, namespace="home")
        assert [] == owned(cluster)
        assert [] == records(cluster)
        assert cluster.get(HOME) is None
    assert died > 10


def test_a_lock_whose_holder_died_is_taken_after_its_term(fresh, clock):
    """And not before: the holder might only be slow."""
    cluster = fresh()
    died = mortal(cluster, 1, True)  # it has the Lease, and no more
    with (
        pytest.raises(Killed),
        lock.locked(died, "one", "default", Deadline.after(300, clock)),
    ):
        raise Killed
    begun = clock.now

    with lock.locked(cluster, "one", "default", Deadline.after(300, clock)):
        pass

    assert begun + leases.TERM <= clock.now + 0.01
