"""Operators that manage resources of clouds."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

ROWS: tuple[KindRules, ...] = (
    KindRules(
        "pkg.crossplane.io",
        ("Configuration", "Function", "Provider"),
        "crossplane/crossplane apis/pkg/v1/conditions.go",
        ("condition=Installed", "condition=Healthy"),
    ),
    KindRules(
        "apiextensions.crossplane.io",
        ("CompositeResourceDefinition",),
        "crossplane/crossplane apis/apiextensions/v1/conditions.go",
        ("condition=Established",),
    ),
    KindRules(
        "apiextensions.crossplane.io",
        ("Composition",),
        "crossplane/crossplane apis/apiextensions/v1/composition_types.go",
    ),
    KindRules(
        "*.crossplane.io",
        ("ClusterProviderConfig", "ProviderConfig"),
        "crossplane/crossplane-runtime: only its users are counted",
    ),
    KindRules(
        "*.upbound.io",
        ("ClusterProviderConfig", "ProviderConfig"),
        "crossplane/crossplane-runtime: only its users are counted",
    ),
    # Those of today show Ready as well; this is true of all.
    KindRules(
        "*.services.k8s.aws",
        (),
        "aws-controllers-k8s/runtime apis/core/v1alpha1/conditions.go",
        ("condition=ACK.ResourceSynced",),
        ("condition=ACK.Terminal",),
    ),
)
