"""A wait for what no stream of an instance shows."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.lcm.request import Request
from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.lcm.stages import wait_unlabelled
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef

WEB = ObjectRef("apps", "Deployment", "default", "web")


@pytest.fixture
def op(cluster, clock):
    deadline = Deadline.after(20, clock)
    return Session("scale", Request(cluster, "one", deadline=deadline))


def test_a_deadline_during_a_read_hides_no_object(op, clock):
    """The earlier reason is reported, not the request that was not sent."""

    def look():
        if clock.now > 10:
            clock.now = 20.0
            raise errors.Unavailable.not_sent("get Node/a")
        return {WEB: "replicas 1/2"}

    with pytest.raises(errors.ReadinessTimeout) as caught:
        wait_unlabelled.wait_complete(op, [], look)

    (item,) = caught.value.pending
    assert (WEB, "replicas 1/2") == (item.ref, item.verdict.reason)


def test_a_read_that_fails_before_the_deadline_ends_it(op):
    """It is an error of its own."""
    looks = iter([{WEB: "replicas 1/2"}])

    def look():
        for lacking in looks:
            return lacking
        raise errors.Unavailable("get Node/a", 503, "busy")

    with pytest.raises(errors.Unavailable, match="busy"):
        wait_unlabelled.wait_complete(op, [], look)
