"""Transcoders: a number of workers, and a phase."""

from __future__ import annotations

from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import fields
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import Verdict


def transcoder(obj: Manifest) -> Verdict:
    """Judge by the phase; its controller reports observedGeneration."""
    if verdict := base.observed_verdict(obj):
        return verdict
    phase = fields.text(obj, ("status", "phase"))
    if phase == "Rejected":
        return base.failed(phase)
    if phase == "Running":
        return base.current(phase)
    return base.in_progress(f"phase {phase}" if phase else "no phase yet")


HANDLER = Handler(transcoder, replicas=("spec", "workers"))
