"""A connection to the real API server, and packages to try on it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import itertools
import json
import pathlib
from typing import Any
import uuid

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube.protocol import Cluster
from tacker_k8s_cr.model.package import Package
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import record_secrets
from tests.functional import restricted_users
from tools.plane.kubectl import Kubectl

SECONDS = 600.0
"""For all operations of a test. No measure of how long they take: where other
processes want the machine, a request takes half a second."""


@pytest.fixture(scope="session")
def cluster(kubeconfig: pathlib.Path) -> Iterator[Cluster]:
    """The API server, as its administrator."""
    connected = k8s_cr.connect(kubeconfig=str(kubeconfig))
    yield connected
    connected.close()


@pytest.fixture
def deadline() -> k8s_cr.Deadline:
    return k8s_cr.Deadline.after(SECONDS)


@pytest.fixture
def unique_name() -> str:
    """A unique name."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def restricted_cluster(
    kubectl: Kubectl, kubeconfig: pathlib.Path, namespace: str
) -> Iterator[Callable[..., Cluster]]:
    """A cluster as a ServiceAccount sees it that has these rules.

    Those of the documented Role, where none are given.
    """
    with contextlib.ExitStack() as opened:
        names = (f"user-{number}" for number in itertools.count())

        def make(
            rules: restricted_users.Rules = restricted_users.DOCUMENTED[
                "rules"
            ],
            cluster_rules: restricted_users.Rules = (),
        ) -> Cluster:
            return opened.enter_context(
                restricted_users.create_user(
                    kubectl,
                    kubeconfig,
                    namespace,
                    next(names),
                    rules,
                    cluster_rules,
                )
            )

        yield make


@pytest.fixture
def make_package(tmp_path: pathlib.Path) -> Callable[..., Package]:
    """A package of these manifests, read from a file as an author's is."""

    def pack(*manifests: Mapping[str, Any], name: str = "a") -> Package:
        path = tmp_path / f"{name}.yaml"
        path.write_text("\n---\n".join(json.dumps(m) for m in manifests))
        return k8s_cr.load(path)

    return pack


@pytest.fixture
def leftover_objects(cluster: Cluster) -> Callable[[str, str], list[str]]:
    """An instance's objects in the cluster: managed ones, and its record."""

    def found(instance: str, namespace: str) -> list[str]:
        kinds = [
            r.group_kind for r in cluster.resources() if "list" in r.verbs
        ]
        selectors = (
            f"k8s-cr.tacker.openstack.org/instance={instance}",
            record_secrets.selector(instance),
        )
        listed = []
        for selector in selectors:
            for kind, objs in cluster.map_parallel(
                lambda k, s=selector: list(cluster.list_metadata(k, "", s)),
                kinds,
            ):
                if isinstance(objs, list) and kind != leases.KIND:
                    listed += [
                        f"{kind}/{obj['metadata']['name']}" for obj in objs
                    ]
        return sorted(listed)

    return found


@pytest.fixture
def make_request(
    cluster: Cluster,
    unique_name: str,
    namespace: str,
    deadline: k8s_cr.Deadline,
) -> Callable[..., k8s_cr.Request]:
    """Make a request for the instance of the test, in its namespace.

    Another connection and another instance may be given, and any field by
    its name. All requests share one deadline, except those with a timeout:
    so many seconds from now.
    """

    def make(
        connection: Cluster = cluster,
        instance: str = unique_name,
        *,
        timeout: float | None = None,
        **fields: Any,
    ) -> k8s_cr.Request:
        if timeout is not None:
            fields["deadline"] = k8s_cr.Deadline.after(timeout)
        fields = {"namespace": namespace, "deadline": deadline, **fields}
        return k8s_cr.Request(connection, instance, **fields)

    return make


@pytest.fixture
def terminate(
    make_request: Callable[..., k8s_cr.Request],
) -> Callable[..., Report]:
    """Terminate the instance, and return the report."""

    def run(**fields: Any) -> Report:
        return k8s_cr.terminate(make_request(**fields))

    return run


@pytest.fixture
def check_lifecycle(
    namespace: str,
    unique_name: str,
    deadline: k8s_cr.Deadline,
    leftover_objects: Callable[[str, str], list[str]],
) -> Callable[..., None]:
    """Instantiate a package and terminate it; nothing is left."""

    def check(
        cluster: Cluster,
        package: Package,
        options: k8s_cr.Options | None = None,
    ) -> None:
        request = k8s_cr.Request(
            cluster, unique_name, namespace=namespace, deadline=deadline
        )
        first = request
        if options is not None:
            first = dataclasses.replace(request, options=options)
        k8s_cr.instantiate(first, package)
        k8s_cr.terminate(request)
        assert [] == leftover_objects(unique_name, namespace)

    return check
