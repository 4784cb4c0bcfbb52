"""Options on what a package contains, and where its objects are created."""

from __future__ import annotations

from tacker_k8s_cr.model.option_table.option import CHANGES
from tacker_k8s_cr.model.option_table.option import COMMANDS
from tacker_k8s_cr.model.option_table.option import PACKAGES
from tacker_k8s_cr.model.option_table.option import Option
from tacker_k8s_cr.model.option_table.option import Type

TACKER = (
    Option(
        "lcm-kubernetes-def-files",
        Type.FILES,
        "manifest files of the package, in this order",
        note="Without it, v1 uses all manifests that are artifacts of the "
        "package; Tacker's v2 API requires it.",
        shown_default="all manifest files",
        request=CHANGES,
        commands=PACKAGES,
        section="CSAR",
        flag="--def-file",
        metavar="FILE",
        root=True,
    ),
    Option(
        "namespace",
        Type.NAMESPACE,
        "namespace of the instance: of objects whose manifest names none, "
        "and of the record",
        note="Without it, the namespace that all manifests name, else "
        "default.",
        default="",
        shown_default="default",
        request=CHANGES,
        commands=COMMANDS,
        section="cluster",
        metavar="NAMESPACE",
        root=True,
    ),
    Option(
        "vdu_mapping",
        Type.VDUS,
        "object that has the replicas of a VDU",
        note="By the VDU's name in the VNFD. Other VDUs are found by an "
        "annotation, by name, or because only one object is left.",
        request=CHANGES,
        commands=PACKAGES,
        section="policy",
        metavar="VDU=KIND/NAME",
        root=True,
    ),
    Option(
        "use_helm",
        Type.ANY,
        "whether Tacker's own driver, which supports charts, serves the "
        "whole request",
        request=("instantiate",),
        root=True,
    ),
)

CONTENT = (
    Option(
        "namespace_mode",
        Type.CHOICE,
        "effect of the instance's namespace on manifests",
        {
            "default": "Only manifests without a namespace get it.",
            "force": "All objects of namespaced kinds get it.",
            "strict": "A manifest that names another one is refused.",
        },
        default="default",
        conf=True,
        request=CHANGES,
        commands=PACKAGES,
        section="policy",
        inherited=True,
    ),
    Option(
        "readiness",
        Type.READINESS,
        "rules by which objects are ready or have failed",
        note="An annotation on a manifest takes precedence, and a rule for "
        "an object over a rule for its kind.",
        request=CHANGES,
    ),
    Option(
        "readiness_exists",
        Type.KINDS,
        "kinds, such as Probe.monitoring.coreos.com, whose objects are ready "
        "once they exist",
        note="A manifest or a request takes precedence.",
        default=[],
        conf=True,
    ),
    Option(
        "prune",
        Type.GROUP,
        "what a change of package deletes or keeps when the new package no "
        "longer contains it",
        request=CHANGES,
    ),
    Option(
        "prune.allow",
        Type.SUBJECTS,
        "kinds, such as PersistentVolumeClaim, that a change of package may "
        "delete in addition",
        default=[],
        conf=True,
        request=CHANGES,
    ),
    Option(
        "prune.protect",
        Type.SUBJECTS,
        "kinds that a change of package never deletes",
        note="A manifest or a request takes precedence over tacker.conf.",
        default=[],
        conf=True,
        request=CHANGES,
    ),
    Option(
        "expected_kinds",
        Type.EXPECTED_KINDS,
        "kinds that the package defines while it starts",
        note="Other unknown kinds are refused. The suffix :Cluster marks a "
        "cluster-scoped kind.",
        request=CHANGES,
        commands=PACKAGES,
        section="policy",
        metavar="KIND.GROUP[:Cluster]",
    ),
)

POLICY = (
    Option(
        "policy",
        Type.TEXT,
        "YAML or JSON file with readiness rules, prune rules and the like",
        commands=PACKAGES,
        section="policy",
        metavar="FILE",
    ),
    Option(
        "flavour",
        Type.TEXT,
        "deployment flavour of the VNFD",
        default="",
        shown_default="the only one",
        commands=PACKAGES,
        section="CSAR",
        metavar="FLAVOUR",
    ),
    Option(
        "level",
        Type.TEXT,
        "instantiation level of the VNFD",
        default="",
        shown_default="the default level of the VNFD",
        commands=("instantiate",),
        metavar="LEVEL",
    ),
)
