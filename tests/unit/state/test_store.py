"""The record of an instance in the cluster: whole, readable, or not there."""

from __future__ import annotations

import base64
import dataclasses
import json

import pytest

from tacker_k8s_cr.kinds.claims import ClaimRule
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.inventory import Inventory
from tacker_k8s_cr.plan.journal import Phase
from tacker_k8s_cr.state import other_instances
from tacker_k8s_cr.state import record_secrets
from tacker_k8s_cr.state import serialization as texts
from tacker_k8s_cr.state import store
from tacker_k8s_cr.state import stray_chunks
from tests.fakes import FakeCluster
from tests.functional import manifests

HEAD = record_secrets.secret_ref("one", "default")
LEFT = ObjectRef("", "Secret", "default", f"{HEAD.name}.0123456789abcdef")
ONE = Inventory(
    "one",
    "default",
    owned={ObjectRef("", "ConfigMap", "default", "a"): "uid"},
    manifests=(manifests.config_map("a"),),
)


@pytest.fixture
def cluster():
    return FakeCluster()


def left(cluster):
    return [
        ref.name
        for ref in cluster.world.objects
        if ref.name.startswith(record_names.PREFIX)
    ]


def stored_as(cluster, head):
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": HEAD.name, "namespace": "default"},
            "data": head,
        },
        "m",
    )


def encoded(value):
    return base64.b64encode(json.dumps(value).encode()).decode()


def test_what_is_written_is_read(cluster):
    """All of it."""
    rule = ClaimRule(
        ObjectRef("apps", "StatefulSet", "default", "db"),
        ("data", "log"),
        (("app", "db"), ("tier", "back")),
        "2026-01-01T00:00:00Z",
        "retain",
        "request",
    )
    inventory = dataclasses.replace(ONE, claim_rules=(rule,))
    store.write(cluster, inventory, None)

    found = store.read(cluster, "one", "default")

    assert inventory == found.inventory


@pytest.mark.parametrize(
    "error",
    [
        errors.Forbidden("update", "secrets", "default", "no"),
        errors.Rejected(HEAD, 413, "RequestEntityTooLarge", "too large"),
        errors.DependencyMissing(HEAD, "failed calling webhook"),
    ],
)
def test_a_new_record_that_cannot_be_completed_is_deleted(cluster, error):
    """Nothing is left of it, and the error is the first one."""
    cluster.fail(error, "update", HEAD)

    with pytest.raises(type(error)) as caught:
        store.write(cluster, ONE, None)

    assert error is caught.value
    assert [] == left(cluster)


def test_the_first_error_is_raised(cluster):
    """Where the head cannot be removed either, that is not the news."""
    error = errors.Forbidden("update", "secrets", "default", "no")
    cluster.fail(error, "update", HEAD)
    cluster.fail(
        errors.Forbidden("delete", "secrets", "default", "no"), "delete"
    )

    with pytest.raises(errors.Forbidden, match="forbidden to update"):
        store.write(cluster, ONE, None)

    assert HEAD.name in left(cluster)


def test_an_existing_record_stays(cluster):
    """An update that is refused leaves the state that was written before."""
    entry = store.write(cluster, ONE, None)
    cluster.fail(
        errors.Forbidden("update", "secrets", "default", "no"), "update", HEAD
    )

    with pytest.raises(errors.Forbidden):
        store.write(cluster, dataclasses.replace(ONE, owned={}), entry)

    assert ONE == store.read(cluster, "one", "default").inventory


def test_a_new_record_of_another_writer_stays(cluster):
    """It is not removed here."""
    error = errors.Conflict(HEAD, "the object has been modified")
    cluster.fail(error, "update", HEAD)

    with pytest.raises(errors.Conflict):
        store.write(cluster, ONE, None)

    assert HEAD.name in left(cluster)


def test_a_record_of_an_unknown_format_is_not_changed(cluster):
    """Whatever else is different in it."""
    for head in ({"format": 99}, {"format": 99, "parts": {}}):
        cluster = FakeCluster()
        stored_as(cluster, {"head": encoded(head)})

        with pytest.raises(
            errors.RecordInvalid,
            match=r"the record of instance one cannot be read: "
            r"expected format 1, got 99; use the version",
        ):
            store.read(cluster, "one", "default")


@pytest.mark.parametrize(
    "head",
    [
        {},
        {"head": "%%%"},
        {"head": "A"},
        {"head": base64.b64encode(b"\xff\xfe").decode()},
        {"head": base64.b64encode(b"s3cret").decode()},
        {"head": encoded([])},
        {"head": encoded({})},
        {"head": encoded({"format": "s3cret", "parts": {}})},
        {"head": encoded({"format": 1, "parts": ["s3cret"]})},
        {"head": encoded({"format": 1, "parts": {}, "instance": "one"})},
    ],
)
def test_a_damaged_record_is_named(cluster, head):
    """It is not an internal error; what the record holds is not shown."""
    stored_as(cluster, head)

    with pytest.raises(
        errors.RecordInvalid,
        match="the record of instance one cannot be read: it is dam",
    ) as caught:
        store.read(cluster, "one", "default")

    assert "s3cret" not in str(caught.value)


def test_a_damaged_piece_is_named(cluster):
    """As a damaged head is."""
    store.write(cluster, ONE, None)
    piece = next(name for name in left(cluster) if name != HEAD.name)
    for text in (b"no zlib", b""):
        data = {"data": {"piece": base64.b64encode(text).decode()}}
        cluster.patch(ObjectRef("", "Secret", "default", piece), data, "m")

        with pytest.raises(errors.RecordInvalid, match="cannot be read"):
            store.read(cluster, "one", "default")


def test_a_former_chunk_is_deleted_with_the_write_that_drops_it(cluster):
    """Beside the head lie the pieces that it names, and no others."""
    entry = store.write(cluster, ONE, None)
    cluster.create(
        record_secrets.create_secret(LEFT, "one", "piece", b"x"), "m"
    )
    assert LEFT.name in left(cluster)  # by a writer who died

    entry = store.write(cluster, dataclasses.replace(ONE, owned={}), entry)

    assert ONE.manifests == entry.inventory.manifests
    assert 2 == len(left(cluster))


def test_a_user_that_may_not_list_secrets_deletes_the_known_ones(cluster):
    """What a killed writer left waits for a user that may list."""
    entry = store.write(cluster, ONE, None)
    cluster.create(
        record_secrets.create_secret(LEFT, "one", "piece", b"x"), "m"
    )
    cluster.fail(errors.Forbidden("list", "secrets", "default", "no"), "list")

    store.write(cluster, dataclasses.replace(ONE, owned={}), entry)

    assert LEFT.name in left(cluster)
    assert 3 == len(left(cluster))


# -- A record of many pieces --------------------------------------------------


A = ObjectRef("", "ConfigMap", "default", "a")
LARGE = dataclasses.replace(
    ONE, shared=(A,), preexisting=frozenset({A}), transferred_out={A: "two"}
)
assert len(texts.encode(LARGE).chunks) > store.ONE_BY_ONE
FORBIDDEN = errors.Forbidden("list", "secrets", "default", "no")


def sent(cluster, verb):
    return [about for done, about in cluster.sent if done == verb]


def test_many_pieces_are_read_by_one_list(cluster):
    """Two requests read them, whatever their number."""
    store.write(cluster, LARGE, None)
    cluster.sent.clear()

    found = store.read(cluster, "one", "default")

    assert LARGE == found.inventory
    assert ["get", "list"] == [verb for verb, _ in cluster.sent]


def test_what_was_listed_is_dropped_without_another_list(cluster):
    """Also what a writer left who died."""
    store.write(cluster, LARGE, None)
    cluster.create(
        record_secrets.create_secret(LEFT, "one", "piece", b"x"), "m"
    )
    entry = store.read(cluster, "one", "default")
    cluster.sent.clear()

    entry = store.write(
        cluster, dataclasses.replace(LARGE, preexisting=frozenset()), entry
    )
    first = left(cluster)
    entry = store.write(
        cluster, dataclasses.replace(LARGE, transferred_out={}), entry
    )

    assert [] == sent(cluster, "list")
    assert LEFT.name not in first
    pieces = texts.encode(entry.inventory).chunks
    assert len(pieces) + 1 == len(left(cluster))
    assert entry.inventory == store.read(cluster, "one", "default").inventory


def test_what_a_dead_writer_left_is_found_with_its_operation(cluster):
    """The next write drops it, even if that itself drops nothing."""
    entry = store.write(cluster, ONE, None)
    assert Phase.INSTANTIATING is entry.inventory.phase
    cluster.create(
        record_secrets.create_secret(LEFT, "one", "piece", b"x"), "m"
    )

    entry = store.read(cluster, "one", "default")
    store.write(cluster, ONE.with_journal("instantiate", "wait", ()), entry)

    assert LEFT.name not in left(cluster)
    assert ONE.owned == store.read(cluster, "one", "default").inventory.owned


@pytest.mark.parametrize("refusal", [FORBIDDEN, None])
def test_an_incomplete_list_is_not_trusted(cluster, refusal):
    """Who may not list, or finds no label on a piece, reads each by name."""
    store.write(cluster, LARGE, None)
    if refusal:
        cluster.fail(refusal, "list")
    else:
        unlabelled = {"metadata": {"labels": {record_names.LABEL: None}}}
        name = next(name for name in left(cluster) if name != HEAD.name)
        cluster.patch(
            ObjectRef("", "Secret", "default", name), unlabelled, "m"
        )

    assert LARGE == store.read(cluster, "one", "default").inventory


def test_a_replaced_index_is_read_with_its_chunks(cluster):
    """A list shows both as they were at one moment."""
    entry = store.write(cluster, LARGE, None)
    after = dataclasses.replace(LARGE, owned={})
    moves = [after]

    class Moving(FakeCluster):
        def list_objects(self, *args, **kwargs):
            if moves:
                store.write(cluster, moves.pop(), entry)
            return super().list_objects(*args, **kwargs)

    moving = Moving()
    moving.world = cluster.world

    assert after == store.read(moving, "one", "default").inventory


# -- Other instances ----------------------------------------------------------


def sharing(instance, *refs, phase=Phase.INSTANTIATED):
    return Inventory(instance, "default", phase, shared=refs)


def test_the_sharers_of_an_object_are_known(cluster):
    """To its owner, before that takes it away."""
    ours, other = (ObjectRef("g", "Kind", "", name) for name in "ab")
    entry = store.write(cluster, sharing("two", ours, other), None)
    store.write(cluster, sharing("three", ours), None)
    store.write(cluster, sharing("one", ours), None)
    store.write(cluster, Inventory("four", "default"), None)

    found = other_instances.sharing_instances(cluster, "one", [ours])

    assert {ours: {"two", "three"}} == found
    store.write(cluster, sharing("two", ours, phase=Phase.TERMINATING), entry)
    assert {ours: {"three"}} == other_instances.sharing_instances(
        cluster, "one", [ours]
    )


def test_an_unreadable_record_still_shows_what_it_shares(cluster):
    """An annotation of its index has it, and no terminate waits for it."""
    ours = ObjectRef("g", "Kind", "", "a")
    store.write(cluster, sharing("two", ours), None)
    for name in left(cluster):
        piece = ObjectRef("", "Secret", "default", name)
        if piece.name != "tacker-k8s-cr.two":
            cluster.delete(piece, objects.uid(cluster.get(piece)))

    assert {ours: {"two"}} == other_instances.sharing_instances(
        cluster, "one", [ours]
    )


def test_a_user_that_may_not_list_everywhere_lists_namespaces(cluster):
    """Another instance in the namespace is seen anyway."""
    ours = ObjectRef("", "ConfigMap", "default", "a")
    store.write(cluster, sharing("two", ours), None)
    no = errors.Forbidden("list", "secrets", "", "no")
    cluster.fail(no, "list")

    assert {ours: {"two"}} == other_instances.sharing_instances(
        cluster, "one", [ours]
    )


def test_an_instance_is_alive_where_its_record_is(cluster):
    """In any namespace, except for one that does not count."""
    assert not other_instances.has_record(cluster, "one")

    store.write(cluster, ONE, None)

    assert other_instances.has_record(cluster, "one")
    assert other_instances.has_record(cluster, "one", except_namespace="other")
    assert not other_instances.has_record(
        cluster, "one", except_namespace="default"
    )


def test_pieces_without_a_head_are_not_a_record(cluster):
    """A write that got no answer was carried out after the record's end."""
    entry = store.write(cluster, ONE, None)
    late = [
        cluster.get(ObjectRef.of(obj))
        for obj in cluster.list_metadata(record_secrets.SECRET)
        if obj["metadata"]["name"] != "tacker-k8s-cr.one"
    ]
    assert not stray_chunks.remove(cluster, "one", "default")
    store.delete_record(cluster, entry)
    for piece in late:
        del piece["metadata"]["uid"], piece["metadata"]["resourceVersion"]
        cluster.create(piece, "late")

    assert not other_instances.has_record(cluster, "one")
    assert stray_chunks.remove(cluster, "one", "default")
    assert [] == list(cluster.list_metadata(record_secrets.SECRET))
    assert not stray_chunks.remove(cluster, "one", "default")


def test_an_instance_with_an_unreadable_record_is_alive(cluster):
    """Nothing is taken from an owner on a guess."""
    cluster.fail(errors.Forbidden("list", "secrets", "", "no"), "list")

    assert other_instances.has_record(
        cluster, "one", except_namespace="default"
    )


def test_the_format_is_the_first_that_is_asked(cluster):
    """A head is read before its pieces are."""
    with pytest.raises(texts.FormatUnknown):
        texts.chunk_names('{"format": 5}')
