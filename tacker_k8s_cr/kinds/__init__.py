"""What we know about kinds: pure judgements, and the table of tables."""

from __future__ import annotations

from tacker_k8s_cr.kinds import capi
from tacker_k8s_cr.kinds import crds
from tacker_k8s_cr.kinds import custom_judges
from tacker_k8s_cr.kinds import gateways
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds import networking
from tacker_k8s_cr.kinds import no_controller
from tacker_k8s_cr.kinds import operators
from tacker_k8s_cr.kinds import pods
from tacker_k8s_cr.kinds import storage
from tacker_k8s_cr.kinds import workloads
from tacker_k8s_cr.kinds.base import Registry

BUILT_IN = Registry(
    {
        **no_controller.HANDLERS,
        **crds.HANDLERS,
        **storage.HANDLERS,
        **networking.HANDLERS,
        **gateways.HANDLERS,
        **workloads.HANDLERS,
        **pods.HANDLERS,
        **capi.HANDLERS,
        **operators.HANDLERS,
        **custom_judges.HANDLERS,
    },
    fallback=generic.ANY,
    families=(*capi.FAMILIES, *operators.FAMILIES),
)
