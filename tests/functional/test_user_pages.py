"""Every block of the user's pages is executed, or listed with a reason."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

from oslo_config import cfg
import pytest
import yaml

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.kinds import policy as policies
from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tests import output_schemas
from tests.functional import manifests
from tests.functional import page_blocks
from tests.functional.page_blocks import ROOT
from tests.functional.page_blocks import Block
from tests.functional.page_blocks import Entry

pytestmark = pytest.mark.plane

LISTED = page_blocks.listed()
BY_PAGE = {
    page.name: list(page_blocks.blocks(page)) for page in page_blocks.PAGES
}


@pytest.mark.requirement("TK-25")
def test_every_block_is_listed():
    """In the order of its page, to be run or with the reason why not."""
    found = {
        page: [block.first for block in blocks]
        for page, blocks in BY_PAGE.items()
        if blocks
    }

    said = {
        page: [entry.begins for entry in entries]
        for page, entries in LISTED.items()
        if entries
    }
    assert found == said
    for page, entries in LISTED.items():
        for entry in entries:
            assert bool(entry.run) != bool(entry.because), (page, entry)
            assert all(entry.skip.values())


# -- The place in which a reader works ----------------------------------------


class Reader:
    """A folder, a home and a cluster, as the pages take them for granted."""

    def __init__(self, folder, kubeconfig, namespace, cluster):
        self.folder = folder
        self.namespace = namespace
        self.cluster = cluster
        self.environ = {
            **os.environ,
            "HOME": str(folder),
            "KUBECONFIG": str(kubeconfig),
            "PATH": os.pathsep.join(
                [
                    str(folder / "bin"),
                    str(pathlib.Path(sys.executable).parent),
                    os.environ["PATH"],
                ]
            ),
            "PYTHONPATH": str(ROOT),
        }
        place = kubeconfigs.load(str(kubeconfig))
        self.scope = {
            "namespace": namespace,
            "cluster": cluster,
            "k8s": k8s_cr,
            "name": "demo",
            "text": kubeconfig.read_text(),
            "url": place.server,
            "ca": place.ca,
            "token": "planted-of-no-user",
            "ref": k8s_cr.ObjectRef(
                "apps", "Deployment", namespace, "call-router"
            ),
            "deadline": k8s_cr.Deadline.after(600),
            "pod_uid": lambda: self._pod()["metadata"]["uid"],
        }

    def replaced(self, text, replace):
        for old, new in replace.items():
            assert old in text, f"the block has no {old!r}"
            text = text.replace(old, new)
        return self.filled(text)

    def filled(self, text):
        """With the names that this test gives to what a page names."""
        for name, value in (
            ("namespace", lambda: self.namespace),
            ("root", lambda: str(ROOT)),
            ("pod", lambda: f"Pod/{self._pod()['metadata']['name']}"),
        ):
            if f"$({name})" in text:
                text = text.replace(f"$({name})", value())
        return text

    def _pod(self):
        listed = self.cluster.list_objects(
            GroupKind("", "Pod"), self.namespace, "app=call-router"
        )
        return next(
            pod for pod in listed if "deletionTimestamp" not in pod["metadata"]
        )

    def shell(self, command, codes=(0,)):
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=240,
        )
        said = f"{command}\n{done.stdout}{done.stderr}"
        assert done.returncode in codes, said
        return done.stdout


def secret(name, value):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": {"password": value},
    }


@pytest.fixture
def reader(
    tmp_path, kubeconfig, kubectl, namespace, unique_name, cluster, monkeypatch
):
    """In a namespace of its own; instances of failed tests go with it."""
    samples = tmp_path / "samples" / "vnf_packages"
    samples.mkdir(parents=True)
    shutil.copytree(
        ROOT / "samples/vnf_packages/custom_resource",
        samples / "custom_resource",
    )
    # A group of the test's own: the definition is in no namespace.
    for path in samples.rglob("*.yaml"):
        text = path.read_text()
        path.write_text(
            text.replace("telephony.example.org", f"{unique_name}.example.org")
        )
    shutil.copytree(samples, tmp_path / "newer")
    package = [manifests.config_map("a"), manifests.deployment("web")]
    for path, several in {
        "package/objects.yaml": package,
        "new-package/objects.yaml": [*package, manifests.config_map("b")],
        "settings.yaml": [
            manifests.config_map("settings", region="north"),
            manifests.config_map("lost"),
            secret("access", "planted-first"),
        ],
        "tariffs.yaml": [manifests.config_map("tariffs")],
        "held.yaml": [held("held")],
        "overlays/lab/objects.yaml": [manifests.config_map("overlay")],
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n---\n".join(json.dumps(one) for one in several))
    (tmp_path / "overlays/lab/kustomization.yaml").write_text(
        "resources: [objects.yaml]\n"
    )
    (tmp_path / "other-password.json").write_text(
        json.dumps({"stringData": {"password": "planted-other"}})
    )
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    config = yaml.safe_load(kubeconfig.read_text())
    [context] = config["contexts"]
    context["name"] = config["current-context"] = "lab"
    config_file = tmp_path / ".kube" / "config"
    config_file.parent.mkdir()
    config_file.write_text(yaml.safe_dump(config))
    config_file.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for program, line in {
        # Where the pages use the namespace default.
        "tacker-k8s-cr": (
            'case " $* " in *" -n "*|*"-namespace "*) ;; *) set -- "$@" '
            f"--namespace {namespace};; esac; "
            f'{sys.executable} -m tacker_k8s_cr.cli.shell "$@"'
        ),
        "kubectl": f'{kubectl.program} --namespace={namespace} "$@"',
    }.items():
        path = tmp_path / "bin" / program
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{line}\n")
        path.chmod(0o700)
    yield Reader(tmp_path, config_file, namespace, cluster)
    for name in (f"{namespace}-vnf", f"{namespace}-vnfm"):
        kubectl(
            "delete", "namespace", name, "--wait=false", "--ignore-not-found"
        )
    definition = f"dialplans.{unique_name}.example.org"
    kubectl("delete", "crd", definition, "--ignore-not-found", "--wait=false")


def held(name):
    manifest = manifests.config_map(name)
    manifest["metadata"]["finalizers"] = ["example.org/hold"]
    return manifest


# -- What is done with a block ------------------------------------------------


def run_sh(reader: Reader, block: Block, entry: Entry) -> None:
    codes = entry.codes or [0]
    skipped = set()
    assert block.commands
    for command in block.commands:
        beginning = max(
            (text for text in entry.skip if command.startswith(text)),
            key=len,
            default="",
        )
        if beginning:
            skipped.add(beginning)
            continue
        known = {o: n for o, n in entry.replace.items() if o in command}
        allowed = [*codes, 5] if " drift " in command else codes
        reader.shell(reader.replaced(command, known), allowed)
    assert skipped == set(entry.skip)


def run_bash(reader: Reader, block: Block, entry: Entry) -> None:
    reader.shell(reader.replaced(block.text, entry.replace))


def run_python(reader: Reader, block: Block, entry: Entry) -> None:
    text = reader.replaced(block.text, entry.replace)
    with contextlib.chdir(reader.folder):
        for part in (entry.setup, text):
            exec(compile(part, block.page, "exec"), reader.scope)  # noqa: S102


def run_request(reader: Reader, block: Block, entry: Entry) -> None:
    body = json.loads(block.text)
    if "tacker_k8s_cr" in body:
        body = {"additionalParams": body}
    found = additional_params.read(
        body.get("additionalParams"), entry.operation
    )
    assert isinstance(found, additional_params.RequestParams)


def run_policy(reader: Reader, block: Block, entry: Entry) -> None:
    assert policies.from_dict(yaml.safe_load(block.text))
    # The commands of the page name the file.
    (reader.folder / "policy.yaml").write_text(block.text)


def run_options(reader: Reader, block: Block, entry: Entry) -> None:
    path = reader.folder / "tacker.conf"
    path.write_text(block.text)
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(path)])
    settings = configuration.settings(conf)
    names = [line.partition(" =")[0] for line in block.text.splitlines()[1:]]
    for name in names:
        assert getattr(conf.tacker_k8s_cr, name), settings


def run_annotations(reader: Reader, block: Block, entry: Entry) -> None:
    """Instantiate an object that has them, beside those that they name.

    A rule is about a status that it does not have, so it is waited for.
    """
    text = reader.replaced(block.text, entry.replace)
    said = yaml.safe_load(text)["metadata"]["annotations"]
    obj = manifests.config_map("annotated")
    obj["metadata"]["annotations"] = said
    package = [obj, manifests.config_map("other"), secret("settings", "x")]
    path = reader.folder / "annotated.yaml"
    path.write_text("\n---\n".join(json.dumps(one) for one in package))
    ruled = any(key.endswith("-when") for key in said)
    late = pytest.raises(errors.ReadinessTimeout, match="annotated")

    with late if ruled else contextlib.nullcontext():
        k8s_cr.instantiate(
            k8s_cr.Request(
                reader.cluster,
                "annotated",
                deadline=k8s_cr.Deadline.after(4 if ruled else 600),
                namespace=reader.namespace,
            ),
            k8s_cr.load(path),
        )
    k8s_cr.terminate(
        k8s_cr.Request(
            reader.cluster,
            "annotated",
            deadline=k8s_cr.Deadline.after(600),
            namespace=reader.namespace,
        )
    )
    ref = k8s_cr.ObjectRef("", "ConfigMap", reader.namespace, "annotated")
    kept = reader.cluster.get(ref) is not None
    assert kept == ("keep" in said.values())


def run_result(reader: Reader, block: Block, entry: Entry) -> None:
    """Check what the program is documented to print against its schema."""
    value = json.loads(block.text)
    output_schemas.load_validator(entry.operation).validate(value)
    if "type" in value:
        assert issubclass(getattr(errors, value["type"]), errors.Error)


RUNS = {
    "sh": run_sh,
    "bash": run_bash,
    "python": run_python,
    "request": run_request,
    "policy": run_policy,
    "options": run_options,
    "annotations": run_annotations,
    "result": run_result,
}


@pytest.mark.requirement("TK-25")
@pytest.mark.parametrize(
    "page",
    [
        page
        for page, entries in LISTED.items()
        if any(entry.run for entry in entries)
    ],
)
def test_the_blocks_of_a_page_are_executed(reader, page):
    """One after the other, as a reader does; each succeeds."""
    for block, entry in zip(BY_PAGE[page], LISTED[page], strict=True):
        if entry.run:
            for command in entry.before.splitlines():
                reader.shell(reader.filled(command))
            RUNS[entry.run](reader, block, entry)
