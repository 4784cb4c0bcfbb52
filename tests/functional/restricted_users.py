"""Users who may do no more than their rules allow."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import json
import pathlib
import re
from typing import Any

import yaml

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.kube.protocol import Cluster
from tools.plane.kubectl import Kubectl

ROLE = pathlib.Path(__file__).parents[2] / "doc/source/admin/role.yaml"
DOCUMENTED = yaml.safe_load(ROLE.read_text())
"""The Role of the page on permissions."""

PAGE = ROLE.parent / "permissions.rst"

RBAC = "rbac.authorization.k8s.io"

Rules = Sequence[Mapping[str, Any]]


def without_permission(*taken: tuple[str, str]) -> list[Mapping[str, Any]]:
    """The documented rules, except these verbs on these resources."""
    rules = []
    for rule in DOCUMENTED["rules"]:
        for resource in rule["resources"]:
            verbs = [v for v in rule["verbs"] if (resource, v) not in taken]
            rules.append({**rule, "resources": [resource], "verbs": verbs})
    return rules


def documented_rules(sample: str) -> list[dict[str, Any]]:
    """The Roles and ClusterRoles that the page names for a sample."""
    page = PAGE.read_text()
    section = page[page.index("For the samples\n") :]
    entry = re.search(rf"^{sample}\n((?: .*\n|\n)+)", section, re.MULTILINE)
    assert entry, f"{PAGE} has no entry for {sample}"
    names = dict.fromkeys(re.findall(r"\brole\w*\.yaml\b", entry[1]))
    return [
        role
        for name in names
        for role in yaml.safe_load_all((PAGE.parent / name).read_text())
    ]


def rules(sample: str, kind: str) -> list[dict[str, Any]]:
    """The rules of those of one kind."""
    return [
        rule
        for role in documented_rules(sample)
        if role["kind"] == kind
        for rule in role["rules"]
    ]


@contextlib.contextmanager
def create_user(
    kubectl: Kubectl,
    kubeconfig: pathlib.Path,
    namespace: str,
    name: str,
    rules: Rules,
    cluster_rules: Rules = (),
) -> Iterator[Cluster]:
    """Connect as a new ServiceAccount of the namespace with these rules.

    :param cluster_rules: rules of a ClusterRole bound to it in the whole
        cluster; both are deleted at the end.
    """
    kubectl("create", "serviceaccount", name, "-n", namespace)
    _create(kubectl, {**DOCUMENTED, **_named(name, namespace), "rules": rules})
    account = f"--serviceaccount={namespace}:{name}"
    binding = ("create", "rolebinding", name, "-n", namespace)
    kubectl(*binding, f"--role={name}", account)
    whole = f"{namespace}-{name}"
    if cluster_rules:
        role = {"kind": "ClusterRole", **_named(whole)}
        role["apiVersion"] = f"{RBAC}/v1"
        _create(kubectl, {**role, "rules": cluster_rules})
        binding = ("create", "clusterrolebinding", whole)
        kubectl(*binding, f"--clusterrole={whole}", account)
    token = kubectl("create", "token", name, "-n", namespace).strip()
    place = kubeconfigs.load(str(kubeconfig))
    found = k8s_cr.connect(
        kubeconfigs.for_server(place.server, token=token, ca=place.ca)
    )
    try:
        yield found
    finally:
        found.close()
        if cluster_rules:
            kubectl("delete", "clusterrolebinding,clusterrole", whole)


def _named(name: str, namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {"metadata": metadata}


def _create(kubectl: Kubectl, manifest: Mapping[str, Any]) -> None:
    kubectl("create", "-f", "-", stdin=json.dumps(manifest))
