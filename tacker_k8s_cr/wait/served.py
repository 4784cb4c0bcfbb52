"""Wait until the API server serves kinds."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import time

import tenacity

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import backoff
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import GroupKind


def wait_served(
    cluster: Cluster,
    kinds: Mapping[GroupKind, Sequence[str]],
    deadline: Deadline,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Repeat discovery until it has all these versions of these kinds.

    A definition that is Established appears there a moment later, at a
    different time on each of several API servers. Raises KindNotServed or
    DependencyMissing at the deadline.
    """

    last: errors.KindNotServed | None = None

    def once() -> None:
        nonlocal last
        try:
            for group in {kind.group for kind in kinds}:
                cluster.invalidate(group)
            for kind, versions in kinds.items():
                for version in versions:
                    cluster.resource(kind, version)
        except errors.KindNotServed as error:
            error.deadline_passed = deadline.expired
            last = error
            raise
        except errors.Unavailable as error:
            if last is None or error.was_sent:
                raise
            last.deadline_passed = True
            raise last from error

    tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(
            (errors.KindNotServed, errors.DependencyMissing)
        ),
        wait=lambda state: backoff.NEW_KIND.delay(state.attempt_number),
        stop=lambda state: deadline.expired,
        sleep=sleep,
        reraise=True,
    )(once)
