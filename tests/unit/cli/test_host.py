"""A command whose function is missing states why, and what to do."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.cli import host
from tests.unit.cli.run_program import run


@pytest.mark.parametrize(("command", "code"), [("check", 255), ("adopt", 2)])
def test_a_missing_entry_point_is_explained(command, code, monkeypatch):
    """The metadata of a clone is older than its code after a pull."""
    monkeypatch.setattr(host, "NAMESPACE", "tacker_k8s_cr.older")

    ended, out, err = run(command)

    assert (code, "") == (ended, out)
    assert [
        f"the command {command} cannot be run: the installed distribution "
        f"tacker-k8s-cr has no entry point {command} in tacker_k8s_cr.older, "
        "so its metadata is of another version than its code",
        "Install the distribution tacker-k8s-cr again in this environment; in "
        "a clone of the repository: make environment",
    ] == err.splitlines()


@pytest.mark.parametrize("command", ["check", "adopt"])
def test_each_command_of_the_host_has_its_entry_point(command):
    """The distribution of this clone has both."""
    assert callable(host.load(command))
