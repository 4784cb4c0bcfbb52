"""Options of the conductor's configuration file."""

from __future__ import annotations

from oslo_config import cfg

from tacker_k8s_cr.driver.options_delivery import DELIVERY
from tacker_k8s_cr.driver.options_delivery import YEAR

GROUP = cfg.OptGroup(
    "tacker_k8s_cr",
    title="Instances of VNF packages with Kubernetes manifests",
)

NAMESPACE = "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$"

OPERATIONS = (
    cfg.BoolOpt(
        "v2",
        default=True,
        help="Serve Tacker's v2 API too: VIMs of the type "
        "ETSINFV.KUBERNETES.V_1 get this driver in the place of Tacker's "
        "own. It is read when the conductor starts.",
    ),
    cfg.IntOpt(
        "instantiate_timeout",
        default=1800,
        min=1,
        max=YEAR,
        help="Seconds after which an instantiation ends with an error that "
        "names what is not current.",
    ),
    cfg.IntOpt(
        "scale_timeout",
        default=1800,
        min=1,
        max=YEAR,
        help="Seconds after which a scale ends with such an error.",
    ),
    cfg.IntOpt(
        "heal_timeout",
        default=1800,
        min=1,
        max=YEAR,
        help="Seconds after which a heal ends with such an error.",
    ),
    cfg.IntOpt(
        "change_timeout",
        default=1800,
        min=1,
        max=YEAR,
        help="Seconds after which a change of the package, or its rollback, "
        "ends with such an error.",
    ),
    cfg.IntOpt(
        "terminate_timeout",
        default=1800,
        min=1,
        max=YEAR,
        help="Seconds after which a termination ends with an error that "
        "names what is not gone. A graceful termination has its own time-out "
        "added.",
    ),
    cfg.IntOpt(
        "blocked_after",
        default=300,
        min=1,
        max=YEAR,
        help="Seconds after which an object that keeps showing the same "
        "error, or has it below, ends an operation when nothing moves.",
    ),
    cfg.StrOpt(
        "on_failed",
        default="end",
        choices=[
            ("end", "End the operation at once."),
            ("settle", "Wait until all other objects have settled."),
        ],
        help="What to do when an object failed or is blocked.",
    ),
    cfg.StrOpt(
        "rollout",
        default="allow",
        choices=[
            ("allow", "Replace them, and say so in the log before."),
            ("refuse", "Refuse the change, naming them and the cause."),
        ],
        help="What to do when a change of package would replace machines of "
        "workload clusters.",
    ),
    cfg.StrOpt(
        "versions",
        default="together",
        choices=[
            ("together", "With all else that differs: machines go once."),
            ("first", "The rest follows when they have got there."),
        ],
        help="When a change of package takes workload clusters to another "
        "version of Kubernetes.",
    ),
    cfg.StrOpt(
        "autoscaled",
        default="refuse",
        choices=[
            ("refuse", "Refuse the scale, naming the autoscaler."),
            ("move", "Move its bounds so that there are so many at least."),
        ],
        help="What to do when a scale is to set a number that an autoscaler "
        "keeps. What a request or the object itself says wins.",
    ),
    cfg.StrOpt(
        "heal_machines",
        default="delete",
        choices=[
            ("delete", "Delete them."),
            ("remediate", "Mark them for a MachineHealthCheck."),
        ],
        help="How a heal replaces the machines of workload clusters. What a "
        "request, or the object that they work for, says wins.",
    ),
    cfg.IntOpt(
        "pool_size",
        default=16,
        min=1,
        max=256,
        help="Requests to one API server that may be under way at once, for "
        "each operation.",
    ),
    cfg.BoolOpt(
        "dry_run",
        default=True,
        help="Let the API server check every object of a package before the "
        "first one is written. It costs a request for each.",
    ),
    cfg.BoolOpt(
        "resend",
        default=False,
        help="Send every object of a package in a change, a heal or a "
        "rollback, including those that an apply would not change. Admission "
        "then runs for all of them. It costs a request for each, and another "
        "for its dry run.",
    ),
    cfg.StrOpt(
        "conflict",
        default="fail",
        choices=[
            ("fail", "End the operation and name the field and its owner."),
            ("take", "Take the field over."),
            ("leave", "Leave the field to its owner."),
        ],
        help="What to do about a field that another field manager owns, "
        "unless a manifest or a request says otherwise.",
    ),
    cfg.StrOpt(
        "field_validation",
        default="strict",
        choices=[
            ("strict", "Refuse them; the error names each with its place."),
            (
                "warn",
                "Leave unknown fields out, take the last of repeated ones, "
                "and log a warning for each. It costs a request for each "
                "object.",
            ),
        ],
        help="What to do about fields of manifests that the API server does "
        "not know, and about repeated keys and variables. Tacker's own "
        "driver accepts them without a warning.",
    ),
    cfg.BoolOpt(
        "insecure",
        default=False,
        help="Do not verify the certificates of API servers, and send "
        "credentials to those that have an http URL. Otherwise a VIM without "
        "ssl_ca_cert is verified with the system's certificates, and one "
        "without TLS is refused.",
    ),
    cfg.BoolOpt(
        "check_rights",
        default=True,
        help="Ask the API server, before the first write, whether the VIM's "
        "user has the rights that the package needs, and name all that lack. "
        "It costs a request for each kind and namespace.",
    ),
    cfg.StrOpt(
        "oidc_scope",
        default="openid",
        help="What is asked of the OpenID provider of a VIM. With "
        "``openid offline_access`` some providers give a refresh token, with "
        "which the password is sent less often.",
    ),
    cfg.StrOpt(
        "oidc_ca_file",
        help="Certificates that alone vouch for the OpenID providers of "
        "VIMs, in PEM. Without, the VIM's ssl_ca_cert and the system's "
        "certificates do. They are always verified.",
    ),
    cfg.StrOpt(
        "namespaces",
        default="fill",
        choices=[
            ("fill", "Manifests that name none get that of the request."),
            ("override", "All objects of namespaced kinds go there."),
            ("refuse", "A manifest that names another is an error."),
        ],
        help="What the namespace of a request is for the manifests of its "
        "package.",
    ),
    cfg.StrOpt(
        "record_namespace",
        default="",
        regex=NAMESPACE,
        help="Namespace of the records of new VNF instances, unless a request "
        "says otherwise; each in its own namespace where this is not set. It "
        "has to be there on every VIM. An instance that has its record stays "
        "with it; do not change this while one is being instantiated.",
    ),
    cfg.ListOpt(
        "readiness_created",
        default=[],
        help="Kinds, such as Probe.monitoring.coreos.com, whose objects are "
        "current once they are stored, unless a manifest or a request says "
        "otherwise.",
    ),
    cfg.ListOpt(
        "prune_may",
        default=[],
        help="Kinds, such as PersistentVolumeClaim, that a change of package "
        "may delete when the new package no longer names them, in addition "
        "to those that it may anyway.",
    ),
    cfg.ListOpt(
        "prune_keep",
        default=[],
        help="Kinds that a change of package keeps in any case, unless a "
        "manifest or a request says otherwise.",
    ),
    cfg.ListOpt(
        "on_terminate_keep",
        default=[],
        help="Kinds, such as PersistentVolumeClaim, whose objects a "
        "termination leaves to nobody, with all that they need, unless a "
        "manifest or a request says otherwise: what it says when an instance "
        "is made, and for what nothing was said then, what it says when the "
        "instance ends.",
    ),
    cfg.StrOpt(
        "statefulset_claims",
        default="delete",
        choices=[
            ("delete", "Delete them, and wait until they are deleted."),
            (
                "retain",
                "Retain them, and the volumes of the package that "
                "are bound to them.",
            ),
        ],
        help="What a termination does with the PersistentVolumeClaims that "
        "StatefulSets of the instance created from their "
        "volumeClaimTemplates, unless a request or the field "
        "persistentVolumeClaimRetentionPolicy.whenDeleted of a manifest "
        "specifies it.",
    ),
    cfg.BoolOpt(
        "clear_load_balancers",
        default=False,
        help="Before a Cluster is deleted, remove in its workload cluster "
        "the Services of the type LoadBalancer, and wait until they are "
        "gone: what they have in a cloud may otherwise be left there.",
    ),
    cfg.BoolOpt(
        "allow_http_manifests",
        default=False,
        help="Let a request name manifests by https and http URLs. They have "
        "to be artifacts of the package, with a hash, and are fetched by the "
        "conductor.",
    ),
    cfg.BoolOpt(
        "adopt_instances",
        default=False,
        help="At the next synchronization of Tacker's database, adopt "
        "instances of Tacker's own Kubernetes driver: their objects stay as "
        "they are, and all further operations are those of this driver. The "
        "command ``tacker-k8s-cr adopt`` does the same at once.",
    ),
)

OPTIONS = (*OPERATIONS, *DELIVERY)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """For oslo's generators of sample files and references."""
    return [(GROUP, list(OPTIONS))]
