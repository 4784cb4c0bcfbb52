"""Operators that deploy applications, and run workflows."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

ROWS: tuple[KindRules, ...] = (
    # The custom resource has no status sub-resource, but a status.
    KindRules(
        "argoproj.io",
        ("Application",),
        "argoproj/argo-cd pkg/apis/application/v1alpha1/types.go",
        ("status.sync.status=Synced", "status.health.status=Healthy"),
    ),
    KindRules(
        "argoproj.io",
        ("ApplicationSet",),
        "argoproj/argo-cd pkg/apis/application/v1alpha1/"
        "applicationset_types.go",
        ("condition=ResourcesUpToDate",),
    ),
    # The observed generation is text.
    KindRules(
        "argoproj.io",
        ("Rollout",),
        "argoproj/argo-rollouts pkg/apis/rollouts/v1alpha1/types.go",
        (
            "status.observedGeneration=.metadata.generation",
            "status.phase=Healthy",
        ),
    ),
    KindRules(
        "argoproj.io",
        ("Workflow",),
        "argoproj/argo-workflows pkg/apis/workflow/v1alpha1/workflow_phase.go",
        ("status.phase=Succeeded",),
        ("status.phase=Failed|Error",),
        ephemeral=True,
    ),
    KindRules(
        "argoproj.io",
        ("ClusterWorkflowTemplate", "CronWorkflow", "WorkflowTemplate"),
        "argoproj/argo-workflows pkg/apis/workflow/v1alpha1/"
        "cron_workflow_types.go",
    ),
)
