"""Whatever shows a secret makes its test fail, in every suite."""

from __future__ import annotations

import base64
import json
import pathlib
from typing import Any

import hypothesis
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import record_secrets
from tests.fakes.cluster import FakeCluster
from tests.secrecy import canary_secrets
from tests.secrecy import written_texts

pytest_plugins = ["pytester"]

# A frame whose module has the name of the package stands for its code.
LEAKING = '''
import logging
import os
import subprocess
import sys
import types

SECRET = "planted-" + "0815"
LOG = logging.getLogger("tacker_k8s_cr.of_a_test")


def ours(code, **names):
    module = types.ModuleType("tacker_k8s_cr.of_a_test")
    exec(code, vars(module) | names)


def test_shows_nothing():
    LOG.debug("not planted")
    print("not planted")


def test_log_at_debug():
    LOG.debug("got %s", SECRET)


def test_cause_in_a_log():
    try:
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise RuntimeError("no secret here") from error
    except RuntimeError:
        LOG.debug("failed", exc_info=True)


def test_library_below():
    logging.getLogger("urllib3.connectionpool").debug("GET %s", SECRET)


def test_output():
    print(SECRET)


def test_output_of_a_process(capfd):
    os.write(2, SECRET.encode())


def test_arguments():
    subprocess.run([sys.executable, "-c", "", SECRET], check=True)


def test_file_that_stays(tmp_path):
    ours("open(path, 'w').write(text)", path=tmp_path / "a", text=SECRET)


def test_file_for_a_moment(tmp_path):
    code = """
with open(path, 'w') as file:
    file.write(text)
import os
os.remove(path)
"""
    ours(code, path=tmp_path / "a", text=SECRET)


def test_what_it_says_in_a_program(secret_search):
    secret_search.search("the program", SECRET)


def test_file_of_the_test_itself(tmp_path):
    (tmp_path / "package").write_text(SECRET)
'''


@pytest.mark.leaks
@pytest.mark.requirement("P23")
def test_a_leak_of_any_sort_is_a_failure(pytester: pytest.Pytester) -> None:
    """Log, cause, output, arguments, file: each fails its test."""
    pytester.makepyfile(LEAKING)
    root = str(pathlib.Path(__file__).resolve().parents[2])
    pytester.makeini(f"[pytest]\npythonpath = {root}\n")

    done = pytester.runpytest_subprocess("-p", "tests.secrecy.plugin", "-v")

    told = {
        line.split("::")[1].split()[0]
        for line in done.outlines
        if line.startswith("ERROR ") and "::" in line
    }
    quiet = {"test_shows_nothing", "test_file_of_the_test_itself"}
    every = {
        line.removeprefix("def ").partition("(")[0]
        for line in LEAKING.splitlines()
        if line.startswith("def test_")
    }
    assert every - quiet == told
    assert len(every) == done.parseoutcomes()["passed"]


@hypothesis.given(st.binary(max_size=9), st.binary(max_size=9))
@hypothesis.settings(max_examples=50)
def test_a_secret_is_found_in_whatever_it_is_packed(
    before: bytes, after: bytes
) -> None:
    """In base64, once or twice, wherever it begins."""
    text = before + canary_secrets.MARK.encode() + after
    once = base64.b64encode(text)

    assert canary_secrets.find_secrets(once.decode())
    assert canary_secrets.find_secrets(
        base64.b64encode(b"x: " + once).decode()
    )


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN EC PRIVATE KEY-----\nMHc",
        base64.b64encode(b"-----BEGIN PRIVATE KEY-----\nMHc").decode(),
        "token eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl",
    ],
)
def test_a_generated_secret_is_known_by_its_form(text: str) -> None:
    """A token or a key cannot contain a canary."""
    assert canary_secrets.find_secrets(text)


def test_ordinary_words_are_not_secrets() -> None:
    """Nor are certificates, which are public."""
    text = (
        "a planted tree; -----BEGIN CERTIFICATE-----\nMIIC\n"
        + base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode()
    )

    assert [] == canary_secrets.find_secrets(text)


def secret(name: str, type_: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "default"},
        "type": type_,
        "data": {
            key: base64.b64encode(value.encode()).decode()
            for key, value in data.items()
        },
    }


def test_only_secrets_may_hold_a_manifest() -> None:
    """The head of a record, its Lease and Events are searched."""
    cluster = FakeCluster()
    head = secret("head", record_secrets.TYPE, head="planted-1")
    piece = secret("piece", record_secrets.TYPE, piece="planted-2")
    own = secret("own", "Opaque", head="planted-3")
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": leases.ref("i", "default").name,
            "namespace": "default",
        },
        "spec": {"holderIdentity": "planted-4"},
    }
    for obj in (head, piece, own, lease):
        cluster.create(obj, "m")

    found = dict(written_texts.texts_outside_secrets(cluster, "default"))

    assert ["planted-1", "planted-4"] == sorted(
        text[at : at + 9]
        for text in found.values()
        if (at := text.find(canary_secrets.MARK)) >= 0
    )


def test_the_files_of_a_folder_are_searched(tmp_path: pathlib.Path) -> None:
    """Also those in folders below, with packed values."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "log").write_text("nothing")
    held = base64.b64encode(b"planted-1").decode()
    (tmp_path / "a" / "b" / "db").write_text(json.dumps({"x": held}))

    assert ["a/b/db"] == [
        name for name, _ in written_texts.files_with_secrets(tmp_path)
    ]
