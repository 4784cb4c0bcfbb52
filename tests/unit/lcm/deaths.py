"""Operations that die at any of their requests, and what they leave."""

from __future__ import annotations

import base64
import itertools

from tacker_k8s_cr import objects
from tacker_k8s_cr.deadline import Deadline
from tacker_k8s_cr.recording import record
from tacker_k8s_cr.recording import stored
from tests.mortal import Killed
from tests.mortal import mortal


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
