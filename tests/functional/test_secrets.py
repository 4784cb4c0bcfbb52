"""Secrets at every place of a package, and no word of them anywhere.

The plug-in ``tests.secrecy`` searches what each test logs, prints, writes and
leaves; here it is given reports, progress and errors, too.
"""

from __future__ import annotations

import base64
import contextlib
import json
import sys
from typing import Any

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.cli import tree
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import ObjectRef
from tests.functional import manifests

pytestmark = pytest.mark.plane

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        **fields,
    }


def container(value: Any, image: str = "example.org/a:1") -> dict[str, Any]:
    env = [{"name": "DB_PASSWORD", "value": value}]
    return {"name": "main", "image": image, "env": env}


def pod(name: str, value: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container(value)]},
    }


def job(name: str, value: str) -> dict[str, Any]:
    spec = {"restartPolicy": "Never", "containers": [container(value)]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"suspend": True, "template": {"spec": spec}},
    }


def registry(password: str) -> str:
    """What kubelet reads to pull images: JSON, in base64 in a Secret."""
    return encoded(
        json.dumps({"auths": {"r.example.org": {"auth": encoded(password)}}})
    )


def package(turn: str, group: str) -> list[dict[str, Any]]:
    """A secret at each place that is known to us."""
    plain = secret("plain", stringData={"password": f"planted-plain-{turn}"})
    plain["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(plain)}
    pull = secret(
        "pull",
        type="kubernetes.io/dockerconfigjson",
        data={".dockerconfigjson": registry(f"planted-pull-{turn}")},
    )
    definition = manifests.definition(group, "Site", status=False)
    version = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    version["properties"]["spec"]["properties"].update(
        kubeconfig={"type": "string"},
        password={"type": "string", "pattern": "^[a-z0-9-]*$"},
        token={"type": "string", "maxLength": 40},
    )
    site = manifests.custom(
        group,
        "Site",
        "a",
        kubeconfig=f"users: [{{token: planted-kubeconfig-{turn}}}]",
        password=f"planted-site-{turn}",
    )
    web = manifests.deployment("web")
    web["spec"]["template"]["spec"]["containers"] = [
        container(f"planted-env-{turn}")
    ]
    items = {"apiVersion": "v1", "kind": "List", "items": [plain, pull]}
    return [definition, items, site, web]


@pytest.fixture
def record_progress(secret_search, deadline):
    """Search all that a caller may show while an operation goes on."""

    def heard(progress):
        told = [
            repr(progress.verdict(ref, deadline.now))
            for ref in progress.awaited
        ]
        secret_search.search("progress", "\n".join([repr(progress), *told]))

    return heard


@pytest.fixture
def site(unique_name, cluster):
    """A group of the test's own, whose definition goes afterwards."""
    group = f"{unique_name}.example.org"
    yield group
    ref = ObjectRef(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "",
        f"sites.{group}",
    )
    if obj := cluster.get(ref):
        cluster.delete(ref, obj["metadata"]["uid"])


@pytest.mark.requirement("P23", "K5", "IN-7", "XO-14")
def test_a_lifecycle_with_secrets_shows_none_of_them(
    cluster,
    namespace,
    make_package,
    record_progress,
    site,
    secret_search,
    make_request,
):
    """Reports, progress, records: types and data arrive as they were sent.

    Also those in a List, with a type, in an annotation, in a variable and in
    a custom resource.
    """
    first, second = (
        make_package(*package(t, site), name=t) for t in ("one", "two")
    )
    request = make_request(on_progress=record_progress)

    reports = [
        k8s_cr.instantiate(request, first),
        k8s_cr.status(make_request()),
        k8s_cr.change(request, second),
    ]
    stored = {
        name: cluster.get(ObjectRef("", "Secret", namespace, name))
        for name in ("plain", "pull")
    }
    reports.append(k8s_cr.roll_back(request))
    reports.append(k8s_cr.terminate(request))
    for obj in stored.values():
        assert cluster.get(ObjectRef.of(obj)) is None

    assert encoded("planted-plain-two") == stored["plain"]["data"]["password"]
    assert "kubernetes.io/dockerconfigjson" == stored["pull"]["type"]
    assert {".dockerconfigjson": registry("planted-pull-two")} == (
        stored["pull"]["data"]
    )
    for report in reports:
        secret_search.search(
            "a report", f"{report!r}{json.dumps(report.as_dict())}"
        )
        secret_search.search("a tree", repr(tree.build_tree(report).children))


REFUSED = {
    "no base64": secret("a", data={"p": "planted-ä-1"}),
    "no text": secret(
        "a", stringData={"p": ["planted-1", {"b": "planted-2"}]}
    ),
    "no JSON": secret(
        "a",
        type="kubernetes.io/dockerconfigjson",
        stringData={".dockerconfigjson": "planted-1"},
    ),
    "JSON in base64": secret(
        "a",
        type="kubernetes.io/dockerconfigjson",
        data={".dockerconfigjson": encoded("planted-{")},
    ),
    "no key": secret(
        "a", type="kubernetes.io/tls", stringData={"tls.crt": "planted-1"}
    ),
    "wrong key": secret("a", stringData={"a b": "planted-1"}),
    "unknown field": secret("a", stringdata={"p": "planted-1"}),
    "variable": pod("a", ["planted-1"]),
    "mapping": pod("a", {"password": "planted-1"}),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.requirement("P23")
def test_a_refusal_does_not_quote_what_it_refuses(
    case, make_request, make_package, secret_search
):
    """Neither where a value is wrong nor where its place is."""
    with pytest.raises(errors.Error) as caught, secret_search.errors():
        k8s_cr.instantiate(make_request(), make_package(REFUSED[case]))

    assert "planted" not in str(caught.value)


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.requirement("P23")
def test_a_change_that_is_refused_quotes_neither_version(
    dry_run, make_request, make_package, site, secret_search
):
    """A server shows whole objects, as they were and as they would be.

    A custom resource is refused by the schema of its kind.
    """
    definition = package("one", site)[0]
    kept = secret("a", immutable=True, stringData={"p": "planted-former"})
    new = {**kept, "stringData": {"p": "planted-new"}}
    before = [kept, job("a", "planted-former"), pod("a", "planted-former")]
    bad = {"password": "planted-NEW"}, {"token": "planted-" + "a" * 40}
    after = [new, job("a", "planted-new"), pod("a", "planted-new")]
    after += [manifests.custom(site, "Site", "a", **spec) for spec in bad]
    k8s_cr.instantiate(make_request(), make_package(definition, *before))

    # Without a dry run the first refusal leaves the change half done.
    for obj in after if dry_run else after[1:2]:
        others = [o for o in before if o["kind"] != obj["kind"]]
        with pytest.raises(errors.Error) as caught, secret_search.errors():
            k8s_cr.change(
                make_request(options=k8s_cr.Options(dry_run=dry_run)),
                make_package(definition, *others, obj, name="changed"),
            )
        assert f"{obj['kind']}" in str(caught.value)
        assert "planted" not in str(caught.value)
    k8s_cr.terminate(make_request())


# -- The way to the server ----------------------------------------------------


PLUGIN = """#!{python}
import os
import sys
print("not taken:", os.environ["CLIENT_SECRET"], file=sys.stderr)
print('{{"token": "planted-out"}}' if {out} else "")
sys.exit({code})
"""


@pytest.mark.parametrize(("out", "code"), [(True, 0), (True, 1), (False, 3)])
def test_a_plug_in_that_fails_is_not_quoted(
    out, code, kubeconfig, tmp_path, secret_search
):
    """What it prints is a credential, though it may be none that fits."""
    program = tmp_path / "plugin"
    program.write_text(
        PLUGIN.format(python=sys.executable, out=out, code=code)
    )
    program.chmod(0o700)
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(program),
        "env": [{"name": "CLIENT_SECRET", "value": "planted-env"}],
        "interactiveMode": "Never",
    }
    document = kubeconfigs.load(str(kubeconfig)).to_dict()
    document["users"][0]["user"] = {"exec": plugin}
    path = tmp_path / "config"
    path.write_text(json.dumps(document))

    with (
        contextlib.closing(k8s_cr.connect(kubeconfig=str(path))) as cluster,
        pytest.raises(errors.Unauthenticated) as caught,
        secret_search.errors(),
    ):
        cluster.version()

    assert "plug-in" in str(caught.value)


@pytest.mark.parametrize(
    ("field", "url"),
    [
        ("proxy-url", "http://user:planted-password@127.0.0.1:1"),
        ("server", "https://user:planted-password@127.0.0.1:1"),
        ("server", "https://user:planted-password@[::1"),
    ],
)
def test_a_url_is_shown_without_its_user(
    field, url, kubeconfig, tmp_path, secret_search
):
    """Neither a proxy's nor a server's, in errors or in logs."""
    document = kubeconfigs.load(str(kubeconfig)).to_dict()
    document["clusters"][0]["cluster"][field] = url
    path = tmp_path / "config"
    path.write_text(json.dumps(document))

    def ask():
        cluster = k8s_cr.connect(kubeconfig=str(path))
        with contextlib.closing(cluster):
            cluster.with_deadline(k8s_cr.Deadline.after(1)).version()

    with pytest.raises(errors.Error) as caught, secret_search.errors():
        ask()

    assert "planted" not in str(caught.value)
