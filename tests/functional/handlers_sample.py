"""The kinds that the sample of handlers is for, and what works on them."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import pathlib
import shutil
import threading
from typing import Any

from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.kube.protocol import Watch
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import manifests

Obj = dict[str, Any]

MANAGER = "media-controller"
POD = GroupKind("", "Pod")
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "samples" / "handlers"


def source_files(group: str, folder: pathlib.Path) -> pathlib.Path:
    """A copy of the sample, whose handlers are for kinds of this group."""
    copy = folder / SAMPLE.name
    shutil.copytree(SAMPLE, copy)
    for path in copy.glob("media_handlers/*.py"):
        text = path.read_text()
        path.write_text(text.replace("media.example.org", group))
    return copy


def crds(group: str) -> list[Obj]:
    """Without a scale sub-resource, so that only a handler can scale."""
    return [
        manifests.definition(group, kind, scale=False, spec=manifests.ANYTHING)
        for kind in ("Transcoder", "Store")
    ]


def transcoder(group: str, name: str, workers: int, **spec: Any) -> Obj:
    return {
        "apiVersion": f"{group}/v1",
        "kind": "Transcoder",
        "metadata": {"name": name},
        "spec": {"workers": workers, **spec},
    }


def store(group: str, name: str, count: int, settings: str) -> Obj:
    return {
        "apiVersion": f"{group}/v1",
        "kind": "Store",
        "metadata": {"name": name},
        "spec": {
            "members": {"count": count},
            "settings": settings,
            "version": "2.1",
        },
    }


class Controller:
    """Works on both kinds in one namespace, in a thread of its own.

    :ivar backups: by Store that went, whether its settings were there.
    """

    def __init__(self, cluster: Cluster, group: str, namespace: str):
        self.backups: dict[str, bool] = {}
        self._cluster = cluster
        self._namespace = namespace
        self._transcoders = GroupKind(group, "Transcoder")
        self._stores = GroupKind(group, "Store")
        self._label = f"{group}/store"
        self._finalizer = f"{group}/backup"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=MANAGER)

    def __enter__(self) -> Controller:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        kinds = (self._transcoders, self._stores, POD)
        watches = [Watch(kind, self._namespace, "") for kind in kinds]
        with self._cluster.watch(watches) as watching:
            while not self._stop.is_set():
                if watching.next_events(0.5):
                    # What another client changed meanwhile is read again.
                    with contextlib.suppress(errors.Conflict):
                        self._work()

    def _work(self) -> None:
        for obj in self._listed(self._transcoders):
            bad = objects.field(obj, ("spec", "codec")) == "none"
            self._says(obj, {"phase": "Rejected" if bad else "Running"})
        for obj in self._listed(self._stores):
            if objects.field(obj, ("metadata", "deletionTimestamp")):
                self._let_go(obj)
            else:
                self._keep(obj)

    def _listed(self, kind: GroupKind, selector: str = "") -> list[Obj]:
        listed = self._cluster.list_objects(kind, self._namespace, selector)
        return [dict(obj) for obj in listed]

    def _says(self, obj: Obj, status: Mapping[str, Any]) -> None:
        wanted = {"observedGeneration": objects.generation(obj), **status}
        if obj.get("status") != wanted:
            self._patch(obj, {"status": wanted}, "status")

    def _keep(self, obj: Obj) -> None:
        name = ObjectRef.of(obj).name
        if not objects.field(obj, ("metadata", "finalizers")):
            finalizers = [self._finalizer]
            self._patch(obj, {"metadata": {"finalizers": finalizers}})
        pods = {
            ObjectRef.of(pod).name: pod
            for pod in self._listed(POD, f"{self._label}={name}")
        }
        asked = int(obj["spec"]["members"]["count"])
        wanted = [f"{name}-{number}" for number in range(asked)]
        for missing in [each for each in wanted if each not in pods]:
            self._cluster.create(self._pod(obj, missing), MANAGER)
        for other in pods.keys() - set(wanted):
            ref = ObjectRef.of(pods[other])
            self._cluster.delete(ref, objects.uid(pods[other]))
        members = [
            {
                "name": each,
                "inStep": each in pods and _ready(pods[each]),
                "version": obj["spec"]["version"],
            }
            for each in wanted
        ]
        self._says(obj, {"members": members})

    def _let_go(self, obj: Obj) -> None:
        name, settings = ObjectRef.of(obj).name, obj["spec"]["settings"]
        ref = ObjectRef("", "ConfigMap", self._namespace, settings)
        self.backups[name] = self._cluster.get(ref) is not None
        held = objects.field(obj, ("metadata", "finalizers"), [])
        others = [each for each in held if each != self._finalizer]
        self._patch(obj, {"metadata": {"finalizers": others}})

    def _patch(self, obj: Obj, body: Obj, subresource: str = "") -> None:
        metadata = {**body.get("metadata", {}), "uid": objects.uid(obj)}
        if "metadata" in body:
            # A list is written whole: not over a change by another client.
            version = obj["metadata"]["resourceVersion"]
            metadata["resourceVersion"] = version
        self._cluster.patch(
            ObjectRef.of(obj),
            {**body, "metadata": metadata},
            MANAGER,
            subresource=subresource,
        )

    def _pod(self, obj: Obj, name: str) -> Obj:
        ref = ObjectRef.of(obj)
        owner = {
            "apiVersion": obj["apiVersion"],
            "kind": ref.kind,
            "name": ref.name,
            "uid": objects.uid(obj),
            "controller": True,
            "blockOwnerDeletion": True,
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": ref.namespace,
                "labels": {self._label: ref.name},
                "ownerReferences": [owner],
            },
            "spec": {
                "containers": [{"name": "main", "image": "example.org/a:1"}]
            },
        }


def _ready(pod: Obj) -> bool:
    if objects.field(pod, ("metadata", "deletionTimestamp")):
        return False
    return objects.conditions(pod).get("Ready", {}).get("status") == "True"
