"""Options on what a termination deletes and keeps."""

from __future__ import annotations

from tacker_k8s_cr.model.option_table.option import Option
from tacker_k8s_cr.model.option_table.option import Type

PERIOD = (
    Option(
        "grace_seconds",
        Type.COUNT,
        "termination grace period, also of the Pods of workloads",
        shown_default="the object's own",
        commands=("heal", "terminate"),
        section="deletion",
        metavar="N",
    ),
    Option(
        "force",
        Type.CONSTANT,
        "the same as --grace-seconds 0",
        constant=("grace_seconds", 0),
        commands=("terminate",),
        section="deletion",
    ),
)

TERMINATION = (
    Option(
        "on_terminate",
        Type.GROUP,
        "what a termination keeps or deletes",
        note="In the request of a termination it overrides manifests, "
        "before that it does not.",
        request=("instantiate", "change", "terminate"),
    ),
    Option(
        "on_terminate.keep",
        Type.SUBJECTS,
        "kinds and objects that a termination keeps, with their dependencies",
        note="In tacker.conf kinds only, such as PersistentVolumeClaim; "
        "manifests and requests take precedence.",
        default=[],
        conf=True,
        request=("instantiate", "change", "terminate"),
        commands=("terminate",),
        section="deletion",
        metavar="KIND[/NAMESPACE/NAME]",
    ),
    Option(
        "on_terminate.delete",
        Type.SUBJECTS,
        "kinds and objects that a termination deletes although manifests or "
        "the policy keep them",
        request=("instantiate", "change", "terminate"),
        commands=("terminate",),
        section="deletion",
        metavar="KIND[/NAMESPACE/NAME]",
    ),
    Option(
        "statefulset_claims",
        Type.CHOICE,
        "PersistentVolumeClaims that StatefulSets created from their "
        "volumeClaimTemplates",
        {
            "delete": "A termination, or the rollback of an instantiation, "
            "deletes them.",
            "retain": "It retains them, and the volumes of the package that "
            "are bound to them.",
        },
        note="persistentVolumeClaimRetentionPolicy.whenDeleted of a manifest "
        "takes precedence over tacker.conf and over the request of an "
        "instantiation, and that of a termination over the manifest.",
        default="delete",
        shown_default="retain if the manifest sets whenDeleted: Retain, else "
        "delete",
        inherited=True,
        conf=True,
        request=("instantiate", "terminate"),
        commands=("instantiate", "terminate"),
        section="deletion",
    ),
    Option(
        "cleanup",
        Type.CHOICES,
        "objects to remove in a workload cluster before its Cluster is "
        "deleted",
        {
            "services": "Services of the type LoadBalancer; their cloud "
            "resources may otherwise be left behind.",
            "persistentvolumeclaims": "Volume claims, with the workloads "
            "that use them.",
        },
        note="An empty list in a request removes nothing, regardless of the "
        "Cluster's manifest.",
        default=[],
        shown_default="as in the Cluster's manifest",
        conf=True,
        conf_values=("services",),
        command_values={"nothing": "Nothing is removed."},
        request=("terminate",),
        commands=("terminate",),
        section="deletion",
    ),
    Option(
        "remove_finalizers",
        Type.OBJECTS,
        "objects of the instance whose finalizers are removed after their "
        "deletion was requested",
        note="External resources of their controllers may be left behind.",
        request=("terminate",),
        commands=("terminate",),
        section="deletion",
        metavar="KIND/NAMESPACE/NAME",
    ),
    Option(
        "delete_foreign_objects",
        Type.FLAG,
        "deletion of objects of other owners with a namespace or definition "
        "of the instance",
        default=False,
        request=("change", "terminate"),
        commands=("change", "forecast", "rollback", "terminate"),
        section="deletion",
    ),
)
