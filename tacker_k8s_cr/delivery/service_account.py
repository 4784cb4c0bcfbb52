"""A dedicated service account in a workload cluster, and its token.

It is named after its receiver, in a namespace that is named after the
Cluster's UID, so that a repeat finds it and nothing else has its name.
Deleting the account revokes its tokens.
"""

from __future__ import annotations

import base64
import dataclasses

from tacker_k8s_cr.delivery import wait_for_object
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

CREDENTIAL_RECEIVER = objects.PREFIX + "credential-receiver"
"""Label, with the instance, on all objects created in a workload cluster."""

NAME = "tacker-k8s-cr-"

_RBAC = "rbac.authorization.k8s.io"
_ACCOUNT = "kubernetes.io/service-account"


@dataclasses.dataclass(frozen=True)
class Account:
    """Names of the objects that give one receiver access to one Cluster.

    :param uid: of the Cluster object in the management cluster.
    :param receiver: its id. Receivers share no account, so that each can be
        revoked separately.
    """

    instance: str
    uid: str
    receiver: str

    @property
    def name(self) -> str:
        return NAME + self.receiver

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("", "ServiceAccount", self.namespace.name, self.name)

    @property
    def secret(self) -> ObjectRef:
        return ObjectRef("", "Secret", self.namespace.name, self.name)

    @property
    def namespace(self) -> ObjectRef:
        return _namespace(self.uid)

    @property
    def binding(self) -> ObjectRef:
        name = f"{self.namespace.name}-{self.receiver}"
        return ObjectRef(_RBAC, "ClusterRoleBinding", "", name)

    @property
    def manager(self) -> str:
        return objects.MANAGER + self.instance

    def manifest(self, ref: ObjectRef, **fields: object) -> Manifest:
        metadata: dict[str, object] = {
            "name": ref.name,
            "labels": {CREDENTIAL_RECEIVER: self.instance},
        }
        if ref.namespace:
            metadata["namespace"] = ref.namespace
        group = f"{ref.group}/v1" if ref.group else "v1"
        return {
            "apiVersion": group,
            "kind": ref.kind,
            "metadata": metadata,
            **fields,
        }


def ensure(
    cluster: Cluster, account: Account, role: str, *, renew: bool
) -> tuple[str, bool]:
    """Create what is missing; return the account's UID and whether it is new.

    :param cluster: the workload cluster, as its administrator.
    :param renew: delete the account first, and with it all its tokens.
    """
    role_ref = ObjectRef(_RBAC, "ClusterRole", "", role)
    if cluster.get_metadata(role_ref) is None:
        raise errors.RequestInvalid(
            f"webhook: the workload cluster {cluster.server} has no "
            f"ClusterRole {role}"
        )
    if renew:
        _remove(cluster, account.secret)
        _remove(cluster, account.ref)
    cluster.apply(account.manifest(account.namespace), account.manager)
    made = cluster.apply(account.manifest(account.ref), account.manager)
    _bind(cluster, account, role)
    return objects.uid(made.obj), made.created


def _bind(cluster: Cluster, account: Account, role: str) -> None:
    wanted = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
    live = cluster.get(account.binding)
    if live is not None and live["roleRef"] != wanted:
        # The server does not allow changes of a binding's roleRef.
        cluster.delete(account.binding, objects.uid(live))
    subject = {
        "kind": account.ref.kind,
        "namespace": account.ref.namespace,
        "name": account.ref.name,
    }
    cluster.apply(
        account.manifest(account.binding, roleRef=wanted, subjects=[subject]),
        account.manager,
    )


def lasting_token(
    cluster: Cluster, account: Account, uid: str, deadline: Deadline
) -> str:
    """Return the token that is valid until the account or Secret is deleted.

    Raises ReadinessTimeout if the server creates none in time.
    """
    manifest = account.manifest(account.secret, type=f"{_ACCOUNT}-token")
    annotations = {
        f"{_ACCOUNT}.name": account.ref.name,
        # Otherwise, right after the account was created again, the
        # controller that fills the Secret might use the previous one.
        f"{_ACCOUNT}.uid": uid,
    }
    metadata = {**manifest["metadata"], "annotations": annotations}
    cluster.apply({**manifest, "metadata": metadata}, account.manager)
    found = wait_for_object.wait_for(
        cluster,
        account.secret,
        f"{CREDENTIAL_RECEIVER}={account.instance}",
        deadline,
        has=lambda obj: bool(objects.field(obj, ("data", "token"))),
        why=f"no token yet (created by {cluster.server} for {account.ref})",
    )
    return base64.b64decode(found["data"]["token"]).decode()


def no_lasting_token(cluster: Cluster, account: Account) -> None:
    """Delete the token that an earlier setting requested."""
    _remove(cluster, account.secret)


def remove(cluster: Cluster, account: Account) -> None:
    """Delete an account, which invalidates all of its tokens.

    Its permissions are deleted first, in case of an interruption.
    """
    for ref in (account.binding, account.ref, account.secret):
        _remove(cluster, ref)
    if not _labelled(cluster, account.ref, account.instance):
        _remove(cluster, account.namespace)


def remove_all(cluster: Cluster, instance: str, uid: str) -> None:
    """Delete the accounts of all receivers of a Cluster."""
    namespace = _namespace(uid)
    binding = ObjectRef(_RBAC, "ClusterRoleBinding", "", "")
    for obj in _labelled(cluster, binding, instance):
        if ObjectRef.of(obj).name.startswith(namespace.name):
            cluster.delete(ObjectRef.of(obj), objects.uid(obj))
    for kind in ("ServiceAccount", "Secret"):
        place = ObjectRef("", kind, namespace.name, "")
        for obj in _labelled(cluster, place, instance):
            cluster.delete(ObjectRef.of(obj), objects.uid(obj))
    _remove(cluster, namespace)


def _namespace(uid: str) -> ObjectRef:
    return ObjectRef("", "Namespace", "", NAME + uid)


def _labelled(
    cluster: Cluster, place: ObjectRef, instance: str
) -> list[Manifest]:
    """Return objects of a kind that were created for an instance."""
    selector = f"{CREDENTIAL_RECEIVER}={instance}"
    return list(
        cluster.list_metadata(place.group_kind, place.namespace, selector)
    )


def _remove(cluster: Cluster, ref: ObjectRef) -> None:
    if metadata := cluster.get_metadata(ref):
        cluster.delete(ref, objects.uid(metadata))
