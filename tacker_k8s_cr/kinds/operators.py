"""Kinds of operators in wide use that report in a way of their own.

Only kinds that the order of belief for unknown kinds gets wrong are here:
they report a phase only, or nothing at all, or a generation before they have
done anything about it. Each row names its source.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Resolver
from tacker_k8s_cr.model.objects import GroupKind


@dataclasses.dataclass(frozen=True)
class KindRules:
    """Kinds of one group that are judged alike.

    :param names: of the kinds; none for any kind of the group. A name or
        group that begins with a star stands for all that end so.
    :param source: where it is said what they report.
    :param ready_when: rules, all of which an object that is current meets.
    :param failed_when: rules, any of which an object that has failed meets.
        Without either, no controller reports on these kinds.
    :param ephemeral: the controller deletes an object once it is done.
    """

    group: str
    names: tuple[str, ...]
    source: str
    ready_when: tuple[str, ...] = ()
    failed_when: tuple[str, ...] = ()
    ephemeral: bool = False

    @property
    def handler(self) -> Handler:
        """Raises RequestInvalid for an invalid rule."""
        if not (self.ready_when or self.failed_when):
            return generic.STORED
        found = generic.from_rules(self.ready_when, self.failed_when)
        return dataclasses.replace(found, ephemeral=self.ephemeral)

    @property
    def is_pattern(self) -> bool:
        """Whether it covers groups or kinds that cannot be listed."""
        return "*" in self.group or not self.names

    def matches(self, group_kind: GroupKind) -> bool:
        return _matches(self.group, group_kind.group) and (
            not self.names or group_kind.kind in self.names
        )


def _matches(pattern: str, text: str) -> bool:
    if pattern.startswith("*"):
        return text.endswith(pattern[1:])
    return text == pattern


_ELASTIC = "elastic/cloud-on-k8s pkg/apis/common/v1/common.go"
_PHASE_READY = ("status.phase=Ready",)
_STATE_READY = ("status.state=ready|paused",)

ROWS: tuple[KindRules, ...] = (
    KindRules(
        "networking.istio.io",
        (
            "DestinationRule",
            "EnvoyFilter",
            "Gateway",
            "ProxyConfig",
            "ServiceEntry",
            "Sidecar",
            "VirtualService",
            "WorkloadEntry",
            "WorkloadGroup",
        ),
        "istio.io, Configuration Status Field: disabled by default",
    ),
    KindRules(
        "security.istio.io",
        (
            "AuthorizationPolicy",
            "PeerAuthentication",
            "RequestAuthentication",
        ),
        "istio.io, Configuration Status Field: disabled by default",
    ),
    KindRules(
        "telemetry.istio.io",
        ("Telemetry",),
        "istio.io, Configuration Status Field: disabled by default",
    ),
    KindRules(
        "extensions.istio.io",
        ("WasmPlugin",),
        "istio.io, Configuration Status Field: disabled by default",
    ),
    KindRules(
        "monitoring.coreos.com",
        (
            "AlertmanagerConfig",
            "PodMonitor",
            "Probe",
            "PrometheusRule",
            "ScrapeConfig",
            "ServiceMonitor",
        ),
        "prometheus-operator pkg/operator/config.go: the feature gate "
        "StatusForConfigurationResources is off",
    ),
    KindRules(
        "elasticsearch.k8s.elastic.co",
        ("Elasticsearch",),
        "elastic/cloud-on-k8s pkg/apis/elasticsearch/v1/"
        "elasticsearch_types.go",
        ("status.phase=Ready", "status.health=green|yellow"),
        ("status.phase=Invalid",),
    ),
    *(
        KindRules(group, (kind,), _ELASTIC, ("status.health=green",))
        for group, kind in (
            ("agent.k8s.elastic.co", "Agent"),
            ("apm.k8s.elastic.co", "ApmServer"),
            ("beat.k8s.elastic.co", "Beat"),
            ("enterprisesearch.k8s.elastic.co", "EnterpriseSearch"),
            ("kibana.k8s.elastic.co", "Kibana"),
            ("logstash.k8s.elastic.co", "Logstash"),
            ("maps.k8s.elastic.co", "ElasticMapsServer"),
        )
    ),
    KindRules(
        "nvidia.com",
        ("ClusterPolicy",),
        "NVIDIA/gpu-operator api/nvidia/v1/clusterpolicy_types.go",
        ("status.state=ready",),
    ),
    # What failed to be created or updated is tried again.
    KindRules(
        "acid.zalan.do",
        ("postgresql",),
        "zalando/postgres-operator pkg/apis/acid.zalan.do/v1/const.go",
        ("status.PostgresClusterStatus=Running",),
        ("status.PostgresClusterStatus=Invalid",),
    ),
    # The phase Failed is left when the next try succeeds.
    KindRules(
        "mongodbcommunity.mongodb.com",
        ("MongoDBCommunity",),
        "mongodb/mongodb-kubernetes-operator api/v1/mongodbcommunity_types.go",
        ("status.phase=Running",),
    ),
    KindRules(
        "psmdb.percona.com",
        ("PerconaServerMongoDB",),
        "percona/percona-server-mongodb-operator pkg/apis/psmdb/v1/"
        "psmdb_types.go",
        _STATE_READY,
    ),
    KindRules(
        "pxc.percona.com",
        ("PerconaXtraDBCluster",),
        "percona/percona-xtradb-cluster-operator pkg/apis/pxc/v1/pxc_types.go",
        _STATE_READY,
    ),
    KindRules(
        "postgresql.cnpg.io",
        ("Database", "Publication", "Subscription"),
        "cloudnative-pg/cloudnative-pg api/v1/database_types.go",
        ("status.applied=true",),
    ),
    KindRules(
        "postgresql.cnpg.io",
        ("Pooler",),
        "cloudnative-pg/cloudnative-pg api/v1/pooler_types.go",
        ("status.instances=.spec.instances",),
    ),
    KindRules(
        "postgresql.cnpg.io",
        ("Backup",),
        "cloudnative-pg/cloudnative-pg api/v1/backup_types.go",
        ("status.phase=completed",),
        ("status.phase=failed",),
        ephemeral=True,
    ),
    KindRules(
        "postgresql.cnpg.io",
        ("ScheduledBackup",),
        "cloudnative-pg/cloudnative-pg api/v1/scheduledbackup_types.go",
    ),
    KindRules(
        "clickhouse.altinity.com",
        ("ClickHouseInstallation",),
        "Altinity/clickhouse-operator pkg/apis/clickhouse.altinity.com/v1/"
        "type_status.go",
        ("status.status=Completed",),
    ),
    KindRules(
        "clickhouse-keeper.altinity.com",
        ("ClickHouseKeeperInstallation",),
        "Altinity/clickhouse-operator pkg/apis/"
        "clickhouse-keeper.altinity.com/v1/type_status.go",
        ("status.status=Completed",),
    ),
    KindRules(
        "rabbitmq.com",
        ("RabbitmqCluster",),
        "rabbitmq/cluster-operator api/v1beta1/rabbitmqcluster_status.go",
        (
            "condition=AllReplicasReady",
            "condition=ClusterAvailable",
            "condition=ReconcileSuccess",
        ),
    ),
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
    KindRules(
        "ceph.rook.io",
        (
            "CephBlockPool",
            "CephBlockPoolRadosNamespace",
            "CephClient",
            "CephFilesystem",
            "CephFilesystemMirror",
            "CephFilesystemSubVolumeGroup",
            "CephNFS",
            "CephObjectStoreUser",
            "CephRBDMirror",
        ),
        "rook/rook pkg/apis/ceph.rook.io/v1/types.go",
        _PHASE_READY,
    ),
    KindRules(
        "ceph.rook.io",
        ("CephCluster", "CephObjectStore"),
        "rook/rook pkg/apis/ceph.rook.io/v1/types.go",
        ("status.phase=Ready|Connected",),
    ),
    KindRules(
        "snapshot.storage.k8s.io",
        ("VolumeSnapshot", "VolumeSnapshotContent"),
        "kubernetes-csi/external-snapshotter client/apis/volumesnapshot/v1/"
        "types.go",
        ("status.readyToUse=true",),
    ),
    # One that waits for its first consumer is like a claim that binds late.
    KindRules(
        "cdi.kubevirt.io",
        ("DataVolume",),
        "kubevirt/containerized-data-importer-api pkg/apis/core/v1beta1/"
        "types.go",
        ("status.phase=Succeeded|WaitForFirstConsumer|PendingPopulation",),
        ephemeral=True,
    ),
    KindRules(
        "kubevirt.io",
        ("VirtualMachineInstance",),
        "kubevirt/api core/v1/types.go",
        ("condition=Ready",),
        ("status.phase=Failed",),
    ),
    KindRules(
        "apps.kruise.io",
        ("CloneSet", "StatefulSet"),
        "openkruise/kruise apis/apps: counters as those of the built-in kinds",
        (
            "status.updatedReplicas=.spec.replicas",
            "status.readyReplicas=.spec.replicas",
        ),
    ),
    KindRules(
        "minio.min.io",
        ("Tenant",),
        "minio/operator pkg/controller/main-controller.go",
        ("status.currentState=Initialized",),
    ),
    KindRules(
        "objectbucket.io",
        ("ObjectBucketClaim",),
        "kube-object-storage/lib-bucket-provisioner pkg/apis/"
        "objectbucket.io/v1alpha1/objectbucketclaim_types.go",
        ("status.phase=Bound",),
    ),
    KindRules(
        "opentelemetry.io",
        ("Instrumentation", "OpenTelemetryCollector"),
        "open-telemetry/opentelemetry-operator apis/v1beta1/"
        "opentelemetrycollector_types.go: it reports a version and counts",
    ),
    KindRules(
        "sparkoperator.k8s.io",
        ("SparkApplication",),
        "kubeflow/spark-operator api/v1beta2/sparkapplication_types.go",
        ("status.applicationState.state=RUNNING|COMPLETED",),
        ("status.applicationState.state=FAILED",),
        ephemeral=True,
    ),
    KindRules(
        "metal3.io",
        ("BareMetalHost",),
        "metal3-io/baremetal-operator apis/metal3.io/v1alpha1/"
        "baremetalhost_types.go",
        (
            "status.operationalStatus=OK|detached",
            "status.provisioning.state=available|ready|provisioned|"
            '"externally provisioned"|unmanaged',
        ),
    ),
    KindRules(
        "metallb.io",
        (
            "BFDProfile",
            "BGPAdvertisement",
            "BGPPeer",
            "Community",
            "IPAddressPool",
            "L2Advertisement",
        ),
        "metallb/metallb api/v1beta1: their status is empty, or counts",
    ),
    KindRules(
        "sriovnetwork.openshift.io",
        ("SriovNetworkNodePolicy", "SriovNetworkPoolConfig"),
        "k8snetworkplumbingwg/sriov-network-operator api/v1: empty status",
    ),
    KindRules(
        "keda.sh",
        ("ClusterTriggerAuthentication", "TriggerAuthentication"),
        "kedacore/keda apis/keda/v1alpha1/triggerauthentication_types.go: "
        "it lists only its users",
    ),
    KindRules(
        "projectcontour.io",
        ("HTTPProxy",),
        "projectcontour/contour apis/projectcontour/v1/detailedconditions.go",
        ("condition=Valid",),
    ),
    KindRules(
        "grafana.integreatly.org",
        ("Grafana",),
        "grafana/grafana-operator api/v1beta1/grafana_types.go",
        ("status.stage=complete", "status.stageStatus=success"),
    ),
    KindRules(
        "operator.victoriametrics.com",
        ("VMAgent", "VMAlert", "VMAlertmanager", "VMCluster", "VMSingle"),
        "VictoriaMetrics/operator api/operator/v1beta1/vmextra_types.go",
        ("status.updateStatus=operational",),
    ),
    KindRules(
        "ray.io",
        ("RayCluster",),
        "ray-project/kuberay ray-operator/apis/ray/v1/raycluster_types.go",
        ("status.state=ready|suspended",),
    ),
    KindRules(
        "ray.io",
        ("RayJob",),
        "ray-project/kuberay ray-operator/apis/ray/v1/rayjob_types.go",
        ("status.jobDeploymentStatus=Complete|Suspended",),
        ("status.jobDeploymentStatus=Failed|ValidationFailed",),
        ephemeral=True,
    ),
    KindRules(
        "flink.apache.org",
        ("FlinkDeployment", "FlinkSessionJob"),
        "apache/flink-kubernetes-operator ResourceLifecycleState.java",
        ("status.lifecycleState=STABLE|SUSPENDED",),
        ("status.lifecycleState=FAILED",),
    ),
    KindRules(
        "velero.io",
        ("Backup", "Restore"),
        "vmware-tanzu/velero pkg/apis/velero/v1/backup_types.go",
        ("status.phase=Completed",),
        ("status.phase=Failed|PartiallyFailed|FailedValidation",),
        ephemeral=True,
    ),
    KindRules(
        "velero.io",
        ("Schedule",),
        "vmware-tanzu/velero pkg/apis/velero/v1/schedule_types.go",
        ("status.phase=Enabled",),
        ("status.phase=FailedValidation",),
    ),
    KindRules(
        "velero.io",
        ("BackupStorageLocation",),
        "vmware-tanzu/velero pkg/apis/velero/v1/"
        "backupstoragelocation_types.go",
        ("status.phase=Available",),
    ),
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

HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind(row.group, name): row.handler
    for row in ROWS
    if not row.is_pattern
    for name in row.names
}

_PATTERNS = tuple((row, row.handler) for row in ROWS if row.is_pattern)


def _of_pattern(group_kind: GroupKind) -> Handler | None:
    """Return the handler of a kind that its group identifies."""
    for row, handler in _PATTERNS:
        if row.matches(group_kind):
            return handler
    return None


FAMILIES: tuple[Resolver, ...] = (_of_pattern,)
