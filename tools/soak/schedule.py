"""Which operation comes next, and which fault, drawn from a seed: pure.

What is drawn for a step of an instance depends on the seed, the numbers of
the instance and of its step, and the state of the instance; on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import random

from tools.soak import packages
from tools.soak.model import AT_REST
from tools.soak.model import FAILS
from tools.soak.model import REFUSED
from tools.soak.model import Instance
from tools.soak.model import Request

SECONDS = 90.0
"""For an operation that is expected to succeed."""
STUCK_SECONDS = 8.0
"""For one that waits for what never becomes current."""
KILLED = 0.15
"""Share of the operations whose process is to be killed; a part of them
ends before that."""

MOST = 4
"""Replicas of an object."""

_KILLABLE = (
    "instantiate",
    "change",
    "scale",
    "heal",
    "terminate",
    "roll_back",
)


def draw(seed: int, instance: Instance, step: int) -> Request:
    """Return the request of a step of an instance."""
    random_ = random.Random(f"{seed}/{instance.number}/{step}")  # noqa: S311
    choices = _choices(instance)
    names = sorted(choices)
    name = random_.choices(names, [choices[n] for n in names])[0]
    request = _request(random_, instance, name)
    if request.expects == REFUSED or request.operation not in _KILLABLE:
        return request
    if random_.random() >= KILLED:
        return request
    # Most requests of an operation are sent in its first half second.
    most = random_.choice((0.15, 0.5, 3.0))
    return dataclasses.replace(request, kill=random_.uniform(0.02, most))


def _choices(instance: Instance) -> Mapping[str, int]:
    """Return what is possible, with weights."""
    if not instance.phase:
        return {"instantiate": 85, "instantiate stuck": 5, "unknown": 10}
    if instance.phase == AT_REST:
        return _at_rest(instance)
    unfinished = instance.unfinished
    if instance.phase == "terminating" or unfinished is None:
        return {"terminate": 1}
    found = {"terminate": 10, "roll_back": 45}
    if instance.phase == "instantiating":
        if unfinished.version in packages.GOOD:
            found["repeat"] = 45
    elif instance.phase == "changing":
        found["change"] = 45
    else:
        found["repeat"] = 45
    if instance.phase == "changing" and not instance.before:
        del found["roll_back"]
    return found


def _at_rest(instance: Instance) -> Mapping[str, int]:
    found = {
        "change": 22,
        "change stuck": 5,
        "change invalid": 4,
        "change foreign": 4,
        "heal": 10,
        "drift": 7,
        "status": 6,
        "forecast": 6,
        "terminate": 10,
        "exists": 4,
    }
    if instance.targets:
        found["scale"] = 18
        found["scale absent"] = 3
    if instance.before in packages.GOOD:
        found["roll_back"] = 9
    return found


def _request(draw_: random.Random, instance: Instance, name: str) -> Request:
    version = draw_.choice(packages.GOOD)
    operation, _, word = name.partition(" ")
    if name == "unknown":
        operation = draw_.choice(("status", "drift", "heal", "terminate"))
        return Request(operation, seconds=SECONDS, expects=REFUSED)
    if name == "exists":
        return Request("instantiate", version, expects=REFUSED)
    if name == "repeat" and instance.unfinished is not None:
        return dataclasses.replace(instance.unfinished, kill=None)
    if word == packages.STUCK:
        seconds = STUCK_SECONDS
        return Request(operation, word, seconds=seconds, expects=FAILS)
    if name == "scale absent":
        target = f"Deployment/{instance.name}-absent"
        return Request("scale", target=target, number=1, expects=REFUSED)
    if operation == "scale":
        target = draw_.choice(sorted(instance.targets))
        number = draw_.randrange(MOST + 1)
        return Request("scale", target=target, number=number)
    if word:
        return Request(operation, word, expects=REFUSED)
    if operation in ("instantiate", "change", "forecast"):
        return Request(operation, version, seconds=SECONDS)
    return Request(operation, seconds=SECONDS)


# -- Faults -------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault between the workers and the API server.

    :param begins: seconds after the start of the soak.
    """

    kind: str
    begins: float
    seconds: float


TRANSPORT = ("cut", "stall", "slow")
"""Faults of connections."""
ANSWERS = ("unavailable", "throttled", "lost", "truncated", "silent")
"""Faults of answers; they need a proxy that reads them."""

_LASTS = {"cut": (0.0, 0.0), "stall": (1.0, 8.0)}
_OTHERS = (3.0, 9.0)
_PAUSES = (5.0, 15.0)


def faults(seed: int, kinds: tuple[str, ...]) -> Iterator[Fault]:
    """Yield faults, one after another, without an end."""
    draw_ = random.Random(f"{seed}/faults")  # noqa: S311
    moment = 0.0
    while True:
        moment += draw_.uniform(*_PAUSES)
        kind = draw_.choice(kinds)
        seconds = draw_.uniform(*_LASTS.get(kind, _OTHERS))
        yield Fault(kind, moment, seconds)
        moment += seconds
