"""Tacker's own driver of v2, for the VNF instances that it made."""

from __future__ import annotations

from collections.abc import Callable
import functools
from typing import Any

from tacker_k8s_cr.driver import failures_v2
from tacker_k8s_cr.driver import translate_v2

Operation = Callable[..., None]


def driver() -> Any:
    """A new one, as Tacker makes one for each operation.

    It is taken from its own module, not by the name that is bound to ours.
    """
    # Imported here: it brings in a Kubernetes client.
    from tacker.sol_refactored.infra_drivers.kubernetes import kubernetes

    return kubernetes.Kubernetes()


def shared(operation: Operation) -> Operation:
    """An operation of ours, which goes to upstream's where the instance does.

    Upstream gets Tacker's own arguments, and its errors stay as they are.
    """
    name = operation.__name__

    @functools.wraps(operation)
    def called(
        ours: Any, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        if not translate_v2.is_ours(inst):
            getattr(driver(), name)(req, inst, grant_req, grant, vnfd)
            return
        about = translate_v2.occurrence(grant_req)
        with failures_v2.translated(name, inst.id, about):
            operation(ours, req, inst, grant_req, grant, vnfd)

    return called
