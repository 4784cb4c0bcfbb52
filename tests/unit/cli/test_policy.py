"""What arguments say on a package as a whole."""

from __future__ import annotations

import argparse

import pytest

from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import inputs
from tacker_k8s_cr.model import errors


def policy(*argv):
    parser = argparse.ArgumentParser()
    arguments.add_options(parser, "forecast")
    return inputs.read_policy(parser.parse_args(argv))


def test_kinds_that_appear_later_are_named_one_by_one(tmp_path):
    """In addition to those of the policy's file."""
    file = tmp_path / "policy.yaml"
    file.write_text(
        "expected_kinds: [Router.example.org]\nnamespace_mode: force\n"
    )

    found = policy(
        *("--policy", str(file)),
        "--expected-kinds",
        "Zone.example.org:Cluster",
    )

    assert ["Router.example.org", "Zone.example.org:Cluster"] == (
        [str(item) for item in found.expected_kinds]
    )
    assert [True, False] == [item.namespaced for item in found.expected_kinds]
    assert "force" == found.namespace_mode
    assert policy() is None


def test_an_invalid_kind_is_refused_with_its_place():
    """With what was wanted."""
    with pytest.raises(errors.RequestInvalid, match=r"Thing/a': expected"):
        policy("--expected-kinds", "Thing/a")
