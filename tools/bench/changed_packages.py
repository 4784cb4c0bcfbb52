"""Packages of which one object of many has changed, or none."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses

from tools.bench import budgets
from tools.bench import rounds
from tools.bench import workload
from tools.bench.bench_context import Found
from tools.bench.bench_context import Setting
from tools.bench.budgets import Changed
from tools.bench.competitors import KubectlApply
from tools.bench.own_operations import OwnOperations
from tools.bench.rounds import Do
from tools.bench.rows import Row


def found(setting: Setting) -> Found:
    widgets = "stages" not in setting.unavailable
    rows: list[Row] = []
    raw = {}
    for what, manifests in (
        ("ConfigMaps", workload.config_maps(setting.objects)),
        ("mixed", workload.mixed(setting.objects, widgets)),
    ):
        measured = _measured(setting, what, manifests)
        rows += budgets.of_changes(measured, what, setting.objects)
        raw[what] = [
            {
                f"{done} {name}": dataclasses.asdict(one)
                for done, each in one_round.items()
                for name, one in each.items()
            }
            for one_round in measured
        ]
    return Found(tuple(rows), raw)


def _measured(
    setting: Setting, what: str, manifests: Sequence[workload.Manifest]
) -> list[budgets.Changes]:
    """In each round one object changes, and then none."""
    objects = setting.folder / f"{what}.yaml"
    kubectl = KubectlApply(setting.ground.kubectl, objects)
    measured: list[budgets.Changes] = []
    with contextlib.ExitStack() as stack:
        places = {
            name: stack.enter_context(setting.ground.namespace())
            for name in (budgets.PLAIN, budgets.CHECKED, budgets.KUBECTL)
        }
        first = OwnOperations(
            setting.kubeconfig, workload.package(manifests), dry_run=False
        )
        workload.write(objects, manifests)
        for name, namespace in places.items():
            one = kubectl if name == budgets.KUBECTL else first
            one.apply(namespace)
        # Controllers may still be at work on what kubectl did not wait for.
        setting.ground.quiet()
        known = first.discovery()
        for number in range(setting.rounds):
            # What is waited for has rows of its own.
            text = f"changed in round {number}"
            manifests = workload.changed(manifests, number % 2, text)
            workload.write(objects, manifests)
            package = workload.package(manifests)
            plain = OwnOperations(setting.kubeconfig, package, dry_run=False)
            checked = dataclasses.replace(plain, dry_run=True, requests=[])
            doing = {
                budgets.PLAIN: (plain.change, plain.requests),
                budgets.CHECKED: (checked.change, checked.requests),
                budgets.KUBECTL: (kubectl.apply, [known]),
            }
            one_round = {
                done: _in_turn(setting, doing, places, number, known)
                for done in (budgets.CHANGE, budgets.AGAIN)
            }
            for done, each in one_round.items():
                told = ", ".join(
                    f"{name} {one.seconds:.2f}" for name, one in each.items()
                )
                setting.say(f"{what}, {done} {number + 1}, seconds: {told}")
            measured.append(one_round)
        # Objects go with their namespaces: the instance's record stays whole
        # until then.
    return measured


def _in_turn(
    setting: Setting,
    doing: Mapping[str, tuple[Do, Sequence[int]]],
    places: Mapping[str, str],
    number: int,
    known: int,
) -> dict[str, Changed]:
    """Let each of them do it once.

    :param known: requests that only find out how the kinds are served.
    """
    found = {}
    for name in rounds.order(tuple(doing), number):
        do, requests = doing[name]
        before = setting.ground.count()
        seconds = do(places[name])
        applies = setting.ground.count().applies - before.applies
        found[name] = Changed(seconds, requests[-1] - known, applies)
    return found
