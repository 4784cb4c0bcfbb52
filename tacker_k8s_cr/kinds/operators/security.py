"""Operators of admission policies and secrets."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

ROWS: tuple[KindRules, ...] = (
    KindRules(
        "templates.gatekeeper.sh",
        ("ConstraintTemplate",),
        "open-policy-agent/frameworks constraint/pkg/apis/templates/v1/"
        "constrainttemplate_types.go",
        ("status.created=true",),
    ),
    KindRules(
        "constraints.gatekeeper.sh",
        (),
        "open-policy-agent/gatekeeper apis/status/v1beta1/"
        "constraintpodstatus_types.go",
        (
            "status.byPod.0.observedGeneration=.metadata.generation",
            "status.byPod.0.enforced=true",
        ),
    ),
    KindRules(
        "bitnami.com",
        ("SealedSecret",),
        "bitnami-labs/sealed-secrets pkg/apis/sealedsecrets/v1alpha1/types.go",
        ("condition=Synced",),
    ),
)
