"""Kill an operation at one of its requests, and look at what the next leaves.

A trial has a namespace for itself as long as it lasts, and API groups that
nobody else has.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import concurrent.futures
import dataclasses
import itertools
import queue
import time
from typing import Any

from tacker_k8s_cr import errors
from tacker_k8s_cr import record
from tacker_k8s_cr import stored
from tacker_k8s_cr.cluster.protocol import Cluster
from tacker_k8s_cr.inventory import Phase
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.objects import Manifest
from tacker_k8s_cr.objects import ObjectRef
from tests.faults import dying
from tests.faults import figures
from tests.faults.gate import Gate
from tests.faults.gate import Life
from tests.functional import manifests

FINISH = "finish"
ROLL_BACK = "roll back"

DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
USUAL = ObjectRef("", "ConfigMap", "", "kube-root-ca.crt")
AT_ONCE = 32
"""Trials at a time: most wait for the lock of the one that died."""


@dataclasses.dataclass(frozen=True)
class Ground:
    """Where trials take place.

    :param prefix: of the names of instances; nobody else has it.
    """

    cluster: Cluster
    kubeconfig: str
    gate: Gate
    prefix: str
    numbers: itertools.count[int] = dataclasses.field(
        default_factory=itertools.count
    )

    def name(self) -> str:
        return f"{self.prefix}-{next(self.numbers)}"


@dataclasses.dataclass(frozen=True)
class Death:
    """When an operation dies, and what is done next.

    :param at: of the requests that count, the one at which it dies.
    :param after: when its answer is there, rather than before it is sent.
    """

    operation: str
    at: int
    after: bool
    way: str = FINISH
    counts: str = ""

    def __str__(self) -> str:
        moment = "after" if self.after else "before"
        return f"{self.operation}, {moment} request {self.at}, {self.way}"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the next operation left.

    :param struck: the request at which it died; empty if it survived.
    """

    death: Death
    struck: str
    lost: tuple[str, ...]
    orphaned: tuple[str, ...]
    said: str = ""

    @property
    def good(self) -> bool:
        return not self.lost and not self.orphaned and not self.said

    def __str__(self) -> str:
        return (
            f"{self.death} ({self.struck}): lost {list(self.lost)}, "
            f"orphaned {list(self.orphaned)}; {self.said}"
        )


# -- The package --------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Story:
    """Two versions of a package, and the kinds of objects to look at."""

    old: dying.Manifests
    new: dying.Manifests
    kinds: tuple[GroupKind, ...]


def story(name: str) -> Story:
    """A definition with its resources, configuration, and a workload."""
    group = f"{name}.example.org"
    definition = manifests.definition(group, "Thing", status=False)
    changed = manifests.deployment("web")
    container = changed["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "example.org/a:2"
    return Story(
        (
            manifests.custom(group, "Thing", "one", size="s"),
            definition,
            manifests.config_map("same"),
            manifests.config_map("old"),
            manifests.deployment("web"),
        ),
        (
            manifests.custom(group, "Thing", "one", size="xl"),
            manifests.custom(group, "Thing", "two", size="s"),
            definition,
            manifests.config_map("same"),
            changed,
        ),
        (
            GroupKind(group, "Thing"),
            GroupKind("", "ConfigMap"),
            GroupKind("", "Secret"),
            GroupKind("apps", "Deployment"),
            GroupKind("coordination.k8s.io", "Lease"),
        ),
    )


# -- One trial ----------------------------------------------------------------


def tried(ground: Ground, death: Death, namespace: str) -> Verdict:
    """Carry out one trial; what it made is gone at its end."""
    name = ground.name()
    told = story(name)
    old, new = dying.package(told.old), dying.package(told.new)

    def task(operation: str, server: str = "") -> dying.Task:
        package = {"instantiate": old, "change": new}.get(operation)
        return dying.Task(operation, name, namespace, package, server=server)

    def run(operation: str) -> dying.Outcome:
        return dying.Run(task(operation), ground.kubeconfig).outcome()

    before: Mapping[ObjectRef, Manifest] = {}
    said = []
    if death.operation != "instantiate":
        said.append(run("instantiate"))
        before = there(ground.cluster, namespace, told)
    life = Life(death.at, death.after, death.counts)
    dies = dying.Run(
        task(death.operation, ground.gate.way(name, life)), ground.kubeconfig
    )
    life.pid.set_result(dies.pid)
    ended = dies.outcome()
    if ended.killed != life.killed or (not ended.killed and ended.error):
        said.append(ended)
    done = _at_rest(ground.cluster, name, namespace)
    if death.way == ROLL_BACK:
        after = run("roll_back")
        wanted = told.old
        if death.operation == "instantiate" and not done:
            wanted = ()
    else:
        after = run(death.operation)
        wanted = {"instantiate": told.old, "change": told.new}.get(
            death.operation, ()
        )
    said.append(_unless_meant(after, death, done))
    lost, orphaned = differences(ground.cluster, name, namespace, told, wanted)
    lost += _replaced(ground.cluster, before, wanted)
    if wanted:
        said.append(run("terminate"))
        _, more = differences(ground.cluster, name, namespace, told, ())
        orphaned += more
    return Verdict(
        death,
        life.struck,
        tuple(lost),
        tuple(orphaned),
        "; ".join(f"{s.error}: {s.sentence}" for s in said if s.error),
    )


def _at_rest(cluster: Cluster, name: str, namespace: str) -> bool:
    entry = record.read(cluster, name, namespace)
    return entry is not None and entry.inventory.phase is Phase.INSTANTIATED


def _unless_meant(
    outcome: dying.Outcome, death: Death, done: bool
) -> dying.Outcome:
    """Nothing, if an error says that there was nothing left to do."""
    nothing = death.operation == "terminate" or death.way == ROLL_BACK
    if outcome.error == "InstanceUnknown" and nothing:
        return dying.Outcome()
    if outcome.error == "InstanceExists" and done:
        return dying.Outcome()
    return outcome


# -- What is there ------------------------------------------------------------


def there(
    cluster: Cluster, namespace: str, told: Story
) -> dict[ObjectRef, Manifest]:
    """All objects of the story's kinds, and its definitions."""
    found = {}
    definitions = [
        ObjectRef.of(m) for m in told.old if m["kind"] == DEFINITION.kind
    ]
    for ref in definitions:
        obj = cluster.get(ref)
        if obj is not None:
            found[ref] = obj
    for kind in told.kinds:
        try:
            listed = list(cluster.list_objects(kind, namespace))
        except errors.KindUnknown:
            continue
        found.update((ObjectRef.of(obj), obj) for obj in listed)
    usual = dataclasses.replace(USUAL, namespace=namespace)
    return {ref: obj for ref, obj in found.items() if ref != usual}


def differences(
    cluster: Cluster,
    name: str,
    namespace: str,
    told: Story,
    wanted: Iterable[Manifest],
) -> tuple[list[str], list[str]]:
    """What is lacking, or not as it should be; and what is too much.

    The record belongs to what should be there: it has to own all of it by
    UID, and no piece may be there that its head does not name.
    """
    found = there(cluster, namespace, told)
    should = {_placed(cluster, m, namespace): m for m in wanted}
    lost = [f"{ref} is not there" for ref in should.keys() - found.keys()] + [
        f"{ref} is not as it should be"
        for ref, manifest in should.items()
        if ref in found and not _holds(manifest, found[ref])
    ]
    ours = set(should)
    entry = record.read(cluster, name, namespace)
    if should:
        if entry is None:
            return [*lost, "the record"], []
        inventory = entry.inventory
        if inventory.phase is not Phase.INSTANTIATED:
            lost.append(f"the record is {inventory.phase.value}")
        uids = {r: o["metadata"]["uid"] for r, o in found.items()}
        owned = dict(inventory.owned)
        if owned != {ref: uids.get(ref) for ref in should}:
            lost.append(f"the record owns {sorted(map(str, owned))}")
        ours |= _of_record(entry, namespace, found)
    return lost, [str(ref) for ref in found.keys() - ours]


def _of_record(
    entry: record.Entry, namespace: str, found: Mapping[ObjectRef, Manifest]
) -> set[ObjectRef]:
    """The head, the pieces that it names, and the Lease that nobody has."""
    name = entry.head["metadata"]["name"]
    text = base64.b64decode(entry.head["data"]["head"]).decode()
    named = {name, *(f"{name}.{piece}" for piece in stored.pieces_of(text))}
    lease = ObjectRef("coordination.k8s.io", "Lease", namespace, name)
    refs = {ObjectRef("", "Secret", namespace, each) for each in named}
    held = found.get(lease, {}).get("spec", {}).get("holderIdentity")
    return refs if held else {*refs, lease}


def _replaced(
    cluster: Cluster,
    before: Mapping[ObjectRef, Manifest],
    wanted: Iterable[Manifest],
) -> list[str]:
    """What is another object than it was before, and had no reason to."""
    names = {(m["kind"], m["metadata"]["name"]) for m in wanted}
    pairs = (
        (ref, obj["metadata"]["uid"], cluster.get_metadata(ref))
        for ref, obj in before.items()
        if (ref.kind, ref.name) in names
    )
    return [
        f"{ref} is another one"
        for ref, uid, now in pairs
        # Only the change itself removed it, and its rollback brought it back.
        if now and now["metadata"]["uid"] != uid and ref.name != "old"
    ]


def _placed(cluster: Cluster, manifest: Manifest, namespace: str) -> ObjectRef:
    ref = ObjectRef.of(manifest)
    if ref.group_kind == DEFINITION:
        return ref
    return dataclasses.replace(ref, namespace=namespace)


def _holds(wanted: Any, found: Any) -> bool:
    """Whether all that is wanted is in what was found."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            _holds(value, found.get(key)) if value != {} else True
            for key, value in wanted.items()
        )
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return (
            isinstance(found, Sequence)
            and len(wanted) == len(found)
            and all(map(_holds, wanted, found))
        )
    return bool(wanted == found)


# -- Many trials --------------------------------------------------------------


def requests(
    ground: Ground, operation: str, namespace: str, counts: str = ""
) -> int:
    """How many requests that count an operation sends that lives."""
    name = ground.name()
    told = story(name)
    packages = {
        "instantiate": dying.package(told.old),
        "change": dying.package(told.new),
    }
    life = Life(counts=counts)
    for each in ("instantiate", "change", "terminate"):
        if each == "change" and operation != "change":
            continue
        server = ground.gate.way(name, life) if each == operation else ""
        run = dying.Run(
            dying.Task(
                each, name, namespace, packages.get(each), server=server
            ),
            ground.kubeconfig,
        )
        if server:
            life.pid.set_result(run.pid)
        ended = run.outcome()
        assert not ended.error, ended
    return life.counted


def all_of(
    deaths: Iterable[Death],
    namespaces: Sequence[str],
    trial: Callable[[Death, str], Verdict],
) -> list[Verdict]:
    """Carry out trials, as many at a time as there are namespaces."""
    free: queue.SimpleQueue[str] = queue.SimpleQueue()
    for namespace in namespaces:
        free.put(namespace)

    def one(death: Death) -> Verdict:
        namespace = free.get()
        try:
            return trial(death, namespace)
        finally:
            free.put(namespace)

    with concurrent.futures.ThreadPoolExecutor(len(namespaces)) as pool:
        return list(pool.map(one, deaths))


def every_death(operation: str, count: int) -> list[Death]:
    """Before and after each of so many requests.

    To die after one leaves what it leaves to die before the next, so that
    both ways to go on are tried on each of these states.
    """
    back = FINISH if operation == "terminate" else ROLL_BACK
    return [
        Death(operation, at, after, back if after else FINISH)
        for at in range(1, count + 1)
        for after in (False, True)
    ]


def row(
    case: str, verdicts: Sequence[Verdict], count: int, begun: float
) -> figures.Row:
    back = sum(v.death.way == ROLL_BACK for v in verdicts)
    return figures.Row(
        case,
        len(verdicts),
        len(verdicts) - back,
        back,
        sum(len(verdict.lost) for verdict in verdicts),
        sum(len(verdict.orphaned) for verdict in verdicts),
        count,
        time.monotonic() - begun,
    )
