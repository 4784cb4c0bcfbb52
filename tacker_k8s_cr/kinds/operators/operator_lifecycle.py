"""The Operator Lifecycle Manager, which installs operators."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

ROWS: tuple[KindRules, ...] = (
    KindRules(
        "operators.coreos.com",
        ("ClusterServiceVersion",),
        "operator-framework/api pkg/operators/v1alpha1/"
        "clusterserviceversion_types.go",
        ("status.phase=Succeeded",),
    ),
    KindRules(
        "operators.coreos.com",
        ("InstallPlan",),
        "operator-framework/api pkg/operators/v1alpha1/installplan_types.go",
        ("status.phase=Complete",),
        ("status.phase=Failed",),
    ),
    KindRules(
        "operators.coreos.com",
        ("Subscription",),
        "operator-framework/api pkg/operators/v1alpha1/subscription_types.go",
        ("status.state=AtLatestKnown|UpgradeAvailable",),
    ),
    KindRules(
        "operators.coreos.com",
        ("CatalogSource",),
        "operator-framework/api pkg/operators/v1alpha1/catalogsource_types.go",
        ("status.connectionState.lastObservedState=READY",),
    ),
    KindRules(
        "operators.coreos.com",
        ("OperatorGroup",),
        "operator-framework/api pkg/operators/v1/operatorgroup_types.go",
        ("status.lastUpdated",),
    ),
)
