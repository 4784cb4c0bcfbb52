"""Handlers that others install, used by the program and by the driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid

import pytest

from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tests import output_schemas
from tests.functional import handlers_sample
from tests.functional import manifests

pytestmark = pytest.mark.plane

PROGRAM = [sys.executable, "-m", "tacker_k8s_cr.cli.shell"]


@pytest.fixture(scope="module")
def group():
    """A group of kinds that no other test has."""
    return f"media-{uuid.uuid4().hex[:10]}.example.org"


@pytest.fixture(scope="module")
def sample(group, tmp_path_factory):
    """Where the sample's wheel is installed, for kinds of this group."""
    source = handlers_sample.source_files(
        group, tmp_path_factory.mktemp("source")
    )
    target = tmp_path_factory.mktemp("installed")
    build = ["build", "--wheel", "--no-isolation", str(source)]
    _python(*build)
    (wheel,) = source.glob("dist/*.whl")
    offline = ["--no-deps", "--no-index", "--disable-pip-version-check"]
    _python("pip", "install", *offline, "--target", str(target), str(wheel))
    return target


def _python(*module):
    done = subprocess.run(
        [sys.executable, "-m", *module],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert 0 == done.returncode, done.stdout


@pytest.fixture(scope="module")
def defined(kubectl, group):
    """The sample's kinds, for as long as tests use them."""
    found = handlers_sample.crds(group)
    kubectl.apply(found)
    names = [obj["metadata"]["name"] for obj in found]
    kubectl("wait", "--for=condition=Established", "crd", *names)
    yield
    kubectl("delete", "crd", *names, "--wait=false")


@pytest.fixture
def controller(cluster, group, defined, namespace):
    with handlers_sample.Controller(cluster, group, namespace) as working:
        yield working


@pytest.fixture
def environ(kubeconfig, tmp_path):
    """The environment of a program with something installed for it.

    stevedore keeps in a cache what it found.
    """

    def _environ(*installed):
        return {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "PYTHONPATH": os.pathsep.join(map(str, installed)),
        }

    return _environ


@pytest.fixture
def run(namespace, environ):
    """Runs a command to its end; gives its exit code and its value."""

    def _run(*argv, installed):
        place = () if installed is None else (installed,)
        done = subprocess.run(
            [*PROGRAM, *argv, "--namespace", namespace, "-f", "json"],
            capture_output=True,
            text=True,
            timeout=120,
            env=environ(*place),
        )
        assert done.stdout, done.stderr
        output_schemas.check_output([*argv, "json"], done.stdout)
        return done.returncode, json.loads(done.stdout)

    return _run


@pytest.fixture
def package(tmp_path):
    def _package(*objs, name="package"):
        path = tmp_path / f"{name}.yaml"
        path.write_text("\n---\n".join(json.dumps(obj) for obj in objs))
        return path

    return _package


def reasons(report):
    return {obj["name"]: obj["reason"] for obj in report["objects"]}


@pytest.mark.requirement("TK-2")
def test_a_lifecycle_by_the_handlers_of_the_sample(
    run, package, sample, group, controller, cluster, namespace, unique_name
):
    """They decide on readiness, numbers, members, order and pruning.

    The program has nothing but their wheel, installed beside it.
    """
    first = package(
        manifests.config_map("tuning"),
        handlers_sample.transcoder(group, "hd", 2),
        handlers_sample.store(group, "calls", 3, "tuning"),
    )
    second = package(manifests.config_map("tuning"), name="second")
    hd = ObjectRef(group, "Transcoder", namespace, "hd")
    member = ObjectRef("", "Pod", namespace, "calls-1")

    code, begun = run("instantiate", unique_name, first, installed=sample)
    assert 0 == code, begun
    assert {
        "tuning": "stored",
        "hd": "Running",
        "calls": "3 member(s) in step at version 2.1",
    } == reasons(begun)

    _, without = run("status", unique_name, installed=None)
    assert "generation 1 seen by its controller" == reasons(without)["hd"]

    def scale(name, number):
        asked = ("scale", unique_name, name, "--replicas", number)
        return run(*asked, installed=sample)

    code, scaled = scale("transcoder/hd", "4")
    assert (0, {"hd": "Running"}) == (code, reasons(scaled))
    assert 4 == cluster.get(hd)["spec"]["workers"]
    code, even = scale("store/calls", "4")
    assert 2 == code
    assert "odd number of members or none, and 4 is even" in even["message"]
    code, odd = scale("store/calls", "5")
    assert 0 == code, odd
    assert "5 member(s) in step at version 2.1" == reasons(odd)["calls"]

    before = objects.uid(cluster.get(member))
    code, healed = run("heal", unique_name, "Pod/calls-1", installed=sample)
    assert 0 == code, healed
    assert before != objects.uid(cluster.get(member))

    code, changed = run("change", unique_name, second, installed=sample)
    assert 0 == code, changed
    actions = {obj["name"]: obj["action"] for obj in changed["objects"]}
    assert "deleted" == actions["hd"]
    assert "deleted" != actions.get("calls")

    code, ended = run("terminate", unique_name, installed=sample)
    assert 0 == code, ended
    assert {"calls": True} == controller.backups
    assert cluster.get(member) is None


def test_what_a_handler_calls_failed_ends_the_wait(
    run, package, sample, group, controller, unique_name
):
    """At once, with its reason."""
    path = package(handlers_sample.transcoder(group, "hd", 1, codec="none"))

    code, failed = run("instantiate", unique_name, path, installed=sample)

    (item,) = failed["unsettled"]
    assert (3, "ObjectsFailed") == (code, failed["type"])
    assert ("failed", "Rejected") == (item["state"], item["reason"])
    assert 0 == run("terminate", unique_name, installed=sample)[0]


# -- Handlers that do wrong --------------------------------------------------


@pytest.fixture
def plugin(tmp_path):
    """Installs a module with handlers of ConfigMaps, as pip would."""

    def _plugin(code):
        place = tmp_path / "wrong"
        info = place / "wrong-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: wrong\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            "[tacker_k8s_cr.handlers]\nwrong = wrong_handlers:HANDLERS\n"
        )
        (place / "wrong_handlers.py").write_text(code)
        return place

    return _plugin


JUDGING = """
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind

def assess(obj):
    {body}

HANDLERS = {{GroupKind("", "ConfigMap"): Handler(assess)}}
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "return obj['status']['phase']",
            "assess raised KeyError in line 6 of wrong_handlers.py",
        ),
        ("return True", "assess returned bool, expected a Verdict"),
    ],
)
def test_a_handler_that_does_wrong_ends_the_operation(
    run, package, plugin, namespace, unique_name, body, said
):
    """With its own error, not with that of a wait; a retry continues.

    The plug-in, the kind and the object are named, and what was written.
    """
    path = package(manifests.config_map("a"))
    wrong = plugin(JUDGING.format(body=body))

    code, failed = run("instantiate", unique_name, path, installed=wrong)
    assert (3, "HandlerFailed") == (code, failed["type"])
    assert (
        f"handlers of the entry point wrong: ConfigMap/{namespace}/a: {said}"
    ) == failed["message"].splitlines()[0]
    assert ["a"] == [ref["name"] for ref in failed["written"]]

    code, done = run("instantiate", unique_name, path, installed=None)
    assert (0, {"a": "stored"}) == (code, reasons(done))
    assert 0 == run("terminate", unique_name, installed=None)[0]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import surely_not_installed", "cannot be loaded: ModuleNotFound"),
        ("HANDLERS = []", "it gives no mapping of GroupKind to Handler"),
    ],
)
def test_handlers_that_cannot_be_used_stop_every_command(
    run, package, plugin, cluster, namespace, unique_name, code, said
):
    """Before anything is written: no kind is judged without them."""
    wrong = plugin(code)
    path = package(manifests.config_map("a"))

    for command in (
        ("instantiate", unique_name, path),
        ("status", unique_name),
    ):
        exited, failed = run(*command, installed=wrong)
        assert (2, "PluginInvalid") == (exited, failed["type"])
        assert "handlers of the entry point wrong: " in failed["message"]
        assert said in failed["message"]
    ref = ObjectRef("", "ConfigMap", namespace, "a")
    assert cluster.get(ref) is None


# -- In the conductor --------------------------------------------------------

CHECK = ("check", "--no-database", "--format", "json")


def test_the_check_lists_handlers_and_names_what_is_wrong(
    environ, plugin, sample, group
):
    """An administrator sees that they are found, or why not."""

    def handlers(installed):
        done = subprocess.run(
            [*PROGRAM, *CHECK],
            stdout=subprocess.PIPE,
            text=True,
            timeout=120,
            env=environ(installed),
        )
        return [
            (row["Level"], row["Subject"], row["Finding"])
            for row in json.loads(done.stdout)
            if row["Subject"].startswith("handlers")
        ]

    ((level, _, said),) = handlers(plugin("HANDLERS = []"))

    kinds = f"Store.{group}, Transcoder.{group}"
    assert [("success", "handlers media", kinds)] == handlers(sample)
    assert "failure" == level
    assert said.startswith("handlers of the entry point wrong: ")


DRIVING = """
import json, sys
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.driver import instances
from tacker_k8s_cr.driver import operations
from tacker_k8s_cr.driver import packages
from tacker_k8s_cr.driver import additional_params

given = json.load(sys.stdin)
target = instances.InstanceTarget(**given["target"])
params = {"namespace": given["namespace"], "tacker_k8s_cr": {"timeout": 60}}
asked = additional_params.read(params)
try:
    package = packages.load(given["package"], asked)
    done = operations.instantiate(target, package, asked)
    operations.terminate(target, additional_params.read(params, "terminate"))
    print(json.dumps(done.as_dict()))
except errors.Error as error:
    print(json.dumps({"type": type(error).__name__, "message": str(error)}))
"""


@pytest.fixture
def run_driver(kubectl, kubeconfig, environ, namespace, unique_name):
    """Instantiates and terminates as the conductor's driver does."""
    kubectl("create", "serviceaccount", "vnfm", "-n", namespace)
    kubectl(
        *("create", "clusterrolebinding", unique_name),
        *("--clusterrole=cluster-admin", f"--serviceaccount={namespace}:vnfm"),
    )
    token = kubectl("create", "token", "vnfm", "-n", namespace).strip()
    found = kubeconfigs.load(str(kubeconfig))
    access = {
        "auth_url": found.server,
        "bearer_token": token,
        "ssl_ca_cert": found.ca,
    }

    def _drive(path, installed):
        given = {
            "target": {
                "instance": unique_name,
                "record_namespace": namespace,
                "namespace": namespace,
                "access": access,
            },
            "namespace": namespace,
            "package": str(path),
        }
        done = subprocess.run(
            [sys.executable, "-c", DRIVING],
            input=json.dumps(given),
            stdout=subprocess.PIPE,
            text=True,
            timeout=120,
            env=environ(installed),
        )
        return json.loads(done.stdout)

    yield _drive
    kubectl("delete", "clusterrolebinding", unique_name)


@pytest.mark.requirement("TK-2")
def test_the_driver_uses_what_is_installed_beside_it(
    run_driver, package, plugin, sample, group, controller
):
    """Nothing has to be configured; what is wrong stops it, too."""
    path = package(
        manifests.config_map("tuning"),
        handlers_sample.store(group, "calls", 1, "tuning"),
    )

    done = run_driver(path, sample)
    wrong = run_driver(path, plugin("HANDLERS = []"))

    assert "1 member(s) in step at version 2.1" == reasons(done)["calls"]
    assert "PluginInvalid" == wrong["type"]
