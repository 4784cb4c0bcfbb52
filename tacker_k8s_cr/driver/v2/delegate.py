"""Delegate instances of Tacker's own driver to it, in v2."""

from __future__ import annotations

from collections.abc import Callable
import functools
from typing import Any

from tacker_k8s_cr.driver.v2 import mapping
from tacker_k8s_cr.driver.v2 import problem_details

Operation = Callable[..., None]


def driver() -> Any:
    """Return a new driver of Tacker; it creates one for each operation.

    It is from its own module, since Tacker's name for it is bound to this
    driver.
    """
    # Imported here: it imports a Kubernetes client.
    from tacker.sol_refactored.infra_drivers.kubernetes import kubernetes

    return kubernetes.Kubernetes()


def delegate_unmanaged(operation: Operation) -> Operation:
    """Decorate an operation: delegate instances of Tacker's own driver.

    That driver gets the arguments of Tacker, and its errors are unchanged.
    """
    name = operation.__name__

    @functools.wraps(operation)
    def called(
        own: Any, req: Any, inst: Any, grant_req: Any, grant: Any, vnfd: Any
    ) -> None:
        if not mapping.is_managed(inst):
            getattr(driver(), name)(req, inst, grant_req, grant, vnfd)
            return
        about = mapping.occurrence(grant_req)
        with problem_details.translate_errors(name, inst.id, about):
            operation(own, req, inst, grant_req, grant, vnfd)

    return called
