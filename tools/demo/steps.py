"""The environment of the demo: a cluster, a namespace, an instance."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import pathlib
import time
import uuid

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.deadline import Deadline
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import uid
from tacker_k8s_cr.model.report import Report
from tools import leftovers
from tools.demo.output import DemoOutput
from tools.leftovers import Snapshot

SECONDS = 150.0
"""Timeout of one operation; two cores need much less."""

COLLECTED = 60.0
"""Seconds after which garbage must have been collected."""

MANAGER = "tacker-k8s-cr-demo"


class Unexpected(Exception):
    """A result differs from the expected one."""


def expect(wanted: object, found: object, what: str) -> None:
    """Raise Unexpected unless the value is as expected."""
    if wanted != found:
        raise Unexpected(f"{what}: expected {wanted}, found {found}")


@dataclasses.dataclass(frozen=True)
class Step:
    """A step of the demo; it returns what was observed, in a few words."""

    title: str
    act: Callable[[], str]


@dataclasses.dataclass(frozen=True)
class DemoEnvironment:
    """The state that the steps share.

    :param is_exclusive: whether no other client changes the cluster meanwhile.
    :param folder: for files; deleted at the end.
    :param objects: all objects that the instance had at any time.
    """

    cluster: Cluster
    show: DemoOutput
    folder: pathlib.Path
    is_exclusive: bool
    instance: str = "demo"
    namespace: str = dataclasses.field(
        default_factory=lambda: f"demo-{uuid.uuid4().hex[:6]}"
    )
    objects: set[ObjectRef] = dataclasses.field(default_factory=set)

    # -- The instance --------------------------------------------------------

    def instantiate(self, path: pathlib.Path) -> Report:
        return self._with_package("instantiate", k8s_cr.instantiate, path)

    def change(self, path: pathlib.Path) -> Report:
        return self._with_package("change", k8s_cr.change, path)

    def _with_package(
        self,
        name: str,
        operation: Callable[..., Report],
        path: pathlib.Path,
    ) -> Report:
        """Carry out an operation with the package at this path."""
        deadline = Deadline.after(SECONDS)
        with self.show.progress(name, deadline) as listen:
            report = operation(
                k8s_cr.Request(
                    self.cluster,
                    self.instance,
                    namespace=self.namespace,
                    deadline=deadline,
                    on_progress=listen,
                ),
                k8s_cr.load(path),
            )
        self.objects.update(row.ref for row in report.objects)
        return report

    def scale(self, aspect: str, level: int) -> Report:
        deadline = Deadline.after(SECONDS)
        with self.show.progress(f"scale {aspect}", deadline) as listen:
            return k8s_cr.scale(
                k8s_cr.Request(
                    self.cluster,
                    self.instance,
                    namespace=self.namespace,
                    deadline=deadline,
                    on_progress=listen,
                ),
                aspect=aspect,
                level=level,
            )

    def terminate(self) -> Report:
        deadline = Deadline.after(SECONDS)
        with self.show.progress("terminate", deadline) as listen:
            return k8s_cr.terminate(
                k8s_cr.Request(
                    self.cluster,
                    self.instance,
                    namespace=self.namespace,
                    deadline=deadline,
                    on_progress=listen,
                )
            )

    @property
    def exists(self) -> bool:
        """Whether there is a record of the instance."""
        try:
            k8s_cr.status(
                k8s_cr.Request(
                    self.cluster,
                    self.instance,
                    namespace=self.namespace,
                    deadline=Deadline.after(30),
                )
            )
        except errors.InstanceNotFound:
            return False
        return True

    # -- The namespace, and what is around it --------------------------------

    @contextlib.contextmanager
    def create_namespace(self) -> Iterator[Snapshot]:
        """The namespace, from here to the end; yields what was there.

        What the story created in it is deleted too, however the story ends.
        """
        ref = ObjectRef("", "Namespace", "", self.namespace)
        made = self.cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": self.namespace},
            },
            MANAGER,
        )
        try:
            self._wait_default_objects()
            yield leftovers.take_snapshot(self.cluster)
        finally:
            with contextlib.suppress(errors.InstanceNotFound):
                self.terminate()
            self.cluster.delete(ref, uid(made))
            _wait_until(
                lambda: self.cluster.get_metadata(ref) is None,
                f"{ref} is not gone",
            )

    def _wait_default_objects(self) -> None:
        """Wait for what Kubernetes itself puts into a new namespace."""
        usual = (
            ObjectRef("", "ServiceAccount", self.namespace, "default"),
            ObjectRef("", "ConfigMap", self.namespace, "kube-root-ca.crt"),
        )
        _wait_until(
            lambda: all(map(self.cluster.get_metadata, usual)),
            f"namespace {self.namespace}: one of {usual} is missing",
        )

    def find_leftovers(
        self, before: Snapshot, seconds: float = COLLECTED
    ) -> list[ObjectRef]:
        """Return new objects that remain.

        If other clients use the cluster, an object outside the demo's
        namespace and reports may belong to them.
        """
        return leftovers.find_leftovers(
            self.cluster,
            before,
            Deadline.after(seconds),
            lambda ref: (
                self.is_exclusive
                or self.namespace in (ref.namespace, ref.name)
            ),
        )


def _wait_until(is_met: Callable[[], bool], otherwise: str) -> None:
    deadline = Deadline.after(SECONDS)
    while not is_met():
        if deadline.expired:
            raise Unexpected(otherwise)
        time.sleep(0.1)
