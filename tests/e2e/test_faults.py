"""What happens to operations when a service around them ends or fails."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from concurrent import futures
import contextlib
import dataclasses
import subprocess
import sys
import urllib.parse
import uuid

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.state import lock
from tests.e2e import held_vnf
from tests.e2e.held_vnf import HeldVnf
from tools.plane import port_forward
from tools.tacker import Host
from tools.tacker import configuration
from tools.tacker import rest_api
from tools.tacker import services
from tools.tacker import state
from tools.tacker.host import CONDUCTOR
from tools.tacker.rest_api import Api

pytestmark = pytest.mark.plane

AWAY = 60.0
"""Seconds that the API server is away."""


@pytest.fixture
def gated(kubectl, v1, tmp_path) -> Iterator[Callable[[Api], HeldVnf]]:
    """Makes instances, each in a namespace of its own."""
    csar = held_vnf.build_csar(tmp_path)
    v1.upload(csar.path)
    namespaces = []

    def made(api: Api) -> HeldVnf:
        name = f"test-{uuid.uuid4().hex[:10]}"
        kubectl("create", "namespace", name)
        namespaces.append(name)
        return HeldVnf(api, api.create(csar.vnfd), name, kubectl, csar)

    yield made
    for name in namespaces:
        kubectl("delete", "namespace", name, "--wait=false")


# -- The conductor ------------------------------------------------------------


@pytest.mark.requirement("P21", "M7")
def test_what_a_killed_conductor_left_undone_is_done_by_a_retry(
    host, v1, v2, vim, gated, cluster, tmp_path, leftover_objects
):
    """Each operation of v2 is FAILED_TEMP, then COMPLETED.

    Nothing is there twice: the Deployment is the one that it was, with as
    many pods as wanted.
    """
    changed = held_vnf.build_csar(tmp_path, "web:2")
    v1.upload(changed.path)

    def image(gated):
        [container] = gated.deployment["spec"]["template"]["spec"][
            "containers"
        ]
        return container["image"].rpartition("/")[2]

    def going(gated):
        settings = gated.read_object("configmap", "settings")
        return "deletionTimestamp" in settings["metadata"]

    cases = {
        "scale": (
            rest_api.scaling(held_vnf.VDU, 1),
            lambda g: 2 == g.deployment["spec"]["replicas"],
            lambda g: 2 == len(g.pods()),
        ),
        "heal": (
            rest_api.healing(),
            lambda g: g.lock_holder(cluster),
            lambda g: 1 == len(g.pods() - pods[g.id]) == len(g.pods()),
        ),
        "change_vnfpkg": (
            rest_api.changing(changed.vnfd, changed.files, [held_vnf.VDU]),
            lambda g: "web:2" == image(g),
            lambda g: "web:2" == image(g) and 1 == len(g.pods()),
        ),
        "terminate": (
            rest_api.FORCEFUL,
            going,
            lambda g: not leftover_objects(g.id),
        ),
    }
    instances = {action: gated(v2) for action in cases}
    made = [one.instantiate(vim) for one in instances.values()]
    for one in instances.values():
        held_vnf.wait_for("the Deployment", lambda g=one: g.deployment)
        one.open()
    for occurrence in made:
        held_vnf.wait_completed(v2, occurrence)
    pods = {one.id: one.pods() for one in instances.values()}
    uids = {
        one.id: one.deployment["metadata"]["uid"] for one in instances.values()
    }
    begun = {}
    for action, one in instances.items():
        one.set_state("held")
        if action == "terminate":
            one.hold()
        begun[action] = v2.start(one.id, action, cases[action][0])
    instances["instantiate"] = gated(v2)
    begun["instantiate"] = instances["instantiate"].instantiate(vim)
    held_vnf.wait_for(
        "the Deployment", lambda: instances["instantiate"].deployment
    )
    uids[instances["instantiate"].id] = instances["instantiate"].deployment[
        "metadata"
    ]["uid"]
    for action, (_, under_way, _) in cases.items():
        held_vnf.wait_for(
            action, lambda a=action, u=under_way: u(instances[a])
        )

    host.kill(CONDUCTOR)
    host.start(CONDUCTOR)

    assert dict.fromkeys(begun, "FAILED_TEMP") == {
        action: v2.wait(occurrence)["operationState"]
        for action, occurrence in begun.items()
    }
    for action, one in instances.items():
        if action == "terminate":
            one.release()
        else:
            one.open()
    with futures.ThreadPoolExecutor() as threads:
        ended = list(threads.map(v2.retry, begun.values()))
    assert dict.fromkeys(begun, "COMPLETED") == {
        action: outcome["operationState"]
        for action, outcome in zip(begun, ended, strict=True)
    }

    for action, (_, _, as_wanted) in cases.items():
        held_vnf.wait_for(
            action, lambda a=action, w=as_wanted: w(instances[a])
        )
    for action, one in instances.items():
        if action == "terminate":
            v2.delete(one.id)
            continue
        assert uids[one.id] == one.deployment["metadata"]["uid"]
        assert len(one.pods()) == len(v2.vnfcs(one.id))
        one.terminate_and_wait()
        assert [] == leftover_objects(one.id)


@pytest.mark.requirement("M7")
def test_after_a_killed_conductor_v1_continues_from_a_cancelled_operation(
    host, v1, vim, gated, leftover_objects
):
    """Tacker leaves the operation PROCESSING; cancelled, it can be retried.

    Tacker allows that some time after the operation began.
    """
    one = gated(v1)
    occurrence = one.instantiate(vim)
    held_vnf.wait_for("the Deployment", lambda: one.deployment)

    host.kill(CONDUCTOR)
    host.start(CONDUCTOR)

    assert "PROCESSING" == v1.operation(occurrence)["operationState"]
    assert 409 == v1.repeat(occurrence, "retry").status_code
    path = f"{v1.base}/vnf_lcm_op_occs/{occurrence}/cancel"
    held_vnf.wait_for(
        "the cancellation",
        lambda: (
            202
            == v1.request("POST", path, {"cancelMode": "FORCEFUL"}).status_code
        ),
    )
    one.open()
    ended = v1.retry(occurrence)

    assert "COMPLETED" == ended["operationState"], ended.get("error")
    assert 1 == len(one.pods())
    assert 1 == len(v1.vnfcs(one.id))
    one.terminate_and_wait()
    assert [] == leftover_objects(one.id)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_retry_is_refused_while_another_operation_runs(
    request, version, vim, gated, cluster
):
    """The Lease keeps it out, and the error names its holder."""
    api = request.getfixturevalue(version)
    one = gated(api)
    occurrence = one.instantiate(vim, tacker_k8s_cr={"timeout": 1})
    assert "FAILED_TEMP" == api.wait(occurrence)["operationState"]
    deadline = k8s_cr.Deadline.after(held_vnf.SECONDS)

    with lock.locked(cluster, one.id, one.namespace, deadline):
        holder = one.lock_holder(cluster)
        ended = api.retry(occurrence)

    assert "FAILED_TEMP" == ended["operationState"]
    assert f"its lock is held by {holder}" in ended["error"]["detail"]
    one.open()
    ended = api.retry(occurrence)
    assert "COMPLETED" == ended["operationState"], ended.get("error")
    one.terminate_and_wait()


# -- What Tacker rests on -----------------------------------------------------


def test_the_message_queue_and_the_database_may_restart_during_a_wait(
    host, v1, v2, vim, gated, leftover_objects
):
    """The operations that wait are completed, and others after them.

    Those are sent once the conductor listens again: what is sent before is
    lost, as the next test shows.
    """
    instances = [gated(api) for api in (v1, v2)]
    begun = [one.instantiate(vim) for one in instances]
    for one in instances:
        held_vnf.wait_for("the Deployment", lambda g=one: g.deployment)

    host.restart("rabbitmq", "mariadb")
    held_vnf.wait_for(
        "the API", lambda: services.is_responding(_port(host.url))
    )
    held_vnf.wait_for("the conductor", lambda: _is_heard(host))

    for one in instances:
        one.open()
    for one, occurrence in zip(instances, begun, strict=True):
        held_vnf.wait_completed(one.api, occurrence)
        one.api.done(one.id, "scale", rest_api.scaling(held_vnf.VDU, 1))
        assert 2 == len(one.pods()) == len(one.api.vnfcs(one.id))
        one.terminate_and_wait()
        assert [] == leftover_objects(one.id)


def test_what_is_sent_while_no_conductor_listens_is_lost(
    host, v2, vim, gated, leftover_objects
):
    """By Tacker, before any driver gets the request.

    Its server casts a message to a queue that a restart of the message queue
    deletes, until the conductor has created it again. The operation stays
    STARTING, and is ended when a conductor starts.
    """
    one = instantiated(gated, v2, vim)
    host.pause(CONDUCTOR)
    host.restart("rabbitmq")
    lost = one.api.start(one.id, "scale", rest_api.scaling(held_vnf.VDU, 1))
    since = host.logged()
    host.resume(CONDUCTOR)
    held_vnf.wait_for("the conductor", lambda: _is_heard(host))

    # The conductor works again, and has never heard of it.
    other = instantiated(gated, v2, vim)
    assert "STARTING" == one.api.operation(lost)["operationState"]
    assert lost not in host.log(CONDUCTOR, since)

    host.restart(CONDUCTOR)
    held_vnf.wait_for(
        "its end",
        lambda: one.api.operation(lost)["operationState"] != "STARTING",
    )
    for instance in (one, other):
        instance.terminate_and_wait()
        assert [] == leftover_objects(instance.id)


def instantiated(gated, api, vim):
    """An instance whose instantiation was completed."""
    one = gated(api)
    begun = one.instantiate(vim)
    held_vnf.wait_for("the Deployment", lambda: one.deployment)
    one.open()
    held_vnf.wait_completed(api, begun)
    return one


def _is_heard(host: Host) -> bool:
    """Whether a conductor takes messages from its queues."""
    return services.has_consumer(configuration.transport(host.state))


def _port(url: str) -> int:
    return urllib.parse.urlsplit(url).port or 443


# -- The VIM ------------------------------------------------------------------


class Gateway:
    """A way to the API server that can be shut."""

    def __init__(self, target: str):
        self.port = state.free_ports()["epmd"]
        self._target = target

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Within it there is a way; afterwards it breaks off."""
        listen = f"127.0.0.1:{self.port}"
        command = [sys.executable, port_forward.__file__, listen, self._target]
        with subprocess.Popen(command) as process:
            held_vnf.wait_for(
                "the way", lambda: services.is_listening(self.port)
            )
            try:
                yield
            finally:
                process.kill()


def test_the_api_server_may_be_unreachable_for_a_minute(
    v1, v2, administrator, gated, leftover_objects
):
    """The operation waits for it, and goes on from where it was."""
    server = urllib.parse.urlsplit(administrator.endpoint)
    gateway = Gateway(f"{server.hostname}:{server.port}")
    way = dataclasses.replace(
        administrator, endpoint=f"https://127.0.0.1:{gateway.port}"
    )
    instances = [gated(api) for api in (v1, v2)]
    with gateway.open():
        default = not any(vim["is_default"] for vim in v1.vims())
        vim = v1.register_vim(way, default=default)
        begun = [one.instantiate(vim) for one in instances]
        for one in instances:
            held_vnf.wait_for("the Deployment", lambda g=one: g.deployment)
    for one in instances:
        one.open()

    def waits(one, occurrence):
        return "PROCESSING" == one.api.operation(occurrence)["operationState"]

    for one, occurrence in zip(instances, begun, strict=True):
        held_vnf.assert_stays(
            AWAY / len(instances), lambda o=one, b=occurrence: waits(o, b)
        )
    with gateway.open():
        for one, occurrence in zip(instances, begun, strict=True):
            held_vnf.wait_completed(one.api, occurrence)
        for one in instances:
            assert 1 == len(one.pods()) == len(one.api.vnfcs(one.id))
            one.terminate_and_wait()
            assert [] == leftover_objects(one.id)
