"""What an instance has to be after an operation: pure."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from tools.soak import packages

AT_REST = "instantiated"

Numbers = Mapping[str, frozenset[int]]
"""By what can be scaled, the numbers of replicas that are possible."""

READING = ("status", "drift", "forecast")
DONE, REFUSED, FAILS = "done", "refused", "fails"


@dataclasses.dataclass(frozen=True)
class Request:
    """One operation that is requested for an instance.

    :param operation: of the library.
    :param version: of the package, where the operation takes one.
    :param target: what is scaled, as ``Kind/name``.
    :param seconds: until its deadline.
    :param expects: ``done``, ``refused`` before the first write, or
        ``fails``: it writes, and ends with an error.
    :param kill: seconds after which its process is killed; None for never.
    """

    operation: str
    version: str = ""
    target: str = ""
    number: int = 0
    seconds: float = 90.0
    expects: str = DONE
    kill: float | None = None

    def __str__(self) -> str:
        words = [self.operation, self.version, self.target]
        if self.operation == "scale":
            words.append(f"to {self.number}")
        if self.expects != DONE:
            words.append(f"(expected: {self.expects})")
        return " ".join(word for word in words if word)


@dataclasses.dataclass(frozen=True)
class Instance:
    """An instance as the soak expects it.

    :param number: among the instances, from 0.
    :param version: of its package; empty if it does not exist.
    :param before: the version that a rollback brings back; empty for none.
    :param numbers: replicas, as far as they differ from the package.
    :param phase: of its record; empty if there is none.
    :param unfinished: the operation that ended early, if one did.
    :param unclean: a kill or a fault may have left a lock, or a piece of a
        record, that the next operation which writes removes.
    """

    name: str
    namespace: str
    form: str
    number: int = 0
    version: str = ""
    before: str = ""
    numbers: Numbers = dataclasses.field(default_factory=dict)
    phase: str = ""
    unfinished: Request | None = None
    unclean: bool = False

    @property
    def targets(self) -> dict[str, int]:
        if not self.version:
            return {}
        return packages.targets(self.form, self.version, self.name)

    def possible(self, version: str = "") -> dict[str, frozenset[int]]:
        """Return the numbers that are right for each target."""
        found = packages.targets(self.form, version or self.version, self.name)
        return {
            target: self.numbers.get(target, frozenset({number}))
            for target, number in found.items()
        }


@dataclasses.dataclass(frozen=True)
class RecordedState:
    """The observed state of an instance.

    :param phase: of the record; empty if there is none.
    :param version: of the package that the record has.
    :param before: of the package that a rollback brings back.
    :param numbers: replicas of what can be scaled and exists.
    """

    phase: str = ""
    version: str = ""
    before: str = ""
    numbers: Mapping[str, int] = dataclasses.field(default_factory=dict)


def apply_request(instance: Instance, request: Request) -> Instance:
    """Return the instance as a request leaves it that has succeeded."""
    rest = dataclasses.replace(instance, phase=AT_REST, unfinished=None)
    operation = request.operation
    if request.expects != DONE or operation in READING:
        return instance
    if operation == "terminate":
        return _absent(instance)
    if operation == "instantiate":
        return dataclasses.replace(rest, version=request.version)
    if operation == "change":
        return _changed(rest, request.version)
    if operation == "scale":
        numbers = {
            **instance.numbers,
            request.target: frozenset({request.number}),
        }
        return dataclasses.replace(rest, numbers=numbers)
    if operation == "roll_back":
        return _rolled_back(instance, rest)
    return rest


def _absent(instance: Instance) -> Instance:
    return Instance(
        instance.name, instance.namespace, instance.form, instance.number
    )


def _changed(rest: Instance, version: str) -> Instance:
    """Numbers stay; an object that is new may get its former number."""
    new = packages.targets(rest.form, version, rest.name)
    kept = packages.targets(rest.form, rest.version, rest.name)
    numbers = {
        **rest.numbers,
        **{
            target: rest.numbers.get(target, frozenset()) | {number}
            for target, number in new.items()
            if target not in kept
        },
    }
    return dataclasses.replace(rest, version=version, numbers=numbers)


def _rolled_back(instance: Instance, rest: Instance) -> Instance:
    if instance.phase == "instantiating":
        return _absent(instance)
    if instance.phase in ("scaling", "healing"):
        # What the scale had not set yet, or what it gives back.
        return rest
    version = instance.before
    return dataclasses.replace(
        rest, version=version, numbers=_either(rest, version), before=""
    )


def _either(instance: Instance, *versions: str) -> dict[str, frozenset[int]]:
    """Return numbers that may be those from before or those from now."""
    numbers = dict(instance.numbers)
    for version in {instance.version, *versions} - {""}:
        own = packages.targets(instance.form, version, instance.name)
        for target, number in own.items():
            numbers[target] = numbers.get(target, frozenset()) | {number}
    return numbers


def settle_state(
    instance: Instance, request: Request, found: RecordedState
) -> Instance:
    """Return the instance as it was found after a request that failed."""
    if not found.phase:
        return _absent(instance)
    numbers = _either(instance, found.version, found.before)
    if request.operation == "scale":
        numbers[request.target] = numbers.get(request.target, frozenset()) | {
            request.number
        }
    known = dataclasses.replace(
        instance, phase=found.phase, before=found.before, numbers=numbers
    )
    if found.phase == AT_REST:
        return apply_observed(
            dataclasses.replace(known, version=found.version, unfinished=None),
            found,
        )
    goes_on = instance.unfinished is not None and (
        request.operation == "roll_back"
    )
    return dataclasses.replace(
        known,
        version=instance.version or found.version,
        unfinished=instance.unfinished if goes_on else request,
    )


def apply_observed(instance: Instance, found: RecordedState) -> Instance:
    """Return an instance at rest with the numbers that it was found with."""
    numbers = {
        target: frozenset({found.numbers[target]})
        if target in found.numbers
        else possible
        for target, possible in {
            **instance.numbers,
            **instance.possible(),
        }.items()
    }
    return dataclasses.replace(instance, numbers=numbers, before=found.before)
