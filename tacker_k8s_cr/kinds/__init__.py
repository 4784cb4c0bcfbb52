"""What we know about kinds: pure judgements, and the table of tables."""

from __future__ import annotations

from tacker_k8s_cr.kinds import capi
from tacker_k8s_cr.kinds import custom
from tacker_k8s_cr.kinds import definitions
from tacker_k8s_cr.kinds import gateways
from tacker_k8s_cr.kinds import judged
from tacker_k8s_cr.kinds import operators
from tacker_k8s_cr.kinds import plain
from tacker_k8s_cr.kinds import pods
from tacker_k8s_cr.kinds import services
from tacker_k8s_cr.kinds import storage
from tacker_k8s_cr.kinds import workloads
from tacker_k8s_cr.kinds.base import Registry

BUILT_IN = Registry(
    {
        **plain.HANDLERS,
        **definitions.HANDLERS,
        **storage.HANDLERS,
        **services.HANDLERS,
        **gateways.HANDLERS,
        **workloads.HANDLERS,
        **pods.HANDLERS,
        **capi.HANDLERS,
        **operators.HANDLERS,
        **judged.HANDLERS,
    },
    fallback=custom.ANY,
    families=(*capi.FAMILIES, *operators.FAMILIES),
)
