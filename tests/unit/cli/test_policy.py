"""What arguments say on a package as a whole."""

from __future__ import annotations

import argparse

import pytest

from tacker_k8s_cr import errors
from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import reading


def policy(*argv):
    parser = argparse.ArgumentParser()
    arguments.add_policy(parser)
    return reading.policy(parser.parse_args(argv))


def test_kinds_that_appear_later_are_named_one_by_one(tmp_path):
    """In addition to those of the policy's file (T3)."""
    file = tmp_path / "policy.yaml"
    file.write_text("expects: [Router.example.org]\nnamespaces: override\n")

    found = policy(
        *("--policy", str(file)), "--expects", "Zone.example.org:Cluster"
    )

    assert ["Router.example.org", "Zone.example.org:Cluster"] == (
        [str(item) for item in found.expects]
    )
    assert [True, False] == [item.namespaced for item in found.expects]
    assert "override" == found.namespaces
    assert policy() is None


def test_what_is_no_kind_is_refused_by_its_place():
    """With what was wanted."""
    with pytest.raises(errors.RequestInvalid, match=r"'Thing/a' is no kind"):
        policy("--expects", "Thing/a")
