"""Operators of databases."""

from __future__ import annotations

from tacker_k8s_cr.kinds.operators.kind_rules import KindRules

_STATE_READY = ("status.state=ready|paused",)

ROWS: tuple[KindRules, ...] = (
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
)
