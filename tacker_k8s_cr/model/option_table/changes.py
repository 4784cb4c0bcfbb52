"""Options on how an operation changes replicas and machines."""

from __future__ import annotations

from tacker_k8s_cr.model.option_table.option import WAITS
from tacker_k8s_cr.model.option_table.option import Option
from tacker_k8s_cr.model.option_table.option import Type

STRATEGIES = (
    Option(
        "on_failure",
        Type.CHOICE,
        "behaviour when an object failed or is blocked",
        {
            "fail_fast": "The operation fails at once.",
            "wait_all": "The operation waits until all others have settled.",
        },
        default="fail_fast",
        conf=True,
        request=WAITS,
        commands=(*WAITS, "forecast", "rollback"),
    ),
    Option(
        "recreate",
        Type.OBJECTS,
        "objects to delete and create again if they cannot be changed in "
        "place",
        note="Their data is lost.",
        request=("change",),
        commands=("change", "forecast"),
        section="change",
        metavar="KIND/NAMESPACE/NAME",
    ),
    Option(
        "rollout",
        Type.CHOICE,
        "replacement of machines of workload clusters by a change of package",
        {
            "allow": "They are replaced, which the log announces.",
            "refuse": "The change is refused, and names them and the cause.",
        },
        default="allow",
        conf=True,
        request=("change",),
        commands=("change", "forecast"),
        section="change",
    ),
    Option(
        "kubernetes_upgrade",
        Type.CHOICE,
        "order of a Kubernetes upgrade of workload clusters in a change of "
        "package",
        {
            "with_change": "Together with all other changes.",
            "before_change": "Other changes follow after the upgrade.",
        },
        default="with_change",
        conf=True,
        request=("change",),
        commands=("change", "forecast"),
        section="change",
    ),
    Option(
        "autoscaler_limits",
        Type.CHOICE,
        "limits of an autoscaler that manages the replicas to scale",
        {
            "keep": "The scale is refused, and names the autoscaler.",
            "adjust": "They are adjusted to include the requested number.",
        },
        note="An annotation on the object takes precedence.",
        default="keep",
        conf=True,
        request=("scale",),
        commands=("scale",),
    ),
    Option(
        "machines_to_delete",
        Type.MACHINES,
        "Machines, by name or UID, to delete first when scaling in",
        note="In a request, by the resourceId of the computeResource of "
        "their VNFC or by UID. The controller selects the rest.",
        request=("scale",),
        commands=("scale",),
        metavar="MACHINE",
    ),
    Option(
        "machine_heal_strategy",
        Type.CHOICE,
        "replacement of machines of workload clusters by a heal",
        {
            "delete": "They are deleted.",
            "remediate": "They are annotated for a MachineHealthCheck.",
        },
        note="An annotation on the object that they belong to takes "
        "precedence.",
        default="delete",
        conf=True,
        request=("heal",),
        commands=("heal",),
    ),
)

MEMBERS = (
    Option(
        "replicas",
        Type.COUNT,
        "desired number of replicas",
        commands=("scale",),
        metavar="N",
    ),
    Option(
        "aspect",
        Type.TEXT,
        "scaling aspect of the VNFD of the package",
        commands=("scale",),
        metavar="ASPECT",
    ),
    Option(
        "number_of_steps",
        Type.INTEGER,
        "number of steps to scale out; negative to scale in",
        commands=("scale",),
        metavar="N",
        exclusive_group="target",
    ),
    Option(
        "level",
        Type.COUNT,
        "target scale level",
        commands=("scale",),
        metavar="LEVEL",
        exclusive_group="target",
    ),
    Option(
        "all",
        Type.FLAG,
        "all members of the instance",
        default=False,
        commands=("heal",),
    ),
)
