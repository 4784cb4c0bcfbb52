"""Replicas managed by the real HorizontalPodAutoscaler controller.

There are no metrics here: it then keeps to its limits only.
"""

from __future__ import annotations

import dataclasses

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tests.functional import manifests
from tests.functional.kill_after_write import Killed
from tests.functional.kill_after_write import kill_when_waiting
from tests.functional.test_scale_workloads import autoscaler
from tests.functional.test_scale_workloads import ref

pytestmark = pytest.mark.plane


def test_an_autoscaler_keeps_what_a_scale_has_asked_for(
    cluster, kubectl, namespace, make_package, make_request
):
    """Both set the same number, so that there is no conflict.

    The autoscaler scales the workload to it, out and in, whatever another
    client sets. After a rollback it keeps to the former limits. If they must
    not be moved nothing is written at all.
    """
    package = make_package(
        manifests.deployment("web", 2), autoscaler("auto", "web", 2, 4)
    )
    k8s_cr.instantiate(make_request(), package)
    web = ref("Deployment", namespace, "web")
    auto = ref("HorizontalPodAutoscaler", namespace, "auto", "autoscaling")
    adjusting = make_request(
        options=k8s_cr.Options(autoscaler_limits="adjust")
    )

    def seen():
        """Bounds and number."""
        spec = cluster.get(auto)["spec"]
        number = cluster.get(web)["spec"]["replicas"]
        return spec["minReplicas"], spec["maxReplicas"], number

    def by_hand(wanted, back):
        """A foreign replica count, and how the autoscaler corrects it."""
        body = {"spec": {"replicas": wanted}}
        cluster.patch(web, body, "other-manager", subresource="scale")
        found = f"--for=jsonpath={{.spec.replicas}}={back}"
        where = ("--namespace", namespace, "--timeout=90s")
        kubectl("wait", "deployment/web", found, *where)

    def written():
        """What is asked for, and what we have written of it, and when."""
        return [
            (
                one["spec"],
                [
                    entry
                    for entry in one["metadata"]["managedFields"]
                    if entry["manager"].startswith(objects.MANAGER)
                ],
            )
            for one in map(cluster.get, (web, auto))
        ]

    # -- Refused -------------------------------------------------------------
    before = written()
    with pytest.raises(errors.AutoscalerConflict, match="between 2 and 4"):
        k8s_cr.scale(make_request(), {web: 6})
    assert before == written()

    # -- Out -----------------------------------------------------------------
    k8s_cr.scale(adjusting, {web: 6})
    by_hand(4, 6)
    assert (6, 6, 6) == seen()

    # -- In ------------------------------------------------------------------
    k8s_cr.scale(adjusting, {web: 3})
    by_hand(1, 3)
    assert (3, 6, 3) == seen()

    # -- And back ------------------------------------------------------------
    with pytest.raises(Killed):
        k8s_cr.scale(
            dataclasses.replace(adjusting, on_progress=kill_when_waiting),
            {web: 9},
        )
    assert (9, 9, 9) == seen()
    k8s_cr.roll_back(make_request())
    assert (3, 6, 3) == seen()
    by_hand(9, 6)
    k8s_cr.terminate(make_request())
