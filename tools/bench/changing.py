"""A package in which one object of many has changed."""

from __future__ import annotations

import contextlib
import dataclasses

from tools.bench import budgets
from tools.bench import metrics
from tools.bench import rounds
from tools.bench import workload
from tools.bench.ours import Ours
from tools.bench.peers import KubectlApply
from tools.bench.rounds import Measured
from tools.bench.setting import Found
from tools.bench.setting import Setting


def found(setting: Setting) -> Found:
    manifests = workload.config_maps(setting.objects)
    package = workload.package(manifests)
    objects = setting.folder / "changed.yaml"
    workload.write(objects, manifests)
    kubectl = KubectlApply(setting.ground.kubectl, objects)
    first = Ours(setting.kubeconfig, package, dry_run=False)
    with contextlib.ExitStack() as stack:
        places = {
            name: stack.enter_context(setting.ground.namespace())
            for name in (budgets.PLAIN, budgets.CHECKED, budgets.KUBECTL)
        }
        for name, namespace in places.items():
            one = kubectl if name == budgets.KUBECTL else first
            one.apply(namespace)
        measured = []
        for number in range(setting.rounds):
            changed = workload.changed(manifests, number % setting.objects)
            workload.write(objects, changed)
            package = workload.package(changed)
            plain = Ours(setting.kubeconfig, package, dry_run=False)
            checked = dataclasses.replace(plain, dry_run=True)
            doing = {
                budgets.PLAIN: plain.change,
                budgets.CHECKED: checked.change,
                budgets.KUBECTL: kubectl.apply,
            }
            one_round = {}
            for name in rounds.order(tuple(doing), number):
                before = setting.ground.count()
                seconds = doing[name](places[name])
                requests = metrics.between(
                    before, setting.ground.count(), setting.noise
                )
                one_round[name] = Measured(seconds, requests)
            told = ", ".join(
                f"{name} {one.seconds:.2f}" for name, one in one_round.items()
            )
            setting.say(f"change {number + 1}, seconds: {told}")
            measured.append(one_round)
        # Their ConfigMaps go with their namespaces: the instance's record
        # stays whole until then.
    return Found(
        tuple(budgets.of_changes(measured, setting.objects)),
        [
            {name: dataclasses.asdict(one) for name, one in each.items()}
            for each in measured
        ],
    )
