"""The options that commands share, and reading what they are given."""

from __future__ import annotations

import argparse
import re

TIMEOUT = "30m"

_UNITS = {"s": 1, "m": 60, "h": 3600}


def seconds(text: str) -> float:
    """``90``, ``90s``, ``5m``, ``1h30m``: a time of more than nothing."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smh])", text)
    if re.fullmatch(r"\d+(\.\d+)?", text):
        total = float(text)
    elif parts and "".join(map("".join, parts)) == text:
        total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    else:
        total = 0.0
    if not total:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time: write seconds, or a form such as 90s, 5m "
            "or 1h30m"
        )
    return total


def count(text: str) -> int:
    """A whole number that is not below zero."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(
            f"{text!r} is no whole number from 0 on"
        )
    return int(text)


def add_instance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="the instance: lower case letters, digits, '-' and '.', at most "
        "63 characters",
    )


def add_package(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="a CSAR (zip or folder), or files and folders of manifests; - "
        "for manifests on standard input",
    )
    group = parser.add_argument_group("CSAR")
    group.add_argument(
        "--flavour",
        metavar="FLAVOUR",
        default="",
        help="deployment flavour of the VNFD [the only one]",
    )
    group.add_argument(
        "--def-file",
        metavar="FILE",
        action="append",
        dest="def_files",
        help="path of a manifest file in the CSAR; repeatable, in the given "
        "order [all manifest files]",
    )


def add_cluster(parser: argparse.ArgumentParser, timeout: str) -> None:
    """Which cluster, where in it, and for how long."""
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="several with ':' between; else what KUBECONFIG names, else "
        "~/.kube/config, else the service account of the pod",
    )
    group.add_argument(
        "--context", metavar="CONTEXT", help="another than the current one"
    )
    group.add_argument(
        "-n",
        "--namespace",
        metavar="NAMESPACE",
        default="",
        help="that of the instance: where objects go that name none, and "
        "where its record lies; default unless given",
    )
    group.add_argument(
        "--record-namespace",
        metavar="NAMESPACE",
        default="",
        help="where the record of the instance lies, if not in its own "
        "namespace; given when it is instantiated, and from then on",
    )
    group.add_argument(
        "--insecure",
        action="store_true",
        help="trust any server that answers: do not verify its certificate",
    )
    group.add_argument(
        "--timeout",
        metavar="TIME",
        type=seconds,
        default=seconds(timeout),
        help="for the whole operation, in seconds or such as 90s, 5m, 1h30m; "
        f"{timeout} unless given",
    )


def assignment(text: str) -> tuple[str, str]:
    """``NAME=VALUE``."""
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not VDU=KIND/OBJECT")
    return name, value


def gift(text: str) -> tuple[str, str]:
    """``INSTANCE=KIND/OBJECT``: from whom, and what."""
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not INSTANCE=KIND/NAMESPACE/OBJECT"
        )
    return name, value


def add_waiting(parser: argparse.ArgumentParser) -> None:
    """When an operation ends early."""
    parser.add_argument(
        "--blocked-after",
        metavar="TIME",
        type=seconds,
        default=300.0,
        help="end as blocked when an object shows the same error and does "
        "not move for that long; 5m unless given",
    )
    parser.add_argument(
        "--on-failed",
        choices=("end", "settle"),
        default="end",
        help="when an object failed or is blocked: end at once, or first wait "
        "until all others have settled; %(default)s unless given",
    )


def add_policy(parser: argparse.ArgumentParser) -> None:
    """What is said on a package as a whole."""
    group = parser.add_argument_group("policy")
    group.add_argument(
        "--namespaces",
        choices=("fill", "override", "refuse"),
        help="what becomes of a manifest that names another namespace: it "
        "stays there (fill, unless given), goes to that of the instance "
        "(override), or is an error (refuse)",
    )
    group.add_argument(
        "--policy",
        metavar="FILE",
        help="readiness rules and what a change may prune, as YAML or JSON",
    )
    group.add_argument(
        "--expects",
        metavar="KIND.GROUP[:Cluster]",
        action="append",
        help="a kind that something of the package brings while it comes up; "
        "with :Cluster where it has no namespaces; may be given several times",
    )
    group.add_argument(
        "--vdu",
        metavar="VDU=KIND/OBJECT",
        type=assignment,
        action="append",
        help="which object bears the number of a VDU; may be given several "
        "times",
    )


def add_writing(parser: argparse.ArgumentParser) -> None:
    """How a package is applied."""
    group = parser.add_argument_group("writing")
    group.add_argument(
        "--adopt",
        metavar="KIND/NAMESPACE/OBJECT",
        action="append",
        default=[],
        help="take this object over from whoever has it, unless that is "
        "another instance; may be given several times",
    )
    group.add_argument(
        "--take-from",
        metavar="INSTANCE=KIND/NAMESPACE/OBJECT",
        type=gift,
        action="append",
        default=[],
        help="take this object over from that instance, which gives it up; "
        "may be given several times",
    )
    group.add_argument(
        "--no-dry-run",
        dest="dry_run",
        action="store_false",
        help="do not let the server check every object before the first "
        "write: faster, and what it refuses is found half way",
    )
    group.add_argument(
        "--no-check-rights",
        dest="check_rights",
        action="store_false",
        help="do not ask before the first write whether all rights are "
        "there that the package needs",
    )
    group.add_argument(
        "--conflict",
        choices=("fail", "take", "leave"),
        default="fail",
        help="with a field that somebody else owns; %(default)s unless given",
    )
    group.add_argument(
        "--field-validation",
        choices=("strict", "warn"),
        default="strict",
        help="unknown fields of manifests and repeated keys or variables: "
        "refused, or left out with a warning [%(default)s]",
    )
    add_resend(group)


def add_resend(parser: argparse._ActionsContainer) -> None:
    """Add the option to send objects that an apply would not change."""
    parser.add_argument(
        "--resend",
        action="store_true",
        help="send every object, including those that an apply would not "
        "change; admission then runs for all of them",
    )


def add_changing(parser: argparse.ArgumentParser) -> None:
    """What a change of package may do to what is there."""
    group = parser.add_argument_group("changing")
    group.add_argument(
        "--recreate",
        metavar="KIND/NAMESPACE/OBJECT",
        action="append",
        default=[],
        help="where this object cannot be changed in place, delete it and "
        "make it again; may be given several times",
    )
    group.add_argument(
        "--rollout",
        choices=("allow", "refuse"),
        default="allow",
        help="whether machines may be replaced, or that is refused before "
        "anything is written; %(default)s unless given",
    )
    group.add_argument(
        "--versions",
        choices=("together", "first"),
        default="together",
        help="whether workload clusters get another version of Kubernetes "
        "together with all else that differs, or first: the rest follows "
        "when they have it; %(default)s unless given",
    )


def add_losing(parser: argparse.ArgumentParser) -> None:
    """Whether what others made may go too."""
    parser.add_argument(
        "--lose-others",
        action="store_true",
        help="delete namespaces and definitions of the instance even though "
        "objects of others go with them",
    )


def add_claims(parser: argparse._ActionsContainer) -> None:
    """Add the option for the volume claims of StatefulSets."""
    parser.add_argument(
        "--statefulset-claims",
        choices=("delete", "retain"),
        default="",
        help="what a termination does with the volume claims of StatefulSets "
        "(default: retain if the manifest sets whenDeleted: Retain, "
        "else delete)",
    )


def add_ending(parser: argparse.ArgumentParser) -> None:
    """What is kept at an instance's end, and what is done for it to come."""
    group = parser.add_argument_group("ending")
    group.add_argument(
        "--grace-seconds",
        metavar="N",
        type=count,
        help="for pods and others that end gracefully, also those of "
        "workloads; what each says itself unless given",
    )
    group.add_argument(
        "--force",
        dest="grace_seconds",
        action="store_const",
        const=0,
        help="end pods at once: the same as --grace-seconds 0",
    )
    group.add_argument(
        "--keep",
        metavar="KIND[/NAMESPACE/OBJECT]",
        action="append",
        default=[],
        help="leave these, with all that they need, to nobody; may be given "
        "several times",
    )
    group.add_argument(
        "--delete",
        metavar="KIND[/NAMESPACE/OBJECT]",
        action="append",
        default=[],
        help="delete these although their manifests or the policy keep them; "
        "may be given several times",
    )
    add_claims(group)
    group.add_argument(
        "--clear",
        choices=("load-balancers", "claims", "nothing"),
        action="append",
        help="before a Cluster is deleted, remove in its workload cluster "
        "the Services of the type LoadBalancer, or the volume claims with "
        "the workloads that use them, and wait until they are gone; may be "
        "given several times; what its manifest says unless given",
    )
    group.add_argument(
        "--remove-finalizers",
        metavar="KIND/NAMESPACE/OBJECT",
        action="append",
        default=[],
        help="take all finalizers off this object of the instance once it "
        "is asked to go; what their controllers would have cleaned up is "
        "left behind; may be given several times",
    )
