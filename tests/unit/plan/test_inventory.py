"""What is stored is what is read, and small changes write little."""

from __future__ import annotations

import dataclasses
import json

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.kinds.autoscaling import ReplicaLimits
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.package import Aspect
from tacker_k8s_cr.model.package import Vdu
from tacker_k8s_cr.model.package import Vnfd
from tacker_k8s_cr.plan import inventory
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Healing
from tacker_k8s_cr.plan.journal import Journal
from tacker_k8s_cr.plan.journal import MemberRef
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import serialization as texts

text = st.text(min_size=1, max_size=8)
refs = st.builds(ObjectRef, st.text(max_size=5), text, st.text("n"), text)
manifests = st.lists(
    st.dictionaries(text, st.integers() | text | st.booleans(), max_size=3),
    max_size=4,
).map(tuple)
vnfds = st.just(
    Vnfd(
        id="vnfd",
        flavour="simple",
        vdus={"VDU1": Vdu("VDU1", "web", 1, 4)},
        aspects={"a": Aspect("a", 3, {"VDU1": (1, 2)})},
        initial={"VDU1": 1},
        levels={"l1": {"a": 0}},
        level_numbers={"l1": {"VDU1": 1}},
        default_level="l1",
    )
)
policies = st.builds(
    Policy,
    st.sampled_from(policy.NAMESPACE_MODES),
    st.sampled_from(
        (
            (),
            (policy.Readiness(GroupKind("g", "Thing"), "exists"),),
            (
                policy.Readiness(
                    ObjectRef("", "Thing", "n", "a"),
                    ready_when=("status.phase=Running",),
                    failed_when=({"condition": "Bad", "status": "True"},),
                ),
            ),
        )
    ),
    st.dictionaries(
        st.sampled_from(
            (GroupKind("g", "Thing"), ObjectRef("g", "T", "", "a"))
        ),
        st.booleans(),
    ),
    st.dictionaries(text, text, max_size=2),
)
goers = st.lists(st.builds(MemberRef, refs, text, refs), max_size=3).map(tuple)
sizes = st.none() | st.integers(0, 9)
plain = {
    "instance": text,
    "namespace": text,
    "phase": st.sampled_from(Phase),
    "owned": st.dictionaries(refs, text, max_size=5),
    "shared": st.lists(refs, max_size=3).map(tuple),
    "manifests": manifests,
    "digest": st.text(max_size=8),
    "live_names": st.dictionaries(refs, text, max_size=3),
    "vnfd": st.none() | vnfds,
    "vdus": st.dictionaries(text, refs, max_size=3),
    "scale_levels": st.dictionaries(text, st.integers(0, 9), max_size=3),
    "replica_overrides": st.dictionaries(refs, st.integers(0, 9), max_size=3),
    "former_replicas": st.dictionaries(
        refs, st.none() | st.integers(0, 9), max_size=3
    ),
    "former_limits": st.dictionaries(
        refs, st.builds(ReplicaLimits, sizes, sizes)
    ),
    "machines_to_delete": goers,
    "policy": policies,
    "preexisting": st.frozensets(refs, max_size=3),
}
healings = st.builds(
    Healing,
    st.booleans(),
    goers,
    st.text(max_size=4),
)
inventories = st.builds(
    Inventory,
    **plain,
    healing=st.none() | healings,
    previous_package=st.none() | st.builds(Inventory, **plain),
    receipts=st.lists(st.dictionaries(text, text), max_size=2).map(tuple),
    journal=st.builds(
        Journal, text, text, st.lists(refs, max_size=4).map(tuple), text
    ),
)


@given(inventories)
def test_what_is_stored_is_what_is_read(given_):
    """Nothing of an inventory is lost on the way."""
    assert given_ == texts.decode(texts.encode(given_))


@given(inventories)
def test_the_same_inventory_gives_the_same_text(given_):
    """So that a piece which did not change is not written again."""
    assert texts.encode(given_) == texts.encode(given_)


@given(inventories)
def test_the_head_names_all_pieces_and_no_other(given_):
    """What it does not name may be removed."""
    stored = texts.encode(given_)

    assert set(stored.chunks) == set(texts.chunk_names(stored.index))


def test_a_new_journal_leaves_the_manifests_alone():
    """They are the bulk of a record (budget of requests per object)."""
    big = Inventory("i", "n", manifests=({"data": "x" * 5000},))
    later = big.with_journal(
        "scale", "replicas", [ObjectRef("", "A", "n", "a")]
    )

    shared = texts.encode(big).chunks.keys()
    assert shared & texts.encode(later).chunks.keys()


@given(inventories, inventories)
def test_what_is_still_the_same_is_not_written_again(last, other):
    """Parts that are new have pieces; the head names those and the old."""
    before = texts.encode(last)
    mixed = dataclasses.replace(
        other, manifests=last.manifests, owned=last.owned
    )
    after = texts.encode(mixed, last, before.index)

    assert texts.encode(mixed).index == after.index
    assert mixed == texts.decode(
        dataclasses.replace(after, chunks={**before.chunks, **after.chunks})
    )


def test_a_new_journal_has_pieces_of_its_own_only():
    """The manifests, the bulk of a record, are not even looked at."""
    big = Inventory("i", "n", manifests=({"data": "x" * 5000},))
    later = big.with_journal(
        "scale", "replicas", [ObjectRef("", "A", "n", "a")]
    )
    head = texts.encode(big).index

    assert 1 == len(texts.encode(later, big, head).chunks)


def test_a_piece_stays_below_what_a_secret_holds():
    """However much a package holds: 10,000 objects fit."""
    refs_ = {
        ObjectRef("g", "Kind", "namespace", f"name-{i}"): f"{i:036}"
        for i in range(10_000)
    }
    stored = texts.encode(Inventory("i", "n", owned=refs_))

    assert max(map(len, stored.chunks.values())) <= texts.CHUNK_BYTES
    assert refs_ == texts.decode(stored).owned


def test_an_index_stays_below_the_limit_of_a_secret():
    """However many objects are shared, or were adopted."""
    refs_ = tuple(
        ObjectRef("g", "Kind", "namespace", f"name-{i}") for i in range(10_000)
    )
    one = Inventory("i", "n", shared=refs_, preexisting=frozenset(refs_))
    whole = dataclasses.replace(one, previous_package=one)
    stored = texts.encode(whole)

    assert len(stored.index) < 10_000
    assert max(map(len, stored.chunks.values())) <= texts.CHUNK_BYTES
    assert whole == texts.decode(stored)


@pytest.mark.parametrize("number", [0, 2, 99])
def test_a_record_of_an_unknown_format_is_refused(number):
    """The error names the format of the record and the one that is read."""
    stored = texts.encode(Inventory("i", "n"))
    head = json.dumps({**json.loads(stored.index), "format": number})

    with pytest.raises(
        texts.FormatUnknown, match=f"expected format 1, got {number};"
    ):
        texts.decode(dataclasses.replace(stored, index=head))


@given(inventories, st.dictionaries(refs, text, max_size=4))
def test_owning_and_no_longer_owning(given_, more):
    """The one undoes the other."""
    after = given_.with_owned(more).without_owned(more)

    assert {
        ref: uid for ref, uid in given_.owned.items() if ref not in more
    } == after.owned


@pytest.mark.parametrize(
    "name", ["a", "site-a", "3f2c.edge-1", "x" * 63, "0a7c94b2-0000"]
)
def test_a_name_of_an_instance_is_accepted(name):
    """What can be a label's value and part of a Secret's name is a name."""
    assert name == inventory.require_valid_name(name)


@pytest.mark.parametrize(
    "name", ["", "A", "a_b", "-a", "a-", "a..b", ".a", "a/b", "a\n", "x" * 64]
)
def test_a_name_that_cannot_be_is_refused(name):
    """What the server would refuse as a name, we refuse before."""
    with pytest.raises(errors.RequestInvalid, match="name"):
        inventory.require_valid_name(name)
