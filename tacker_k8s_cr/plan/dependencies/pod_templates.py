"""The Pods that manifests ask for, and what these name."""

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

    :param labels: those of its Pods.
    """

    ref: ObjectRef
    spec: Manifest
    labels: Mapping[str, str]

    @property
    def account(self) -> tuple[str, str]:
        """The namespace and the name of the account of its Pods."""
        named = objects.field(self.spec, ("serviceAccountName",), "default")
        return self.ref.namespace, str(named)


def workloads(
    manifests: Mapping[ObjectRef, Manifest],
) -> Iterator[Workload]:
    """Those of Kubernetes' own kinds: other templates may be of anything."""
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
    """Kinds and names of what a Pod mounts, reads or pulls with."""
    for item in objects.field(spec, ("imagePullSecrets",), ()):
        yield "Secret", objects.field(item, ("name",))
    yield from _walked(spec)


def _walked(value: Any) -> Iterator[tuple[str, object]]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _walked(item)
    if not isinstance(value, Mapping):
        return
    for key, item in value.items():
        if key in _REFERENCES and isinstance(item, Mapping):
            kind, name_of = _REFERENCES[key]
            yield kind, name_of(item)
        yield from _walked(item)


def _by(*keys: str) -> Callable[[Manifest], object]:
    return lambda item: next((item[k] for k in keys if item.get(k)), None)


_REFERENCES: Mapping[str, tuple[str, Callable[[Manifest], object]]] = {
    "secret": ("Secret", _by("secretName", "name")),
    "secretRef": ("Secret", _by("name")),
    "secretKeyRef": ("Secret", _by("name")),
    "nodePublishSecretRef": ("Secret", _by("name")),
    "configMap": ("ConfigMap", _by("name")),
    "configMapRef": ("ConfigMap", _by("name")),
    "configMapKeyRef": ("ConfigMap", _by("name")),
    "persistentVolumeClaim": ("PersistentVolumeClaim", _by("claimName")),
}
"""How the parts of a Pod's spec name what they read."""
