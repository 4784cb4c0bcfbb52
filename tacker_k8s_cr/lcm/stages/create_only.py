"""Send objects that the server answers and does not store, such as reviews.

They are sent once per instantiate, after the objects of their wave. There is
nothing to wait for and nothing to delete, so they are in no inventory. After a
crash they may be sent again, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import http.client
import logging
from typing import Any

from tacker_k8s_cr.lcm.session import Session
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import redaction
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import ObjectResult
from tacker_k8s_cr.plan.steps import Submit

LOG = logging.getLogger(__name__)

BINDING = GroupKind("", "Binding")
HIDDEN = "***"

_SHOWN = frozenset(["error", "evaluationError", "message", "reason"])
"""Fields of a status whose texts the server writes for a reader."""


def send_create_only(op: Session, steps: Iterable[Submit]) -> None:
    """Create each, and report the server's response, values redacted.

    :raises ClusterError: the server refuses one. A Binding whose Pod is bound
        to the Node already, by an earlier attempt, is not an error.
    """
    for step in steps:
        op.ledger.guard()
        try:
            obj = op.ledger.fenced_cluster.submit(step.manifest, op.manager)
            notes = tuple(describe_status(step.manifest, obj))
        except errors.Conflict as error:
            if not _is_bound(op, step):
                reason = http.client.responses.get(error.code, "Conflict")
                raise errors.Rejected(
                    step.ref, error.code, reason, error.message
                ) from error
            notes = ("the Pod is bound to the Node already",)
        except errors.DependencyMissing as error:
            rejected = errors.Rejected(step.ref, 409, "Conflict", error.why)
            rejected.deadline_passed = error.deadline_passed
            raise rejected from error
        LOG.info("%s (%s): %s", step.ref, step.where, ", ".join(notes))
        op.create_only_results.append(
            ObjectResult(
                step.ref,
                Action.SENT,
                Verdict(State.CURRENT, "answered by the server, not stored"),
                notes=(f"from {step.where}", *notes),
            )
        )


def _is_bound(op: Session, step: Submit) -> bool:
    ref = step.ref
    if ref.group_kind != BINDING:
        return False
    pod = op.cluster.get(ref._replace(kind="Pod"))
    node = objects.field(pod, ("spec", "nodeName"))
    return bool(node == objects.field(step.manifest, ("target", "name")))


def describe_status(manifest: Manifest, obj: Manifest) -> Iterator[str]:
    """Yield the status in a response, a line for each value.

    A text is shown only if the server writes it for a reader, and without
    what is secret in the request or in the response; a list by its length.
    """
    secrets = redaction.known_secrets(str(manifest["kind"]), manifest, obj)
    yield from _lines("status", obj.get("status"), secrets)


def _lines(path: str, value: Any, secrets: Sequence[str]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _lines(f"{path}.{key}", item, secrets)
    elif isinstance(value, list):
        yield f"{path}: {len(value)} item(s)"
    elif isinstance(value, str):
        shown = HIDDEN
        if path.rpartition(".")[2] in _SHOWN:
            shown = redaction.remove_secrets(value, secrets)
        yield f"{path}: {shown}"
    elif value is not None:
        yield f"{path}: {str(value).lower()}"
