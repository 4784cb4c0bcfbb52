"""Terminate an instance through the command line."""

from __future__ import annotations

import argparse

import pytest

from tacker_k8s_cr.cli import arguments
from tacker_k8s_cr.cli import inputs
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes import FakeCluster


def ending(*argv):
    parser = argparse.ArgumentParser()
    arguments.add_options(parser, "terminate")
    parser.set_defaults(namespace="edge")
    return inputs.termination_options(parser.parse_args(argv), FakeCluster())


def test_an_omitted_option_is_left_open():
    """Manifests, the policy and each kind's own time then count."""
    found = ending()

    assert None is found.grace_seconds
    assert None is found.cleanup
    assert not found.on_terminate
    assert not found.remove_finalizers


@pytest.mark.parametrize(
    ("seconds", "argv"),
    [(0, ["--force"]), (7, ["--grace-seconds", "7"])],
)
@pytest.mark.requirement("F5")
def test_a_graceful_end_has_seconds_and_a_forced_one_none(seconds, argv):
    """The last one that is given counts."""
    assert seconds == ending(*argv).grace_seconds


@pytest.mark.requirement("F4")
def test_kinds_and_objects_are_kept_or_deleted():
    """But not the same one both."""
    claims = GroupKind("", "PersistentVolumeClaim")
    one = ObjectRef("", "Secret", "edge", "one")

    found = ending(
        "--keep", "PersistentVolumeClaim", "--delete", "Secret/edge/one"
    )

    assert {claims: True, one: False} == found.on_terminate
    with pytest.raises(errors.RequestInvalid, match="is in both"):
        ending("--keep", "Secret", "--delete", "Secret")


def test_claims_of_stateful_sets_are_deleted_or_retained():
    """What is not given leaves it to the manifests."""
    assert "" == ending().statefulset_claims
    assert (
        "retain" == ending("--statefulset-claims", "retain").statefulset_claims
    )


def test_nothing_is_cleaned_up_only_on_request():
    """The option wins over the annotation of the Cluster's manifest."""
    assert {"persistentvolumeclaims"} == ending(
        "--cleanup", "persistentvolumeclaims"
    ).cleanup
    assert frozenset() == ending("--cleanup", "nothing").cleanup


def test_finalizers_are_removed_from_objects_not_from_kinds():
    """An object without a namespace is in that of the instance."""
    found = ending("--remove-finalizers", "ConfigMap/a")

    assert {ObjectRef("", "ConfigMap", "edge", "a")} == found.remove_finalizers
    with pytest.raises(errors.RequestInvalid, match="expected KIND/NAME"):
        ending("--remove-finalizers", "ConfigMap")
