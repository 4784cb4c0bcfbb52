"""What an operator sees of a Tacker that runs: the check, the log, errors."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.e2e import packages
from tests.e2e.packages import Vdu
from tools.tacker import rest_api
from tools.tacker import services

pytestmark = pytest.mark.plane

SECRET = "planted-secret-0815"

LINE = re.compile(
    r"tacker_k8s_cr\.\S* \[[^]]*\] \[(?P<ids>instance: [^]]*)\] (.*)"
)
"""Lines in the conductor's log: Tacker's context, our ids, the rest."""


@pytest.fixture
def check(host):
    """Run the command in Tacker's environment, with its configuration."""

    def run(*arguments):
        folders = host.folders
        done = subprocess.run(
            [
                *(folders.environment / "bin" / "tacker-k8s-cr", "check"),
                *("--config-file", folders.conf / "tacker.conf"),
                *("--config-file", folders.conf / "settings.conf"),
                *("-f", "json", *arguments),
            ],
            env=services.tacker_environ(folders),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, {
            row["Subject"]: (row["Level"], row["Finding"])
            for row in json.loads(done.stdout)
        }

    return run


@pytest.fixture
def web(tmp_path, v2):
    """A package with a Deployment and a ConfigMap."""
    csar = packages.build(
        tmp_path,
        {
            "web.yaml": [
                packages.config_map("settings", colour="green"),
                packages.deployment("web", 2),
            ]
        },
        [Vdu("web", "web", initial=2)],
    )
    v2.upload(csar.path)
    return csar


def test_the_check_recognizes_a_running_tacker(check, vim):
    """Its drivers, packages, database and VIMs are as they should be."""
    _, found = check("--vims")

    drivers = {
        key: found[key]
        for key in ("[tacker] vnflcm_infra_driver", "[tacker] infra_driver")
    }
    said = "VIMs of type kubernetes use kubernetes_cr"
    assert dict.fromkeys(drivers, ("success", said)) == drivers
    assert "success" == found["v2 API"][0]
    assert "operations" not in found, found["operations"]
    vims = {k: v for k, v in found.items() if k.startswith("VIM ")}
    assert ("success", "can be reached, and accepts a record") in vims.values()


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_an_ordinary_operation_logs_little(
    request, version, host, vim, web, namespace
):
    """Each line has both ids; none is there twice; there are few."""
    api = request.getfixturevalue(version)
    instance = api.create(web.vnfd)
    begin = host.logged()

    body = rest_api.instantiation(api, vim, web.files, namespace=namespace)
    occurrence = api.start(instance, "instantiate", body)
    api.wait(occurrence)
    said = host.log(since=begin)
    api.done(instance, "terminate", rest_api.FORCEFUL)

    lines = [
        found.groups()
        for found in LINE.finditer(said)
        if instance in found["ids"]
    ]
    assert {f"instance: {instance} operation: {occurrence}"} == {
        ids for ids, _ in lines
    }
    texts = [text for _, text in lines]
    assert len(texts) == len(set(texts)), texts
    assert 3 <= len(texts) <= 12, texts
    assert 1 == sum("instantiate done" in text for text in texts), texts
    assert not any("ConfigMap/" in text for text in texts), texts


def test_a_request_is_refused_before_anything_is_written(
    v1, v2, host, check, vim, web, namespace, leftover_objects
):
    """By name, with suggestions, for all faults, without a value.

    The check lists such an operation until the user retries, rolls back or
    fails it.
    """
    begin = host.logged()
    ours = {"tiemout": 5, "field_conflicts": SECRET}
    waiting = []
    for api in (v1, v2):
        instance = api.create(web.vnfd)
        params = {"namespace": namespace, "tacker_k8s_cr": ours}
        body = rest_api.instantiation(api, vim, web.files, **params)
        ended = api.run(instance, "instantiate", body)
        waiting.append((api, ended["id"], instance))

        assert "FAILED_TEMP" == ended["operationState"]
        detail = ended["error"]["detail"]
        assert "tacker_k8s_cr.tiemout: no such parameter; is time" in detail
        assert (
            "tacker_k8s_cr.field_conflicts: wanted one of fail, force"
            in detail
        )
        assert SECRET not in detail
        assert not leftover_objects(instance)

    _, found = check()
    for api, occurrence, instance in waiting:
        level, said = found[f"{api.version} operation {occurrence}"]
        assert "warning" == level
        assert f"INSTANTIATE of instance {instance}" in said
        api.fail(occurrence)
    lines = host.log(since=begin).splitlines()
    assert not [x for x in lines if "tacker_k8s_cr." in x and SECRET in x]
