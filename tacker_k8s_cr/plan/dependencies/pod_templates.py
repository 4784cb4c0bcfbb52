"""Pod templates in manifests, and the objects that they refer to."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import Manifest
from tacker_k8s_cr.model.objects import ObjectRef

POD = GroupKind("", "Pod")

_TEMPLATES = (
    ("spec", "template"),
    ("spec", "jobTemplate", "spec", "template"),
)


@dataclasses.dataclass(frozen=True)
class Workload:
    """An object with a template of Pods, or a Pod.

    :param labels: of its Pods.
    """

    ref: ObjectRef
    spec: Manifest
    labels: Mapping[str, str]

    @property
    def account(self) -> tuple[str, str]:
        """Namespace and name of the service account of its Pods."""
        named = objects.field(self.spec, ("serviceAccountName",), "default")
        return self.ref.namespace, str(named)


def workloads(
    manifests: Mapping[ObjectRef, Manifest],
) -> Iterator[Workload]:
    """Yield workloads of built-in kinds; other templates may be anything."""
    for ref, manifest in manifests.items():
        if ref.group_kind == POD:
            templates = [manifest]
        elif ref.group in ("apps", "batch", ""):
            templates = [objects.field(manifest, path) for path in _TEMPLATES]
        else:
            continue
        for template in templates:
            spec = objects.field(template, ("spec",))
            if isinstance(spec, Mapping):
                yield Workload(ref, spec, objects.labels(template))


def pod_references(spec: Manifest) -> Iterator[tuple[str, object]]:
    """Yield kind and name of what a Pod mounts, reads or pulls with."""
    for item in objects.field(spec, ("imagePullSecrets",), ()):
        yield "Secret", objects.field(item, ("name",))
    yield from _walk(spec)


def _walk(value: Any) -> Iterator[tuple[str, object]]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item)
    if not isinstance(value, Mapping):
        return
    for key, item in value.items():
        if key in _REFERENCES and isinstance(item, Mapping):
            kind, name_of = _REFERENCES[key]
            yield kind, name_of(item)
        yield from _walk(item)


def _name_in(*keys: str) -> Callable[[Manifest], object]:
    return lambda item: next((item[k] for k in keys if item.get(k)), None)


_REFERENCES: Mapping[str, tuple[str, Callable[[Manifest], object]]] = {
    "secret": ("Secret", _name_in("secretName", "name")),
    "secretRef": ("Secret", _name_in("name")),
    "secretKeyRef": ("Secret", _name_in("name")),
    "nodePublishSecretRef": ("Secret", _name_in("name")),
    "configMap": ("ConfigMap", _name_in("name")),
    "configMapRef": ("ConfigMap", _name_in("name")),
    "configMapKeyRef": ("ConfigMap", _name_in("name")),
    "persistentVolumeClaim": ("PersistentVolumeClaim", _name_in("claimName")),
}
"""By field of a Pod's spec, the kind that it refers to, and its name field."""
