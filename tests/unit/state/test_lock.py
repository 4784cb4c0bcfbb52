"""The lock on an instance: who has it, and what may be sent under it."""

from __future__ import annotations

import contextlib
import threading

import pytest

from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import lock
from tacker_k8s_cr.state.session import RecordSession
from tests.fakes import FakeCluster
from tests.functional import manifests

LEASE = leases.ref("one", "default")
AWAY = errors.Unreachable("https://fake.example.org", "Connection refused")


class Server(FakeCluster):
    """A fake cluster that may be away for its Lease, all the time.

    ``away`` answers every request for the Lease; ``answered`` is set after
    each of them.
    """

    def __init__(self, clock):
        super().__init__(idle=clock.idle)
        self.world.away = None
        self.world.answered = threading.Event()

    def with_deadline(self, deadline):
        view = object.__new__(Server)
        view.world = self.world
        view.deadline = deadline
        return view

    def replace(self, manifest, manager):
        try:
            if self.world.away:
                raise self.world.away
            return super().replace(manifest, manager)
        finally:
            self.world.answered.set()


@pytest.fixture
def deadline(clock):
    return Deadline.after(300, clock)


@pytest.fixture
def cluster(clock):
    return Server(clock)


@pytest.fixture
def held_lock(cluster, deadline):
    with lock.locked(cluster, "one", "default", deadline) as found:
        yield found


def holder(cluster):
    return cluster.get(LEASE)["spec"]["holderIdentity"]


def set_holder(cluster, who):
    cluster.patch(LEASE, {"spec": {"holderIdentity": who}}, "other")


def tried(cluster):
    """The renewal that is under way comes to its end."""
    cluster.world.answered.clear()
    assert cluster.world.answered.wait(20)


# -- Held --------------------------------------------------------------------


def test_a_lock_past_its_term_is_renewed_before_a_write(
    cluster, clock, held_lock
):
    """No other holder took the Lease, as its version proves: it continues."""
    us = holder(cluster)
    clock.now += 10 * leases.TERM

    held_lock.check()
    held_lock.require_margin()

    assert us == holder(cluster)


def test_an_expired_credential_ends_a_wait_with_its_own_error(
    cluster, clock, held_lock
):
    """The waiting caller gets it, and not a lost lock."""
    cluster.world.away = errors.Unauthenticated(
        cluster.server, "it expired", "VIM edge"
    )
    clock.now += leases.TERM + 1

    with pytest.raises(errors.Unauthenticated, match="VIM edge: it expired"):
        held_lock.require_margin()
    with pytest.raises(errors.Unauthenticated, match="VIM edge: it expired"):
        held_lock.check()


def test_a_credential_that_was_renewed_is_forgiven(cluster, clock, held_lock):
    """A refusal that is over ends nothing."""
    cluster.world.away = errors.Unauthenticated(cluster.server)
    clock.now += leases.TERM + 1
    with pytest.raises(errors.Unauthenticated):
        held_lock.require_margin()
    cluster.world.away = None

    held_lock.require_margin()
    held_lock.check()


def test_a_lock_that_cannot_be_renewed_stops_writes_and_no_wait(
    cluster, clock, held_lock
):
    """Who only waits goes on through an outage of the server."""
    cluster.world.away = AWAY
    clock.now += 299.99  # and there is hardly any time left

    held_lock.check()
    with pytest.raises(errors.LockLost, match="not renewed for 300 s"):
        held_lock.require_margin()

    held_lock.check()


def test_a_server_that_recovers_in_time_lets_the_write_pass(
    cluster, clock, held_lock
):
    """A write waits for a moment for the renewal of the lock."""
    cluster.world.away = AWAY
    clock.now += leases.TERM

    def come_back():
        tried(cluster)
        cluster.world.away = None

    server = threading.Thread(target=come_back)
    server.start()
    held_lock.require_margin()
    server.join()


class OneSilentServer(Server):
    """A fake cluster behind a balancer: the first renewal gets no answer.

    It is carried out, and takes all the time that it is given.
    """

    def __init__(self, clock):
        super().__init__(clock)
        self.world.limits = []
        self.world.clock = clock

    def with_deadline(self, deadline):
        view = super().with_deadline(deadline)
        view.__class__ = OneSilentServer
        return view

    def replace(self, manifest, manager):
        left = self.deadline.remaining
        self.world.limits.append(left)
        done = super().replace(manifest, manager)
        if len(self.world.limits) == 1:
            self.world.clock.now += left
            raise errors.Unreachable(self.server, "no answer")
        return done


def test_a_silent_server_is_soon_left_for_another(clock, deadline):
    """The lock is renewed before it is too old for a write."""
    cluster = OneSilentServer(clock)
    with lock.locked(cluster, "one", "default", deadline) as held:
        clock.now += leases.TERM - lock.MARGIN + 1
        begun = clock.now

        held.require_margin()

        assert lock.FIRST_ATTEMPT == cluster.world.limits[0]
        assert clock.now == begun + lock.FIRST_ATTEMPT
        # What the Lease showed then was written by the attempt before.
        held.check()


class DeafServer(Server):
    """A fake cluster behind a balancer: the first delete gets no answer."""

    def with_deadline(self, deadline):
        view = super().with_deadline(deadline)
        view.__class__ = DeafServer
        return view

    def delete(self, ref, uid, **more):
        self.world.limits.append(self.deadline.remaining)
        if len(self.world.limits) == 1:
            self.world.clock.now += self.deadline.remaining
            raise errors.Unreachable(self.server, "no answer")
        return super().delete(ref, uid, **more)


def test_a_lease_is_deleted_though_one_server_is_silent(clock, deadline):
    """Nothing is left of an instance that was terminated."""
    cluster = DeafServer(clock)
    cluster.world.clock, cluster.world.limits = clock, []
    with lock.locked(cluster, "one", "default", deadline) as held:
        held.delete_on_release()

    assert cluster.get(LEASE) is None
    assert lock.FIRST_ATTEMPT == cluster.world.limits[0]


class SlowServer(Server):
    """A fake cluster that takes two seconds for each write."""

    def with_deadline(self, deadline):
        view = super().with_deadline(deadline)
        view.__class__ = SlowServer
        return view

    def create(self, manifest, manager):
        self.world.clock.now += 2
        return super().create(manifest, manager)

    def replace(self, manifest, manager):
        self.world.limits.append(self.deadline.remaining)
        self.world.clock.now += 2
        return super().replace(manifest, manager)


def test_a_slow_server_is_given_more_time(clock, deadline):
    """The limit of a renewal follows from how long the last write took."""
    cluster = SlowServer(clock)
    cluster.world.clock, cluster.world.limits = clock, []
    with lock.locked(cluster, "one", "default", deadline) as held:
        clock.now += leases.TERM - lock.MARGIN + 1

        held.require_margin()

    assert 6 == cluster.world.limits[0]


def test_a_lock_with_another_holder_is_lost(cluster, clock, held_lock):
    """Waits end as well, and who has it is named."""
    set_holder(cluster, "other-holder")
    clock.now += leases.TERM

    with pytest.raises(errors.LockLost, match="it is held by other-holder"):
        held_lock.require_margin()
    with pytest.raises(errors.LockLost, match="it is held by other-holder"):
        held_lock.check()


def test_an_error_that_may_be_anothers_doing_is_a_lost_lock(
    cluster, clock, deadline
):
    """Who took the lock is named, and not what they removed."""
    ledger = RecordSession(cluster, "one", "default")
    gone = errors.NamespaceNotFound({"default": ["the object"]})

    with ledger.locked(deadline):
        ledger.record_error(gone, deadline)  # no other holder has it
        set_holder(cluster, "other-holder")
        clock.now += leases.TERM
        with pytest.raises(errors.LockLost, match="held by other") as caught:
            ledger.record_error(gone, deadline)

    assert gone is caught.value.__cause__


def test_the_lease_of_an_instance_that_ended_meanwhile_is_removed(
    cluster, deadline
):
    """The operation that comes too late leaves no Lease of its own."""
    first, second = (
        RecordSession(cluster, "one", "default") for _ in range(2)
    )
    with first.locked(deadline):
        first.write(Inventory("one", "default", Phase.INSTANTIATED))
    second.read()
    with first.locked(deadline):
        first.delete()
    first.forget()

    with pytest.raises(errors.OperationInProgress), second.locked(deadline):
        pass

    assert cluster.get(LEASE) is None


def test_last_acts_are_brief_where_nothing_is_answered(
    cluster, clock, deadline
):
    """Else one silence after another holds up an operation's end."""
    with lock.locked(cluster, "one", "default", deadline) as held:
        assert lock.FINAL_SECONDS == held.final_seconds

        clock.now += leases.TERM - lock.MARGIN + 1
        assert lock.FINAL_SECONDS_UNREACHABLE == held.final_seconds

        held.require_margin()  # renewed
        assert lock.FINAL_SECONDS == held.final_seconds

        held.mark_unreachable()
        assert lock.FINAL_SECONDS_UNREACHABLE == held.final_seconds


def test_a_lost_lock_is_not_released(cluster, clock, deadline):
    """It is another's."""
    with lock.locked(cluster, "one", "default", deadline) as held:
        set_holder(cluster, "other-holder")
        clock.now += leases.TERM
        with pytest.raises(errors.LockLost):
            held.require_margin()

    assert "other-holder" == holder(cluster)


def test_a_lease_that_another_client_labelled_is_still_held(
    cluster, clock, held_lock
):
    """Another version with the holder's identity in it is not a loss."""
    us = holder(cluster)
    cluster.patch(LEASE, {"metadata": {"labels": {"x": "y"}}}, "other")
    clock.now += leases.TERM

    held_lock.require_margin()

    assert us == holder(cluster)
    assert "y" == objects.labels(cluster.get(LEASE))["x"]


def test_a_lease_that_another_client_labelled_is_released(cluster, deadline):
    """So that the next operation need not wait for its term."""
    with lock.locked(cluster, "one", "default", deadline):
        cluster.patch(LEASE, {"metadata": {"labels": {"x": "y"}}}, "other")

    assert "" == holder(cluster)


def test_a_lease_that_another_client_deleted_is_created_again(
    cluster, clock, held_lock
):
    """Within its term no other holder can have had the lock."""
    us = holder(cluster)
    cluster.delete(LEASE, objects.uid(cluster.get(LEASE)))
    clock.now += leases.TERM - lock.MARGIN + 1

    held_lock.require_margin()

    assert us == holder(cluster)


def test_an_expired_lease_is_lost(cluster, clock, held_lock):
    """Another operation may have ended the instance in the meantime."""
    cluster.delete(LEASE, objects.uid(cluster.get(LEASE)))
    clock.now += leases.TERM + 1

    with pytest.raises(errors.LockLost, match="its Lease was deleted"):
        held_lock.require_margin()

    assert cluster.get(LEASE) is None


def test_a_lease_deleted_with_its_namespace_is_lost(cluster, clock):
    """It cannot be made again there."""
    cluster.apply(manifests.namespace("home"), "m")
    ref = leases.ref("one", "home")
    with lock.locked(
        cluster, "one", "home", Deadline.after(300, clock)
    ) as held:
        place = objects.ObjectRef("", "Namespace", "", "home")
        cluster.delete(place, objects.uid(cluster.get(place)))
        clock.now += leases.TERM - lock.MARGIN + 1

        with pytest.raises(errors.LockLost, match="its Lease was deleted: "):
            held.require_margin()

    assert cluster.get(ref) is None


def test_the_lease_is_deleted_with_the_instance(cluster, deadline):
    """Where the instance is no more, nothing is left to lock."""
    with lock.locked(cluster, "one", "default", deadline) as held:
        held.delete_on_release()

    assert cluster.get(LEASE) is None


# -- The limit of writes -----------------------------------------------------


def test_a_write_under_the_limit_needs_the_lock(cluster, clock, held_lock):
    """Nothing is sent once another holder has the lock."""
    limited = cluster.with_deadline(held_lock.limit)
    limited.apply(manifests.config_map("a", "default"), "m")
    set_holder(cluster, "other-holder")
    clock.now += leases.TERM

    with pytest.raises(errors.LockLost, match="it is held by other-holder"):
        limited.apply(manifests.config_map("b", "default"), "m")

    b = objects.ObjectRef("", "ConfigMap", "default", "b")
    assert cluster.get(b) is None


def test_the_limit_is_the_operations_deadline_under_the_lock(
    cluster, clock, held_lock
):
    """A slow answer is waited for longer than the lock was last renewed."""
    assert 300 == held_lock.limit.remaining
    assert not held_lock.limit.expired
    clock.now += 299
    assert 1 == held_lock.limit.remaining
    clock.now += 1
    # The lock is old, and there is no time left to renew it.
    cluster.world.away = AWAY
    clock.now += leases.TERM
    with pytest.raises(errors.LockLost):
        _ = held_lock.limit.expired


# -- Taking it ---------------------------------------------------------------


def test_a_lock_that_is_renewed_is_busy(cluster, clock, deadline):
    """Its holder is named."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock.locked(cluster, "one", "default", deadline))
        us = holder(cluster)
        cluster.world.idle = lambda seconds: set_holder(cluster, f"{us}x")

        with pytest.raises(
            errors.OperationInProgress, match=f"is held by {us}x"
        ):
            stack.enter_context(
                lock.locked(cluster, "one", "default", deadline)
            )


class LaggingServer(Server):
    """A fake cluster whose watches show nothing, while the holder renews."""

    def __init__(self, clock, renew):
        super().__init__(clock)
        self.world.renew = renew

    def with_deadline(self, deadline):
        view = super().with_deadline(deadline)
        view.__class__ = LaggingServer
        return view

    @contextlib.contextmanager
    def watch(self, watches):
        cluster = self

        class Stale:
            def next_events(self, seconds):
                cluster.world.renew()
                cluster.deadline.clock.now += seconds
                return []

        yield Stale()


def test_a_renewal_that_no_watch_shows_keeps_the_lock(clock, deadline):
    """The server refuses the write, and the holder is named at once."""

    def renew():
        lease = cluster.get(LEASE)
        cluster.patch(LEASE, {"spec": {"renewTime": f"{clock.now}"}}, "other")
        assert "other-holder" == leases.holder(lease)

    cluster = LaggingServer(clock, renew).with_deadline(deadline)
    _held_by_somebody(cluster)
    begun = clock.now

    with (
        pytest.raises(
            errors.OperationInProgress, match="is held by other-holder"
        ),
        lock.locked(cluster, "one", "default", deadline),
    ):
        pass

    assert "other-holder" == holder(cluster)
    assert clock.now == begun + leases.TERM


def test_a_lock_that_is_released_meanwhile_is_acquired(cluster, deadline):
    """There is no reason to be busy."""
    _held_by_somebody(cluster)
    cluster.world.idle = lambda seconds: set_holder(cluster, "")

    with lock.locked(cluster, "one", "default", deadline):
        assert holder(cluster) not in ("", "other-holder")


def test_a_lock_whose_lease_is_deleted_meanwhile_is_acquired(
    cluster, deadline
):
    """An operation that ended the instance took its Lease away."""
    _held_by_somebody(cluster)

    def ended(seconds):
        cluster.delete(LEASE, objects.uid(cluster.get(LEASE)))

    cluster.world.idle = ended

    with lock.locked(cluster, "one", "default", deadline):
        assert holder(cluster) not in ("", "other-holder")


def test_a_lease_without_the_label_is_watched(cluster, clock, deadline):
    """A client removed the label: the lock is identified by its name."""
    _held_by_somebody(cluster)
    cluster.patch(
        LEASE, {"metadata": {"labels": {record_names.LABEL: None}}}, "other"
    )

    with lock.locked(cluster, "one", "default", deadline):
        assert holder(cluster) not in ("", "other-holder")

    assert clock.now >= leases.TERM


def _held_by_somebody(cluster):
    cluster.create(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": LEASE.name,
                "namespace": "default",
                "labels": {record_names.LABEL: "one"},
            },
            "spec": {"holderIdentity": "other-holder"},
        },
        "m",
    )
