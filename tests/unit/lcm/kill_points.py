"""Operations that die at any of their requests, and what they leave."""

from __future__ import annotations

import base64
import itertools

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.state import record_secrets
from tacker_k8s_cr.state import serialization
from tests.calls import call
from tests.failing_cluster import Killed
from tests.failing_cluster import fail_after


def run_operation(operation, cluster, clock, *args, **more):
    return call(
        operation,
        cluster,
        "one",
        *args,
        deadline=Deadline.after(300, clock),
        **more,
    )


def owned_objects(cluster):
    """Names of all that bears our label."""
    return sorted(
        ref.name
        for ref, stored in cluster.world.objects.items()
        if objects.INSTANCE in objects.labels(stored.obj)
    )


def record_objects(cluster):
    """Head, pieces, and the Lease."""
    return [
        ref
        for ref in cluster.world.objects
        if ref.name.startswith(record_names.PREFIX)
    ]


def orphaned_chunks(cluster):
    """Pieces that the head does not name."""
    head = cluster.get(record_secrets.secret_ref("one", "default"))
    text = base64.b64decode(head["data"]["head"]).decode()
    name = head["metadata"]["name"]
    named = {
        name,
        *(f"{name}.{piece}" for piece in serialization.chunk_names(text)),
    }
    return [
        ref
        for ref in record_objects(cluster)
        if ref.kind == "Secret" and ref.name not in named
    ]


def killed_clusters(operation, prepare, fresh, clock, *args, **more):
    """Every cluster in which the operation died, one request later each.

    To die before a request leaves what it leaves to die after the one before.
    """
    for requests in itertools.count():
        cluster = fresh()
        prepare(cluster)
        try:
            run_operation(
                operation,
                fail_after(cluster, requests, True),
                clock,
                *args,
                **more,
            )
        except Killed:
            yield cluster
        else:
            return


def leave_unchanged(cluster):
    """The cluster as it comes."""
