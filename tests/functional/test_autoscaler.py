"""Numbers that the real controller of HorizontalPodAutoscalers keeps.

Nobody measures anything here: it keeps to its bounds then, and no more.
"""

from __future__ import annotations

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tests.functional import manifests
from tests.functional import test_scale_workloads
from tests.functional.dying import Killed
from tests.functional.dying import die
from tests.functional.test_scale_workloads import autoscaler
from tests.functional.test_scale_workloads import ref

pytestmark = pytest.mark.plane

life = test_scale_workloads.life


def test_an_autoscaler_keeps_what_a_scale_has_asked_for(
    cluster, kubectl, namespace, packed, life, unique
):
    """Both want the same number, so that nobody fights (P8).

    The autoscaler brings the workload to it, out and in, whatever somebody
    else makes of it. After a rollback it keeps to the bounds from before
    (P22). Where they are not to be moved nothing is written at all.
    """
    package = packed(
        manifests.deployment("web", 2), autoscaler("auto", "web", 2, 4)
    )
    k8s_cr.instantiate(cluster, unique, package, **life)
    web = ref("Deployment", namespace, "web")
    auto = ref("HorizontalPodAutoscaler", namespace, "auto", "autoscaling")
    move = {"options": k8s_cr.Options(autoscaled="move"), **life}

    def seen():
        """Bounds and number."""
        spec = cluster.get(auto)["spec"]
        number = cluster.get(web)["spec"]["replicas"]
        return spec["minReplicas"], spec["maxReplicas"], number

    def by_hand(wanted, back):
        """Somebody else's number, and what the autoscaler makes of it."""
        body = {"spec": {"replicas": wanted}}
        cluster.patch(web, body, "somebody", subresource="scale")
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
    with pytest.raises(errors.NotScalable, match="between 2 and 4"):
        k8s_cr.scale(cluster, unique, {web: 6}, **life)
    assert before == written()

    # -- Out -----------------------------------------------------------------
    k8s_cr.scale(cluster, unique, {web: 6}, **move)
    by_hand(4, 6)
    assert (6, 6, 6) == seen()

    # -- In ------------------------------------------------------------------
    k8s_cr.scale(cluster, unique, {web: 3}, **move)
    by_hand(1, 3)
    assert (3, 6, 3) == seen()

    # -- And back ------------------------------------------------------------
    with pytest.raises(Killed):
        k8s_cr.scale(cluster, unique, {web: 9}, listen=die, **move)
    assert (9, 9, 9) == seen()
    k8s_cr.roll_back(cluster, unique, **life)
    assert (3, 6, 3) == seen()
    by_hand(9, 6)
    k8s_cr.terminate(cluster, unique, **life)
