"""Operators of volumes, object stores and backups."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

_PHASE_READY = ("status.phase=Ready",)

ROWS: tuple[KindRules, ...] = (
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
)
