"""The command ``check`` in Tacker's environment, with a real database.

The configuration, the tables and the files of packages are those of
Tacker; the VIM is the real API server.
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import subprocess
import sys
import uuid

from cryptography import fernet
import pytest
import sqlalchemy
from sqlalchemy import orm

from tacker_k8s_cr.kube import kubeconfig as kubeconfigs
from tests import output_schemas
from tests import tacker_host
from tests.secrecy.search import SecretSearch

tacker_host.load_drivers()

from tacker.db import model_base  # noqa: E402
from tacker.db.db_sqlalchemy import models  # noqa: E402
from tacker.db.nfvo import nfvo_db  # noqa: E402
from tacker.sol_refactored.db.sqlalchemy import models as models_v2  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.executable).parent / "tacker-k8s-cr"
PLANTED = "planted-secret-0815"
NOW = datetime.datetime(2026, 1, 1)

RIGHT = {
    "vnflcm_infra_driver": "openstack,kubernetes_cr",
    "infra_driver": "noop,openstack,kubernetes_cr",
    "vnflcm_mgmt_driver": "vnflcm_noop,kubeconfig-webhook",
}


class Site:
    """A tacker.conf, what it points to, and the command."""

    def __init__(self, folder: pathlib.Path, shows: SecretSearch):
        self.folder = folder
        self.shows = shows
        self.packages = folder / "packages"
        self.packages.mkdir()
        self.database = f"sqlite:///{folder}/tacker.db"

    def configure(self, **options: str) -> None:
        drivers = {**RIGHT, **options}
        lines = [
            "[tacker]",
            *(f"{key} = {value}" for key, value in drivers.items()),
            "[database]",
            f"connection = {self.database}",
            "[vnf_package]",
            f"vnf_package_csar_path = {self.packages}",
            "[vim_keys]",
            f"openstack = {self.folder}",
            "[tacker_k8s_cr]",
            f"webhook_token = {PLANTED}",
        ]
        self.file.write_text("\n".join(lines))

    @property
    def file(self) -> pathlib.Path:
        return self.folder / "tacker.conf"

    def run(self, *arguments: str) -> tuple[int, str]:
        """The exit code and all that was printed."""
        done = subprocess.run(
            [
                *(str(PROGRAM), "check", "--config-file", str(self.file)),
                *arguments,
            ],
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        said = done.stdout + done.stderr
        self.shows.search("the output of the check", said)
        assert "Traceback" not in said
        return done.returncode, said

    def found(self, *arguments: str) -> tuple[int, dict[str, tuple[str, str]]]:
        """The exit code, and by subject the level and what was found."""
        code, said = self.run("-f", "json", *arguments)
        output_schemas.check_output(["check", "json"], said)
        return code, {
            row["Subject"]: (row["Level"], row["Finding"])
            for row in json.loads(said)
        }

    def store(self, *rows: object) -> None:
        engine = sqlalchemy.create_engine(self.database)
        model_base.BASE.metadata.create_all(engine)
        with orm.Session(engine) as session, session.begin():
            session.add_all(rows)
        engine.dispose()

    def vim(self, name: str, server: str, token: str, ca: str) -> None:
        """Store a VIM as Tacker does without a key manager."""
        key = fernet.Fernet.generate_key()
        cipher = fernet.Fernet(key)
        id_ = str(uuid.uuid4())
        (self.folder / id_).write_bytes(key)
        self.store(
            nfvo_db.Vim(
                id=id_,
                tenant_id="t",
                name=name,
                type="kubernetes",
                placement_attr={"regions": ["default"]},
                deleted_at=datetime.datetime.min,
            ),
            nfvo_db.VimAuth(
                id=str(uuid.uuid4()),
                vim_id=id_,
                auth_url=server,
                vim_project={"name": "default"},
                auth_cred={
                    "bearer_token": cipher.encrypt(token.encode()).decode(),
                    "ssl_ca_cert": cipher.encrypt(ca.encode()).decode(),
                },
            ),
        )


@pytest.fixture
def site(tmp_path, secret_search):
    """A site that is set up as it should be."""
    found = Site(tmp_path, secret_search)
    found.configure()
    found.store()
    return found


def carried(site, text):
    """Unpack a package that carries this file as its management driver."""
    package = site.packages / str(uuid.uuid4())
    (package / "Definitions").mkdir(parents=True)
    (package / "Scripts").mkdir()
    (package / "Scripts" / "kubeconfig_webhook.py").write_text(text)
    driver = {"implementation": "kubeconfig-webhook"}
    file = {"file": "Scripts/kubeconfig_webhook.py"}
    vnf = {
        "interfaces": {"Vnflcm": {"instantiate_end": driver}},
        "artifacts": {"kubeconfig-webhook": file},
    }
    (package / "Definitions" / "df.yaml").write_text(
        json.dumps({"topology_template": {"node_templates": {"VNF": vnf}}})
    )
    return package.name


def test_a_site_that_is_right_has_no_errors(site):
    """Both options, the management driver and the v2 API are looked at."""
    shim = ROOT / "mgmt_drivers" / "kubeconfig_webhook.py"
    carried(site, shim.read_text())

    code, found = site.found()

    assert 0 == code, found
    assert {"success"} == {level for level, _ in found.values()}, found
    assert {
        "[tacker] vnflcm_infra_driver",
        "[tacker] infra_driver",
        "[tacker] vnflcm_mgmt_driver",
        "v2 API",
        "packages",
    } <= found.keys()


def test_the_printed_lines_fix_one_missing_option(site):
    """With the line in its place there is nothing more to print."""
    site.configure(infra_driver="noop,openstack,kubernetes")

    code, said = site.run("--print-fix", "--no-database")

    assert 2 == code
    assert "[tacker]\ninfra_driver = noop,openstack,kubernetes_cr\n" == said
    _, _, value = said.strip().rpartition(" = ")
    site.configure(infra_driver=value)
    assert (0, "") == site.run("--print-fix", "--no-database")


def test_the_openstack_command_reports_the_same_checks(site):
    """With the codes and the JSON of OpenStack's upgrade checks."""
    site.configure(infra_driver="noop,openstack,kubernetes")
    code, found = site.found()
    done = subprocess.run(
        [
            *(f"{PROGRAM}-status", "--config-file", str(site.file)),
            *("upgrade", "check", "--json"),
        ],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        cwd=site.folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = json.loads(done.stdout)

    assert 2 == code == done.returncode
    levels = ("success", "warning", "failure")
    assert found == {
        item["check"]: (levels[item["result"]], item["details"])
        for item in said["checks"]
    }


def test_all_faults_are_reported_at_once(site):
    """Options, a package with another file, and a database that is away.

    The URL of the database is not shown: it may hold a password.
    """
    site.database = f"mysql+pymysql://tacker:{PLANTED}@127.0.0.1:1/tacker"
    site.configure(
        vnflcm_infra_driver="openstack,kubernetes",
        infra_driver="noop,kubernetes,kubernetes_cr",
    )
    name = carried(site, "pass\n")

    code, found = site.found()

    assert 2 == code
    assert (
        "expected kubernetes_cr, got kubernetes."
        in found["[tacker] vnflcm_infra_driver"][1]
    )
    assert "KeyError: <class 'type'>" in found["[tacker] infra_driver"][1]
    assert "differs from the installed" in found[f"package {name}"][1]
    assert "warning" == found["operations"][0]


def test_operations_that_wait_are_found(site):
    """Of both APIs; they are warnings, whose exit code is 1."""
    id_ = str(uuid.uuid4())
    instance = models.VnfInstance(
        id=id_,
        vnf_instance_name="n",
        instantiation_state="INSTANTIATED",
        vnfd_id=str(uuid.uuid4()),
        vnf_provider="p",
        vnf_product_name="n",
        vnf_software_version="1",
        vnfd_version="1",
        tenant_id="t",
        vnf_pkg_id=str(uuid.uuid4()),
    )
    site.store(
        instance,
        models.VnfLcmOpOccs(
            id="op-1",
            vnf_instance_id=id_,
            state_entered_time=NOW,
            start_time=NOW,
            operation_state="FAILED_TEMP",
            operation="INSTANTIATE",
            is_automatic_invocation=False,
            is_cancel_pending=False,
            error_point=0,
            tenant_id="t",
        ),
        models_v2.VnfLcmOpOccV2(
            id="op-2",
            operationState="FAILED_TEMP",
            stateEnteredTime=NOW,
            startTime=NOW,
            vnfInstanceId="i-2",
            operation="HEAL",
            isAutomaticInvocation=False,
            isCancelPending=False,
        ),
    )

    code, found = site.found()

    assert 1 == code
    assert f"INSTANTIATE of instance {id_}" in found["v1 operation op-1"][1]
    assert "HEAL of instance i-2" in found["v2 operation op-2"][1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"[tacker_k8s_cr]\nfield_conflicts = {PLANTED}",
            "the option field_conflicts has a value that it cannot have",
        ),
        (f"[tacker\n{PLANTED}", "is not written as a configuration file is"),
    ],
)
def test_an_unreadable_configuration_is_reported(site, text, said):
    """Where the fault is, without the value; then nothing more is known."""
    site.file.write_text(text)

    code, found = site.found()

    assert 2 == code
    assert said in found["configuration"][1]
    assert "v2 API" not in found


@pytest.mark.plane
def test_every_vim_is_asked(site, kubeconfig, kubectl, unique_name):
    """One is usable, one has no permissions, one does not exist."""
    server = kubeconfigs.load(str(kubeconfig))
    kubectl("create", "namespace", unique_name)
    try:
        for name in ("good", "poor"):
            kubectl("create", "serviceaccount", name, "-n", unique_name)
        kubectl(
            *("create", "clusterrolebinding", unique_name),
            *(
                "--clusterrole=cluster-admin",
                f"--serviceaccount={unique_name}:good",
            ),
        )
        for name in ("good", "poor"):
            token = kubectl("create", "token", name, "-n", unique_name).strip()
            site.vim(name, server.server, token, server.ca)
        site.vim("away", "https://127.0.0.1:1", PLANTED, server.ca)

        code, found = site.found("--vims")
    finally:
        kubectl("delete", "clusterrolebinding", unique_name)
        kubectl("delete", "namespace", unique_name, "--wait=false")

    assert 2 == code
    assert ("success", "can be reached, and accepts a record") == found[
        "VIM good"
    ]
    assert "missing permissions" in found["VIM poor"][1]
    assert "failure" == found["VIM away"][0]
