"""Objects that one instance takes from another, on a real API server."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.state import leases
from tacker_k8s_cr.state import record_secrets
from tacker_k8s_cr.state import store
from tests.failing_cluster import Killed
from tests.failing_cluster import fail_after
from tests.functional import manifests
from tests.functional.conftest import SECONDS

pytestmark = pytest.mark.plane

PROGRAM = [sys.executable, "-m", "tacker_k8s_cr.cli.shell"]

KILLED_REQUESTS = 2
"""Requests after which a transfer is killed; all of them are in the suite that
needs no server."""


@pytest.fixture
def trial_environment(
    cluster, namespace, make_package, unique_name, make_request
):
    """One has a Deployment and a ConfigMap, and scaled; two wants both."""

    class TrialEnvironment:
        one, two = f"{unique_name}-1", f"{unique_name}-2"
        web = ObjectRef("apps", "Deployment", namespace, "web")
        common = ObjectRef("", "ConfigMap", namespace, "common")
        first = make_package(
            manifests.deployment("web"),
            manifests.config_map("common", key="one", less="one"),
            manifests.config_map("a"),
        )
        second = make_package(
            manifests.deployment("web"),
            manifests.config_map("common", key="two"),
            manifests.config_map("b"),
            name="second",
        )
        taking = k8s_cr.Options(transfer_from={web: one, common: one})

        def begin(self):
            k8s_cr.instantiate(
                make_request(cluster, self.one, timeout=SECONDS), self.first
            )

        def take(self, cluster=cluster):
            return k8s_cr.instantiate(
                make_request(
                    cluster, self.two, timeout=SECONDS, options=self.taking
                ),
                self.second,
            )

        def owners(self):
            uid = objects.uid(cluster.get(self.common))
            entries = [
                store.read(cluster, name, namespace)
                for name in (self.one, self.two)
            ]
            found = [entry.inventory for entry in entries if entry]
            return [
                "one" if i.instance == self.one else "two"
                for i in found
                if i.owned.get(self.common) == uid
            ]

        def managers(self, ref):
            entries = cluster.get(ref)["metadata"]["managedFields"]
            ours = (entry["manager"] for entry in entries)
            return {m for m in ours if m.startswith(objects.MANAGER)}

        def end(self, name):
            with contextlib.suppress(errors.InstanceNotFound):
                k8s_cr.terminate(make_request(cluster, name, timeout=SECONDS))

    return TrialEnvironment()


@pytest.mark.requirement("P20")
def test_objects_change_hands(
    cluster, trial_environment, leftover_objects, namespace, make_request
):
    """Same objects, same numbers; no former manager's fields stay."""
    trial_environment.begin()
    k8s_cr.scale(
        make_request(cluster, trial_environment.one, timeout=SECONDS),
        {trial_environment.web: 3},
    )
    before = cluster.get(trial_environment.web)

    report = trial_environment.take()

    live = cluster.get(trial_environment.web)
    assert objects.uid(before) == objects.uid(live)
    assert 3 == live["spec"]["replicas"]
    assert before["spec"]["template"] == live["spec"]["template"]
    assert {"key": "two"} == cluster.get(trial_environment.common)["data"]
    for ref in (trial_environment.web, trial_environment.common):
        assert {
            objects.MANAGER + trial_environment.two
        } == trial_environment.managers(ref)
        label = objects.labels(cluster.get(ref))[objects.INSTANCE]
        assert trial_environment.two == label
    assert {Action.CREATED, Action.CONFIGURED} == {
        row.action for row in report.objects
    }
    k8s_cr.heal(make_request(cluster, trial_environment.one, timeout=SECONDS))
    assert {"key": "two"} == cluster.get(trial_environment.common)["data"]
    ended = k8s_cr.terminate(
        make_request(cluster, trial_environment.one, timeout=SECONDS)
    )
    assert ["a"] == [row.ref.name for row in ended.objects]
    assert cluster.get(trial_environment.web) is not None
    ended = k8s_cr.terminate(
        make_request(cluster, trial_environment.two, timeout=SECONDS)
    )
    assert {"b", "common", "web"} == {row.ref.name for row in ended.objects}
    assert [] == leftover_objects(trial_environment.one, namespace)
    assert [] == leftover_objects(trial_environment.two, namespace)


def test_a_rollback_returns_the_objects(
    cluster,
    trial_environment,
    make_package,
    leftover_objects,
    namespace,
    make_request,
):
    """And heal restores its owner's manifest."""
    trial_environment.begin()
    other = make_package(manifests.config_map("b"), name="other")
    k8s_cr.instantiate(
        make_request(cluster, trial_environment.two, timeout=SECONDS), other
    )
    uid = objects.uid(cluster.get(trial_environment.common))
    k8s_cr.change(
        make_request(
            cluster,
            trial_environment.two,
            timeout=SECONDS,
            options=trial_environment.taking,
        ),
        trial_environment.second,
    )
    assert ["two"] == trial_environment.owners()

    report = k8s_cr.roll_back(
        make_request(cluster, trial_environment.two, timeout=SECONDS)
    )

    released = {r.ref for r in report.objects if r.action is Action.ORPHANED}
    assert {trial_environment.web, trial_environment.common} == released
    assert ["one"] == trial_environment.owners()
    assert {
        objects.MANAGER + trial_environment.one
    } == trial_environment.managers(trial_environment.common)
    k8s_cr.heal(make_request(cluster, trial_environment.one, timeout=SECONDS))
    live = cluster.get(trial_environment.common)
    assert (uid, {"key": "one", "less": "one"}) == (
        objects.uid(live),
        live["data"],
    )
    trial_environment.end(trial_environment.two)
    assert cluster.get(trial_environment.common) is not None
    trial_environment.end(trial_environment.one)
    assert [] == leftover_objects(trial_environment.one, namespace)


def test_what_is_refused_is_refused_before_anything_is_written(
    cluster, trial_environment, make_package, namespace, make_request
):
    """The wrong instance, what the package has not, a busy one."""
    trial_environment.begin()
    uid = objects.uid(cluster.get(trial_environment.common))
    wrong = k8s_cr.Options(transfer_from={trial_environment.common: "unknown"})
    strange = ObjectRef("", "ConfigMap", namespace, "a")
    more = k8s_cr.Options(
        transfer_from={**trial_environment.taking.transfer_from, strange: "x"}
    )
    for options, error, text in (
        (
            k8s_cr.Options(),
            errors.OwnedByOther,
            f"the instance {trial_environment.one}",
        ),
        (wrong, errors.OwnedByOther, f"the instance {trial_environment.one}"),
        (more, errors.RequestInvalid, "not in the package"),
    ):
        with pytest.raises(error, match=text) as caught:
            k8s_cr.instantiate(
                make_request(
                    cluster,
                    trial_environment.two,
                    timeout=SECONDS,
                    options=options,
                ),
                trial_environment.second,
            )
        assert () == caught.value.written

    assert ["one"] == trial_environment.owners()
    assert uid == objects.uid(cluster.get(trial_environment.common))
    kinds = (record_secrets.SECRET, leases.KIND)
    assert [] == [
        obj["metadata"]["name"]
        for kind in kinds
        for obj in cluster.list_metadata(
            kind, namespace, record_secrets.selector(trial_environment.two)
        )
    ]
    trial_environment.end(trial_environment.one)


def test_killed_at_some_requests(
    cluster, trial_environment, leftover_objects, namespace, make_request
):
    """Finished by the same request, rolled back, or terminated.

    Set TACKER_K8S_CR_SEED to try the requests of a run that failed.
    """
    seed = os.environ.get("TACKER_K8S_CR_SEED") or str(random.getrandbits(32))
    draw = random.Random(seed)  # noqa: S311
    for number in range(KILLED_REQUESTS):
        trial_environment.begin()
        uid = objects.uid(cluster.get(trial_environment.common))
        after = draw.randrange(25, 70)
        with contextlib.suppress(Killed):
            trial_environment.take(fail_after(cluster, after, True))
        told = f"seed {seed}: request {after}"
        assert len(trial_environment.owners()) < 2, told
        if number % 2 == 0:
            with contextlib.suppress(errors.InstanceExists):
                trial_environment.take()
            assert ["two"] == trial_environment.owners(), told
        else:
            with contextlib.suppress(errors.InstanceNotFound):
                k8s_cr.roll_back(
                    make_request(
                        cluster, trial_environment.two, timeout=SECONDS
                    )
                )
            assert 1 == len(trial_environment.owners()), told
        assert uid == objects.uid(cluster.get(trial_environment.common)), told
        for name in draw.sample(
            [trial_environment.one, trial_environment.two], 2
        ):
            trial_environment.end(name)
        assert [] == leftover_objects(trial_environment.one, namespace), told
        assert [] == leftover_objects(trial_environment.two, namespace), told
        with contextlib.suppress(errors.Error):
            for ref in (trial_environment.web, trial_environment.common):
                live = cluster.get(ref)
                if live:  # orphaned
                    assert not trial_environment.managers(ref), told
                    cluster.delete(ref, objects.uid(live))


def test_as_a_command(
    kubeconfig, cluster, trial_environment, namespace, tmp_path
):
    """The instance and the object are named in one word."""
    trial_environment.begin()
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps(manifests.config_map("common", key="two")))

    def run(*words):
        return subprocess.run(
            [*PROGRAM, *words, "--namespace", namespace],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        )

    refused = run("instantiate", trial_environment.two, str(path))
    done = run(
        "instantiate",
        trial_environment.two,
        str(path),
        f"--transfer-from={trial_environment.one}=ConfigMap/common",
    )

    assert 0 != refused.returncode
    assert f"the instance {trial_environment.one}" in refused.stderr
    assert (0, ["two"]) == (done.returncode, trial_environment.owners()), (
        done.stderr
    )
    trial_environment.end(trial_environment.one)
    trial_environment.end(trial_environment.two)
