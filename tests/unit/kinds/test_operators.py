"""The table of kinds that operators in wide use report on in their own way."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds import operators
from tacker_k8s_cr.kinds.operators.kind_rules import KindRules
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import State

DATA = pathlib.Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def objs():
    """All objects of the fixtures, by kind."""
    found = {}
    for path in sorted(DATA.glob("*/*.yaml")):
        obj = yaml.safe_load(path.read_text())
        found.setdefault(GroupKind.of(obj), []).append(obj)
    return found


def shown(row):
    return f"{row.group}/{','.join(row.names)}"[:60]


@pytest.mark.parametrize("row", operators.ROWS, ids=shown)
def test_every_row_differs_from_the_default(row, objs):
    """Strict would wait for ever, or not at all."""
    about = [kind for kind in objs if row.matches(kind)]
    named = {GroupKind(row.group, name) for name in row.names}

    assert about
    assert row.is_pattern or named == set(about)
    for kind in about:
        own = [kinds.BUILT_IN[kind].assess(obj).state for obj in objs[kind]]
        usual = [generic.generic_verdict(obj).state for obj in objs[kind]]
        assert own != usual, kind
        assert State.CURRENT in own


@pytest.mark.parametrize("row", operators.ROWS, ids=shown)
def test_a_row_names_its_source(row):
    """Where it is said what these kinds report."""
    assert "/" in row.source or ", " in row.source
    assert 15 < len(row.source)


@pytest.mark.parametrize(
    "rule", ["a=b=c", "condition=", "status phase=Ready", "condition!=Ready"]
)
@pytest.mark.requirement("P15")
def test_a_bad_rule_is_refused_when_it_is_loaded(rule):
    """Not found out by a deadline."""
    row = KindRules("example.org", ("Gizmo",), "unknown/nowhere", (rule,))

    with pytest.raises(errors.RequestInvalid):
        assert row.handler


@pytest.mark.parametrize(
    ("group", "kind", "known"),
    [
        ("aws.upbound.io", "ProviderConfig", True),
        ("kubernetes.crossplane.io", "ProviderConfig", True),
        ("s3.aws.upbound.io", "Bucket", False),
        ("ec2.services.k8s.aws", "Instance", True),
        ("services.k8s.aws.example.org", "Instance", False),
        ("constraints.gatekeeper.sh", "MyOwnRule", True),
    ],
)
def test_groups_that_name_their_owner(group, kind, known):
    """The kinds of these cannot be listed in advance."""
    found = kinds.BUILT_IN.find(GroupKind(group, kind))

    assert known == (found is not None)
