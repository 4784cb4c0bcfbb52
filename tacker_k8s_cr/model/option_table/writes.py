"""Options on how objects are written, and who manages them."""

from __future__ import annotations

from tacker_k8s_cr.model.option_table.option import APPLIES
from tacker_k8s_cr.model.option_table.option import CHANGES
from tacker_k8s_cr.model.option_table.option import COMMANDS
from tacker_k8s_cr.model.option_table.option import PACKAGES
from tacker_k8s_cr.model.option_table.option import Option
from tacker_k8s_cr.model.option_table.option import Type

WRITES = (
    Option(
        "dry_run",
        Type.FLAG,
        "dry run of every object before the first write",
        note="It costs a request for each object.",
        default=True,
        conf=True,
        request=APPLIES,
        commands=PACKAGES,
        section="apply",
    ),
    Option(
        "resend",
        Type.FLAG,
        "requests for all objects, including those that an apply would not "
        "change",
        note="Admission then runs for all of them. It costs a request for "
        "each object, and another for its dry run.",
        default=False,
        conf=True,
        request=APPLIES,
        commands=(*PACKAGES, "heal", "rollback"),
        section="apply",
    ),
    Option(
        "field_conflicts",
        Type.CHOICE,
        "handling of fields that another field manager owns",
        {
            "fail": "The operation fails and names the field and its owner.",
            "force": "The field is overwritten.",
            "ignore": "The field is left as it is.",
        },
        note="An annotation on a manifest takes precedence.",
        default="fail",
        conf=True,
        request=CHANGES,
        commands=PACKAGES,
        section="apply",
    ),
    Option(
        "field_validation",
        Type.CHOICE,
        "handling of unknown fields of manifests, and of repeated keys and "
        "variables",
        {
            "strict": "They are refused; the error names each.",
            "warn": "Unknown fields are left out, the last of repeated ones "
            "is used, each with a warning. It costs a request for each "
            "object.",
        },
        note="Tacker's own driver accepts them without a warning.",
        default="strict",
        conf=True,
        request=CHANGES,
        commands=PACKAGES,
        section="apply",
    ),
    Option(
        "check_permissions",
        Type.FLAG,
        "check, before the first write, of the permissions that the package "
        "needs",
        note="The error names all missing permissions. It costs a request "
        "for each kind and namespace.",
        default=True,
        conf=True,
        commands=PACKAGES,
        section="apply",
    ),
)

OWNERSHIP = (
    Option(
        "record_namespace",
        Type.NAMESPACE,
        "namespace of the record of the instance",
        note="It must exist. The record of an instance stays where it was "
        "created; do not change the option during an instantiation.",
        default="",
        shown_default="the namespace of the instance",
        conf=True,
        request=("instantiate",),
        commands=COMMANDS,
        section="cluster",
        metavar="NAMESPACE",
    ),
    Option(
        "adopt",
        Type.OBJECTS,
        "existing objects to adopt that no other instance manages",
        request=CHANGES,
        commands=PACKAGES,
        section="apply",
        metavar="KIND/NAMESPACE/NAME",
    ),
    Option(
        "transfer_from",
        Type.TRANSFERS,
        "objects to transfer from another instance to this one",
        note="By the id of the other instance.",
        request=CHANGES,
        commands=PACKAGES,
        section="apply",
        metavar="INSTANCE=KIND/NAMESPACE/NAME",
    ),
)
