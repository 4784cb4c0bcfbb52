"""What an operator sees of a Tacker that runs: the check, the log, errors."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.e2e import packages
from tests.e2e.packages import Vdu
from tools.tacker import rest
from tools.tacker import services

pytestmark = pytest.mark.plane

SECRET = "planted-secret-0815"

LINE = re.compile(r"tacker_k8s_cr\.\S* \[[^]]*\] \[(?P<ids>[^]]*)\] (.*)")
"""Of ours in the conductor's log: Tacker's context, our ids, the rest."""


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
    csar = packages.of(
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


def test_the_check_knows_a_tacker_that_runs(check, vim):
    """Its drivers, packages, database and VIMs are as they should be."""
    _, found = check("--vims")

    drivers = {
        key: found[key]
        for key in ("[tacker] vnflcm_infra_driver", "[tacker] infra_driver")
    }
    said = "VIMs of the type kubernetes get kubernetes_cr"
    assert dict.fromkeys(drivers, ("fine", said)) == drivers
    assert "fine" == found["v2 API"][0]
    assert "operations" not in found, found["operations"]
    vims = {k: v for k, v in found.items() if k.startswith("VIM ")}
    assert ("fine", "can be reached, and takes a record") in vims.values()


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_an_ordinary_operation_says_little(
    request, version, host, vim, web, namespace
):
    """Each line has both ids; none is there twice; there are few."""
    api = request.getfixturevalue(version)
    instance = api.create(web.vnfd)
    begin = host.logged()

    body = rest.instantiation(api, vim, web.files, namespace=namespace)
    occurrence = api.start(instance, "instantiate", body)
    api.wait(occurrence)
    said = host.log(since=begin)
    api.done(instance, "terminate", rest.FORCEFUL)

    lines = [
        found.groups()
        for found in LINE.finditer(said)
        if instance in found["ids"]
    ]
    assert {f"{instance} {occurrence}"} == {ids for ids, _ in lines}
    texts = [text for _, text in lines]
    assert len(texts) == len(set(texts)), texts
    assert 3 <= len(texts) <= 12, texts
    assert 1 == sum("instantiate done" in text for text in texts), texts
    assert not any("ConfigMap/" in text for text in texts), texts


def test_a_request_is_refused_before_anything_is_written(
    v1, v2, host, check, vim, web, namespace, traces_of
):
    """By name, with what may be meant, for all faults, without a value.

    Until somebody decides on such an operation the check lists it.
    """
    begin = host.logged()
    ours = {"tiemout": 5, "conflict": SECRET}
    waiting = []
    for api in (v1, v2):
        instance = api.create(web.vnfd)
        params = {"namespace": namespace, "tacker_k8s_cr": ours}
        body = rest.instantiation(api, vim, web.files, **params)
        ended = api.run(instance, "instantiate", body)
        waiting.append((api, ended["id"], instance))

        assert "FAILED_TEMP" == ended["operationState"]
        detail = ended["error"]["detail"]
        assert "tacker_k8s_cr.tiemout: no such parameter; is time" in detail
        assert "tacker_k8s_cr.conflict: wanted one of fail, take" in detail
        assert SECRET not in detail
        assert not traces_of(instance)

    _, found = check()
    for api, occurrence, instance in waiting:
        level, said = found[f"{api.version} operation {occurrence}"]
        assert "warning" == level
        assert f"INSTANTIATE of the instance {instance}" in said
        api.fail(occurrence)
    lines = host.log(since=begin).splitlines()
    assert not [x for x in lines if "tacker_k8s_cr." in x and SECRET in x]
