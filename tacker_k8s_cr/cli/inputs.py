"""Read the package, the policy and the record that arguments name."""

from __future__ import annotations

import argparse
import pathlib
from typing import TYPE_CHECKING, Any, TextIO

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef

if TYPE_CHECKING:
    from tacker_k8s_cr.kube.protocol import Cluster
    from tacker_k8s_cr.model.package import Package
    from tacker_k8s_cr.plan.inventory import Inventory
    from tacker_k8s_cr.state.record_secrets import StoredRecord

DEFAULT = "default"
"""The namespace of an instance if no option names one."""


def load_package(args: argparse.Namespace, stdin: TextIO | None) -> Package:
    """Load the package that the arguments name.

    :param stdin: the stream that the path ``-`` stands for.
    """
    source = getattr(stdin, "buffer", None)
    if "-" in args.paths and source is None:
        raise errors.RequestInvalid("-: standard input is closed")
    return k8s_cr.load(
        *args.paths,
        def_files=args.lcm_kubernetes_def_files or None,
        flavour=args.flavour,
        stdin=source,
        field_validation=args.field_validation,
    )


def apply_options(
    args: argparse.Namespace, cluster: Cluster
) -> k8s_cr.Options:
    """Return the options with which a package is applied."""
    return k8s_cr.Options(
        dry_run=args.dry_run,
        check_permissions=args.check_permissions,
        field_conflicts=args.field_conflicts,
        field_validation=args.field_validation,
        stall_timeout=args.stall_timeout,
        on_failure=args.on_failure,
        adopt=frozenset(
            _object("--adopt", text, args, cluster) for text in args.adopt
        ),
        delete_foreign_objects=getattr(args, "delete_foreign_objects", False),
        recreate=frozenset(
            _object("--recreate", text, args, cluster)
            for text in getattr(args, "recreate", ())
        ),
        rollout=getattr(args, "rollout", "allow"),
        kubernetes_upgrade=getattr(args, "kubernetes_upgrade", "with_change"),
        resend=args.resend,
        transfer_from={
            _object("--transfer-from", text, args, cluster): instance
            for instance, text in args.transfer_from
        },
    )


_OPERATION_OPTIONS = (
    "autoscaler_limits",
    "delete_foreign_objects",
    "grace_seconds",
    "machine_heal_strategy",
    "resend",
)
"""Options that some operations on an existing instance have."""


def operation_options(args: argparse.Namespace) -> k8s_cr.Options:
    """Return the options of a heal, a rollback or a scale."""
    own = {
        key: getattr(args, key) for key in _OPERATION_OPTIONS if key in args
    }
    return k8s_cr.Options(
        stall_timeout=args.stall_timeout, on_failure=args.on_failure, **own
    )


def termination_options(
    args: argparse.Namespace, cluster: Cluster
) -> k8s_cr.Options:
    """Return the options of a termination."""
    from tacker_k8s_cr.model import selectors

    keeps = {
        selectors.parse_subject(text, "--keep"): True for text in args.keep
    }
    deletes = {
        selectors.parse_subject(text, "--delete"): False
        for text in args.delete
    }
    if both := sorted(str(s) for s in keeps.keys() & deletes.keys()):
        raise errors.RequestInvalid(
            f"--keep and --delete: {', '.join(both)} is in both"
        )
    return k8s_cr.Options(
        grace_seconds=args.grace_seconds,
        delete_foreign_objects=args.delete_foreign_objects,
        on_terminate={**keeps, **deletes},
        statefulset_claims=args.statefulset_claims,
        cleanup=frozenset(args.cleanup) - {"nothing"}
        if args.cleanup
        else None,
        remove_finalizers=frozenset(
            _object("--remove-finalizers", text, args, cluster)
            for text in args.remove_finalizers
        ),
    )


def _object(
    option: str, text: str, args: argparse.Namespace, cluster: Cluster
) -> ObjectRef:
    """Parse an object; the default namespace is that of the instance."""
    from tacker_k8s_cr.model import selectors

    parsed = selectors.parse_subject(text, option)
    if not isinstance(parsed, ObjectRef):
        raise errors.RequestInvalid(
            f"{option}: {text}: expected KIND/NAME or KIND/NAMESPACE/NAME"
        )
    if parsed.namespace or not cluster.resource(parsed.group_kind).namespaced:
        return parsed
    return parsed._replace(namespace=_namespace(args, cluster))


def read_policy(args: argparse.Namespace) -> k8s_cr.Policy | None:
    """Return the policy of the arguments and their file; None without one.

    Raises RequestInvalid.
    """
    from tacker_k8s_cr.kinds import policy as policies

    values: dict[str, Any] = {}
    if args.policy:
        found = _read(pathlib.Path(args.policy))
        if not isinstance(found, dict):
            raise errors.RequestInvalid(f"{args.policy}: expected a mapping")
        values = dict(found)
    if args.namespace_mode:
        values["namespace_mode"] = args.namespace_mode
    if claims := getattr(args, "statefulset_claims", ""):
        values["statefulset_claims"] = claims
    if args.expected_kinds:
        values["expected_kinds"] = [
            *(values.get("expected_kinds") or ()),
            *args.expected_kinds,
        ]
    if not values:
        return None
    try:
        return policies.from_dict(values)
    except errors.RequestInvalid as error:
        where = f"{args.policy}: " if args.policy else ""
        raise errors.RequestInvalid(f"{where}{error}") from error


def _read(path: pathlib.Path) -> Any:
    from tacker_k8s_cr.package import documents
    from tacker_k8s_cr.package import files

    try:
        text = files.read_named_file(path)
    except files.UnreadableFile as error:
        raise errors.RequestInvalid(f"{path}: {error}") from error
    parsed, problems = documents.read(text, str(path))
    if problems:
        raise errors.PackageInvalid(problems)
    if len(parsed) != 1:
        raise errors.RequestInvalid(
            f"{path}: expected one document, got {len(parsed)}"
        )
    return parsed[0].value


def read_inventory(args: argparse.Namespace, cluster: Cluster) -> Inventory:
    """Return the inventory in the record. Raises InstanceNotFound."""
    entry = _entry(args, cluster)
    if entry is None:
        raise errors.InstanceNotFound(args.name, _record_namespace(args))
    return entry.inventory


def _namespace(args: argparse.Namespace, cluster: Cluster) -> str:
    """Return the instance's namespace: that of the option or the record."""
    if args.namespace or not args.record_namespace:
        return str(args.namespace) or DEFAULT
    entry = _entry(args, cluster)
    return entry.inventory.namespace if entry else DEFAULT


def _entry(args: argparse.Namespace, cluster: Cluster) -> StoredRecord | None:
    from tacker_k8s_cr.plan import inventory as inventories
    from tacker_k8s_cr.state import store

    name = inventories.require_valid_name(args.name)
    return store.read(cluster, name, _record_namespace(args))


def _record_namespace(args: argparse.Namespace) -> str:
    """Return the namespace of the record."""
    return str(args.record_namespace or args.namespace) or DEFAULT
