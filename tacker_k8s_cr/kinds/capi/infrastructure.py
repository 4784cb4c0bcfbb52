"""Infrastructure objects of any provider, by contract."""

from __future__ import annotations

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.capi import conditions
from tacker_k8s_cr.kinds.capi import contract
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Verdict


def infrastructure(obj: Manifest) -> Verdict:
    """What a provider makes for a Cluster, a Machine or a MachinePool."""
    if verdict := conditions.common_verdict(obj):
        return verdict
    paths = [contract.contract_of(obj).provisioned]
    if fields.text(obj, ("kind",)).endswith("MachinePool"):
        # Of a pool, core up to 1.14 still reads the older field.
        paths.append(contract.V1BETA1.provisioned)
    if not any(fields.is_true(obj, path) for path in paths):
        ready = fields.conditions(obj).get("Ready")
        why = f"; {ready}" if ready and not ready.is_true else ""
        return conditions.in_progress(
            obj, f"{'.'.join(paths[-1])} is not true yet{why}"
        )
    # The contract asks for no condition; one that is there must hold.
    found = fields.conditions(obj)
    present = [name for name in ("Ready",) if name in found]
    verdict = conditions.require_true(obj, found, *present)
    return verdict or base.current("provisioned")


_INFRASTRUCTURE = Handler(infrastructure)


def of_infrastructure(group_kind: GroupKind) -> Handler | None:
    """Return the handler of infrastructure of any provider, by contract.

    The group also holds kinds that are under no contract, such as the
    identities of providers; those are judged as any other kind.
    """
    if group_kind.group != contract.INFRASTRUCTURE_GROUP:
        return None
    if group_kind.kind.endswith(("Cluster", "Machine", "MachinePool")):
        return _INFRASTRUCTURE
    return None
