"""The management driver as a script, run as Tacker's conductor runs it."""

import ast
import datetime
import os
import pathlib
import pickle
import subprocess
import sys

from oslo_config import cfg
import pytest

from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver.mgmt import kubeconfig_webhook
from tacker_k8s_cr.driver.mgmt import v2
from tacker_k8s_cr.model import errors

SCRIPT = pathlib.Path("mgmt_drivers/kubeconfig_webhook_v2.py")
PLANTED = "planted-0815"
OURS = {"tacker_k8s_cr": {"record": "edge/i-1"}}


@pytest.fixture
def configured(tmp_path):
    """A configuration file, and its place in the script's environment."""

    def made(*lines, **variables):
        path = tmp_path / "tacker.conf"
        path.write_text("\n".join(["[tacker_k8s_cr]", *lines]))
        return {**os.environ, configuration.CONFIG: str(path), **variables}

    return made


def call(operation="instantiate_start", metadata=None, **params):
    """What Tacker writes to the script; a VIM's access is part of it."""
    return {
        "operation": operation,
        "request": {"additionalParams": params},
        "vnf_instance": {
            "id": "i-1",
            "vimConnectionInfo": {
                "vim": {
                    "vimId": "v",
                    "vimType": "ETSINFV.KUBERNETES.V_1",
                    "interfaceInfo": {"endpoint": "https://127.0.0.1:1"},
                    "accessInfo": {"bearer_token": PLANTED},
                }
            },
            "instantiatedVnfInfo": {"metadata": metadata or {}},
        },
        "grant_request": None,
        "grant_response": {},
        "tmp_csar_dir": "/tmp/x",
        "user_script_err_handling_data": {},
    }


def failure(environ, given):
    """What the script writes to its standard error, in this process."""
    text = given if isinstance(given, bytes) else pickle.dumps(given)
    return v2.failure(text, environ)


@pytest.fixture
def run(secret_search):
    """Exit status, output and error of the script."""

    def started(environ, given, script=SCRIPT):
        text = given if isinstance(given, bytes) else pickle.dumps(given)
        done = subprocess.run(
            [sys.executable, str(script)],
            input=text,
            capture_output=True,
            env=environ,
        )
        secret_search.search(
            "the script", (done.stdout + done.stderr).decode()
        )
        return done.returncode, done.stdout, done.stderr

    return started


def test_valid_settings_pass_without_output(configured, run):
    """Tacker reads what is printed: an empty output changes nothing."""
    environ = configured("webhook_url = https://hooks.invalid")

    assert (0, b"", b"") == run(environ, call())


def test_a_copy_in_a_package_does_the_same(configured, tmp_path, run):
    """It lies anywhere, and finds the installed driver."""
    copy = tmp_path / "Definitions" / "Scripts" / "kubeconfig_webhook.py"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(SCRIPT.read_bytes())
    environ = configured("webhook_url = https://hooks.invalid")

    assert (0, b"", b"") == run(environ, call(), copy)


@pytest.mark.parametrize(
    ("lines", "params", "said"),
    [
        ((), {}, "no webhook: set"),
        (("webhook_url = http://h",), {}, "has no TLS"),
        ((), {"tacker_k8s_cr": {"webhook": {"uri": PLANTED}}}, "uri"),
        (("webhook_api_check = perhaps",), {}, "configuration cannot be read"),
        ((f"webhook_secret {PLANTED}",), {}, "is not written as"),
        (
            ("webhook_url = https://h", f"webhook_secret = {PLANTED}"),
            {},
            "is not base64",
        ),
    ],
)
def test_wrong_settings_are_one_sentence(configured, lines, params, said):
    """On standard error, which Tacker puts into the operation's error."""
    error = failure(configured(*lines), call(**params))

    assert said in error
    assert 1 == len(error.splitlines())
    assert PLANTED not in error


def test_a_failure_is_an_exit_status_and_a_sentence(configured, run):
    """On standard error; nothing is printed, and there is no traceback."""
    code, out, error = run(configured(), call())

    assert (1, b"") == (code, out)
    assert error.startswith(b"no webhook: set")
    assert 1 == len(error.splitlines())


def test_a_missing_driver_environment_is_reported(configured):
    """The conductor did not load the driver that instantiates."""
    environ = configured()
    del environ[configuration.CONFIG]

    assert "TACKER_K8S_CR_CONFIG is not set" in failure(environ, call())


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"planted-0815",
        pickle.dumps(["planted-0815"]),
        pickle.dumps({"operation": PLANTED}),
        pickle.dumps({**call(), "at": datetime.datetime(2026, 1, 1)}),
        b"cos\nsystem\n(S'echo planted-0815'\ntR.",
    ],
)
def test_only_a_plain_dictionary_is_read(configured, text):
    """Nothing in it can make us import or call anything."""
    error = failure(configured(), text)

    assert "got something else" in error
    assert "planted" not in error


def test_plain_values_are_read():
    """All that Tacker's objects become."""
    given = {**call(), "more": [1, 2.5, None, True, "t", b"b", (1,), {2}]}

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        if protocol > 3:  # earlier protocols have no plain sets
            assert given == v2.parse_request(pickle.dumps(given, protocol))


def test_a_cluster_out_of_reach_is_one_sentence(configured):
    """The VIM's URL is named, and its token is not."""
    environ = configured(
        "webhook_url = https://hooks.invalid", "webhook_timeout = 3"
    )

    error = failure(environ, call("heal_end", OURS))

    assert "127.0.0.1:1" in error
    assert 1 == len(error.splitlines())
    assert PLANTED not in error


def test_a_termination_continues_and_the_log_has_the_cause(
    configured, tmp_path, run
):
    """An unreachable cluster does not block the termination."""
    log = tmp_path / "conductor.log"
    environ = configured(
        "webhook_url = https://hooks.invalid",
        "webhook_timeout = 1",
        "[DEFAULT]",
        f"log_file = {log}",
    )

    assert (0, b"", b"") == run(environ, call("terminate_start", OURS))

    assert "webhook notification failed" in log.read_text()
    assert PLANTED not in log.read_text()


GOING_ON = [
    "terminate_start",
    "instantiate_rollback_start",
    "change_current_package_rollback_end",
]


@pytest.mark.parametrize("operation", GOING_ON)
def test_no_configuration_stops_an_end(operation):
    """Not even the driver that exports it needs to be there."""
    assert "" == failure({}, call(operation, OURS))


@pytest.mark.parametrize("operation", GOING_ON)
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("webhook_api_check = perhaps",), "webhook notification failed"),
        ((f"webhook_secret {PLANTED}",), "webhook notification failed"),
        (
            ("webhook_url = https://h", "webhook_secret = x"),
            "webhook notification failed",
        ),
    ],
)
def test_no_setting_stops_an_end(configured, caplog, operation, lines, said):
    """It is in the log, where the options say that there is one."""
    environ = configured(*lines, "webhook_timeout = 1")

    assert "" == failure(environ, call(operation, OURS))
    assert said in caplog.text
    assert PLANTED not in caplog.text


@pytest.mark.parametrize("operation", GOING_ON)
def test_an_instance_without_a_vim_still_terminates(
    configured, caplog, operation
):
    """Tacker's data of it need not be complete either."""
    given = call(operation, OURS)
    given["vnf_instance"]["vimConnectionInfo"] = {}

    assert "" == failure(configured(), given)
    assert "has no VIM" in caplog.text

    given["vnf_instance"] = PLANTED
    assert "" == failure(configured(), given)
    assert PLANTED not in caplog.text


@pytest.mark.parametrize(
    "operation",
    [
        "scale_end",
        "heal_end",
        "terminate_start",
        "change_current_package_end",
        "change_current_package_rollback_end",
        "terminate_end",
    ],
)
def test_an_instance_of_another_driver_is_left_alone(configured, operation):
    """It has no record, and no receiver was notified of it."""
    assert "" == failure(configured(), call(operation))


@pytest.mark.parametrize(
    "params", [{"use_helm": True}, {"tacker_k8s_cr": {"no such": "key"}}]
)
def test_a_rollback_of_what_we_did_not_make_is_left_alone(configured, params):
    """Another driver's, or a request that was refused."""
    given = call("instantiate_rollback_start", **params)

    assert "" == failure(configured(), given)


def test_a_rollback_reads_the_record_namespace_of_the_request(
    configured, caplog
):
    """Tacker has no instantiatedVnfInfo of it; what fails is logged."""
    environ = configured(
        "webhook_url = https://hooks.invalid", "webhook_timeout = 3"
    )
    given = call("instantiate_rollback_start", namespace="edge")

    assert "" == failure(environ, given)
    assert "webhook notification failed" in caplog.text
    assert "127.0.0.1:1" in caplog.text


def test_an_instance_of_another_driver_has_nothing_to_deliver(configured):
    """A package that asks for it wants something delivered."""
    error = failure(configured(), call("instantiate_end"))

    assert "instantiated by another driver" in error


def test_an_internal_error_shows_its_place_only(configured):
    """A traceback could hold values, and so could the error's text."""
    broken = {**call(), "vnf_instance": PLANTED}

    error = failure(configured(), {**broken, "operation": "heal_end"})

    assert error.startswith("internal error of the management driver: Attri")
    assert PLANTED not in error


# -- Finding the configuration -----------------------------------------------


def test_the_conductors_files_are_exported(tmp_path):
    """Its files, then its folders, with their full paths."""
    file, folder = tmp_path / "a.conf", tmp_path / "d"
    file.write_text("[tacker_k8s_cr]\nwebhook_url = https://a\n")
    folder.mkdir()
    (folder / "b.conf").write_text("[tacker_k8s_cr]\nwebhook_url = https://b")
    conductors = cfg.ConfigOpts()
    conductors(
        ["--config-file", str(file), "--config-dir", str(folder)],
        project="tacker",
    )
    environ = {}

    configuration.export_config(conductors, environ)

    assert {configuration.CONFIG: f"{file}{os.pathsep}{folder}"} == environ
    assert (
        "https://b"
        == configuration.settings(
            configuration.load_exported_config(environ)
        ).webhook.url
    )


def test_nothing_is_exported_where_nothing_was_read():
    """As in a process that has not read its command line yet."""
    environ = {}

    configuration.export_config(cfg.ConfigOpts(), environ)

    assert {} == environ


def test_the_files_of_packages_only_delegate():
    """What they hand on to may change; they never have to."""
    for path in sorted(pathlib.Path("mgmt_drivers").glob("kubeconfig_*.py")):
        imported = [
            node.module
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("tacker_k8s_cr")
        ]
        assert ["tacker_k8s_cr.driver.mgmt"] == imported


def test_each_hook_has_one_meaning():
    """None both delivers and withdraws."""
    assert kubeconfig_webhook.CHECKS not in kubeconfig_webhook.DELIVERS
    assert kubeconfig_webhook.WITHDRAWS.isdisjoint(kubeconfig_webhook.DELIVERS)


def test_an_instance_without_a_vim_is_named():
    """Its record cannot be read without one."""
    settings = configuration.settings(cfg.ConfigOpts())
    given = call("heal_end", OURS)
    given["vnf_instance"]["vimConnectionInfo"] = {}

    with pytest.raises(errors.RequestInvalid, match="has no VIM"):
        v2.carry_out(given, settings)
