"""Clusters that are lost to their users from one request on."""

from __future__ import annotations


class Killed(BaseException):
    """Not caught by any handler, like a signal."""


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


class FailingCluster:
    """A cluster that is lost to its caller from one request on."""

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

    def with_deadline(self, deadline):
        return FailingCluster(
            self._cluster.with_deadline(deadline), self._life, self._after
        )


def fail_after(cluster, requests, after):
    """Lives for so many requests; the next one is its last."""
    return FailingCluster(cluster, iter(range(requests, -10_000, -1)), after)
