"""How an instance ends on a real API server with its controllers."""

from __future__ import annotations

import logging
import time

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tests.functional import manifests

pytestmark = pytest.mark.plane

CREATED = {objects.PREFIX + "readiness": "exists"}
HELD = "example.org/hold"
RBAC = "rbac.authorization.k8s.io"
CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")


@pytest.fixture
def group(unique_name):
    return f"{unique_name}.example.org"


def held(manifest):
    manifest["metadata"]["finalizers"] = [HELD]
    return manifest


def with_said(manifest, **said):
    annotations = manifest["metadata"].setdefault("annotations", {})
    for name, value in said.items():
        annotations[objects.PREFIX + name.replace("_", "-")] = value
    return manifest


def released(cluster, ref):
    """As its controller does when it has cleaned up."""
    cluster.patch(ref, {"metadata": {"finalizers": None}}, "tests")


def uid(cluster, ref):
    obj = cluster.get_metadata(ref)
    return objects.uid(obj) if obj else None


def config_map(namespace, name):
    return ObjectRef("", "ConfigMap", namespace, name)


def retained_reasons(report):
    return {
        row.ref.name for row in report.objects if row.action is Action.RETAINED
    }


# -- Order, and what hangs ---------------------------------------------------


def operator(unique, group, **pod):
    """An operator with its kind, its account and rights, as packages do."""
    account = {"kind": "ServiceAccount", "name": unique}
    rule = {
        "apiGroups": [group],
        "resources": ["things", "things/finalizers"],
        "verbs": ["*"],
    }
    return (
        manifests.definition(group, "Thing"),
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": unique},
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "Role",
            "metadata": {"name": unique},
            "rules": [rule],
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": unique},
            "roleRef": {
                "apiGroup": RBAC,
                "kind": "Role",
                "name": unique,
            },
            "subjects": [account],
        },
        manifests.deployment(unique, serviceAccountName=unique, **pod),
    )


@pytest.mark.requirement("T13", "P16", "P17", "F3", "F6")
def test_what_hangs_holds_up_all_that_it_needs(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    group,
    terminate,
):
    """A time-out never falls through to the next stage.

    The error names the finalizer, its controller, whether that runs, its last
    message, and what is missing. The status has it too, and the termination
    continues where it stopped.
    """
    thing = held(manifests.custom(group, "Thing", "one", CREATED))
    thing["spec"] = {"size": "s"}
    package = make_package(*operator(unique_name, group), thing)
    k8s_cr.instantiate(make_request(), package)
    one = ObjectRef(group, "Thing", namespace, "one")
    cluster.patch(
        one,
        {
            "status": {
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "False",
                        "reason": "CloudError",
                        "message": "no credential to delete it with",
                    }
                ]
            }
        },
        "operator",
        subresource="status",
    )

    with pytest.raises(errors.DeletionTimeout) as caught:
        k8s_cr.terminate(make_request(timeout=5))

    (item,) = caught.value.pending
    assert one == item.ref
    words = "\n".join(item.notes)
    controller = (
        f"its controller Deployment.apps/{namespace}/{unique_name} runs"
    )
    assert f"finalizer {HELD}: {controller}" in words
    assert "no credential to delete it with" in words
    report = k8s_cr.status(make_request())
    (row,) = [row for row in report.objects if row.ref == one]
    assert any(controller in note for note in row.notes)
    for ref in (
        ObjectRef("apps", "Deployment", namespace, unique_name),
        ObjectRef("", "ServiceAccount", namespace, unique_name),
        ObjectRef(
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            "",
            f"things.{group}",
        ),
    ):
        obj = cluster.get_metadata(ref)
        assert obj
        assert "deletionTimestamp" not in obj["metadata"]

    released(cluster, one)
    terminate()


@pytest.mark.requirement("P16", "F6")
def test_a_controller_that_does_not_run_is_named(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    group,
    terminate,
):
    """Scaled to nothing, or away: the reason is where to look."""
    thing = held(manifests.custom(group, "Thing", "one", CREATED))
    *others, workload = operator(unique_name, group)
    workload["spec"]["replicas"] = 0
    k8s_cr.instantiate(make_request(), make_package(*others, workload, thing))

    with pytest.raises(errors.DeletionTimeout, match="it is scaled to 0"):
        k8s_cr.terminate(make_request(timeout=5))

    released(cluster, ObjectRef(group, "Thing", namespace, "one"))
    terminate()


def test_a_stuck_deletion_ends_after_the_stall_timeout(
    make_request, namespace, make_package, unique_name, group
):
    """With the option that helps, long before the deadline."""
    thing = held(manifests.custom(group, "Thing", "one", CREATED))
    *others, workload = operator(unique_name, group)
    workload["spec"]["replicas"] = 0
    k8s_cr.instantiate(make_request(), make_package(*others, workload, thing))
    one = ObjectRef(group, "Thing", namespace, "one")
    seen = []

    with pytest.raises(errors.ObjectsFailed) as caught:
        k8s_cr.terminate(
            make_request(
                options=k8s_cr.Options(stall_timeout=2.0),
                on_progress=seen.append,
            )
        )

    assert f"--remove-finalizers {one}" in str(caught.value)
    causes = [progress.causes for progress in seen if progress.causes]
    assert "it is scaled to 0" in causes[0][one]
    k8s_cr.terminate(
        make_request(
            options=k8s_cr.Options(remove_finalizers=frozenset({one}))
        )
    )


@pytest.mark.requirement("F6")
def test_what_is_missing_of_what_it_refers_to_is_named(
    cluster,
    namespace,
    make_package,
    make_request,
    terminate,
):
    """By name alone, and by kind and name; not what is there."""
    rule = {
        "secretName": "site-tls",
        "hosts": ["site.example.org"],
    }
    path = {
        "path": "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": "web", "port": {"number": 80}}},
    }
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "site"},
        "spec": {"tls": [rule], "rules": [{"http": {"paths": [path]}}]},
    }

    def scaler(name):
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        return {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name, "annotations": dict(CREATED)},
            "spec": {"scaleTargetRef": target, "maxReplicas": 1},
        }

    package = make_package(
        *map(held, (ingress, scaler("web"), scaler("away")))
    )
    k8s_cr.instantiate(make_request(), package)
    there = manifests.deployment("web", 0)
    there["metadata"]["namespace"] = namespace
    cluster.create(there, "other-manager")

    with pytest.raises(errors.DeletionTimeout) as caught:
        k8s_cr.terminate(make_request(timeout=3))

    said = {
        item.ref.name: [n for n in item.notes if "it refers to" in n]
        for item in caught.value.pending
    }
    absent = "it refers to {}, which does not exist".format
    assert {
        "site": [absent(ObjectRef("", "Secret", namespace, "site-tls"))],
        "away": [absent(ObjectRef("apps", "Deployment", namespace, "away"))],
        "web": [],
    } == said
    for item in caught.value.pending:
        released(cluster, item.ref)
    terminate()


# -- Finalizers --------------------------------------------------------------


@pytest.mark.requirement("P16")
def test_finalizers_are_removed_only_on_request_by_name(
    cluster, namespace, make_package, make_request, caplog
):
    """With a warning that lists what was removed.

    Never of an object that the instance does not delete: that is refused
    before anything is.
    """
    package = make_package(
        held(manifests.config_map("a")), held(manifests.config_map("b"))
    )
    k8s_cr.instantiate(make_request(), package)
    theirs = held(manifests.config_map("theirs", namespace))
    cluster.create(theirs, "other-manager")
    first, second, other = (
        config_map(namespace, name) for name in ("a", "b", "theirs")
    )

    with pytest.raises(errors.RequestInvalid, match="theirs"):
        k8s_cr.terminate(
            make_request(
                options=k8s_cr.Options(remove_finalizers=frozenset([other]))
            )
        )
    assert "deletionTimestamp" not in cluster.get(first)["metadata"]

    with (
        caplog.at_level(logging.WARNING, "tacker_k8s_cr"),
        pytest.raises(errors.DeletionTimeout) as caught,
    ):
        k8s_cr.terminate(
            make_request(
                timeout=5,
                options=k8s_cr.Options(remove_finalizers=frozenset([first])),
            )
        )

    assert [second] == [item.ref for item in caught.value.pending]
    assert None is cluster.get(first)
    assert f"{first}: finalizers removed, as requested: {HELD}" in caplog.text
    again = k8s_cr.Options(remove_finalizers=frozenset([first, second]))
    k8s_cr.terminate(make_request(options=again))
    assert None is cluster.get(second)
    released(cluster, other)


# -- Other objects -----------------------------------------------------------


@pytest.mark.requirement("P20", "XO-23")
def test_an_object_with_another_uid_is_left_alone(
    cluster, namespace, make_package, make_request, unique_name
):
    """A delete carries the UID: a foreign replacement is not deleted.

    Also where it appears while the end waits.
    """
    package = make_package(
        manifests.config_map("a"), held(manifests.config_map("b"))
    )
    k8s_cr.instantiate(make_request(), package)
    first, second = (config_map(namespace, name) for name in ("a", "b"))
    cluster.delete(first, uid(cluster, first))
    label = {objects.INSTANCE: unique_name}
    theirs = manifests.config_map("a", namespace, whose="theirs")
    theirs["metadata"]["labels"] = label
    made = uid_of(cluster.create(theirs, "other-manager"))
    anew = []

    def play(progress):
        if second in progress.awaited and not anew:
            anew.append(None)
            released(cluster, second)
            other = manifests.config_map("b", namespace, whose="theirs")
            anew.append(uid_of(cluster.create(other, "other-manager")))

    k8s_cr.terminate(make_request(on_progress=play))

    assert made == uid(cluster, first)
    assert anew[1:] == [uid(cluster, second)]


def test_secrets_of_a_certificate_are_deleted_with_their_namespace(
    cluster, make_package, make_request, unique_name, terminate
):
    """cert-manager owns up to its Secrets by an annotation alone.

    One of a Certificate outside the instance is foreign, and blocks the
    termination.
    """
    home = f"{unique_name}-home"
    issued_by = "cert-manager.io"
    definition = manifests.definition(issued_by, "Certificate")
    if cluster.get(ObjectRef(*CRD, "", f"certificates.{issued_by}")):
        pytest.skip("cert-manager is there")
    certificate = manifests.custom(issued_by, "Certificate", "site", CREATED)
    certificate["metadata"]["namespace"] = home
    package = make_package(definition, manifests.namespace(home), certificate)
    k8s_cr.instantiate(make_request(), package)

    def secret(name, of):
        annotations = {f"{issued_by}/certificate-name": of}
        metadata = {"name": name, "namespace": home}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {**metadata, "annotations": annotations},
        }

    cluster.create(secret("site-tls", "site"), issued_by)
    cluster.create(secret("other-tls", "other"), issued_by)

    with pytest.raises(errors.Error) as caught:
        terminate()

    assert "other-tls" in str(caught.value)
    assert "site-tls" not in str(caught.value)
    other = ObjectRef("", "Secret", home, "other-tls")
    cluster.delete(other, uid(cluster, other))
    terminate()
    assert None is cluster.get(ObjectRef("", "Namespace", "", home))


def uid_of(obj):
    return objects.uid(obj)


def test_a_shared_object_stays_when_its_owner_terminates(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    group,
    terminate,
):
    """It is orphaned, with all that serves it.

    Once it is not used any more, a termination deletes it too.
    """
    second = f"{unique_name}-second"
    package = make_package(*operator(unique_name, group), name="owner")
    k8s_cr.instantiate(make_request(), package)
    user = make_package(
        manifests.definition(group, "Thing"),
        manifests.custom(group, "Thing", "one", CREATED),
        name="user",
    )
    k8s_cr.instantiate(make_request(cluster, second), user)
    defined = ObjectRef(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "",
        f"things.{group}",
    )
    running = ObjectRef("apps", "Deployment", namespace, unique_name)

    report = terminate()

    assert {f"things.{group}", unique_name} == retained_reasons(report)
    assert uid(cluster, ObjectRef(group, "Thing", namespace, "one"))
    for ref in (defined, running):
        metadata = cluster.get_metadata(ref)["metadata"]
        assert objects.INSTANCE not in metadata.get("labels", {})
        assert not [
            entry
            for entry in metadata["managedFields"]
            if entry["manager"].startswith(objects.MANAGER)
        ]
    k8s_cr.terminate(make_request(cluster, second))
    for ref in (defined, running):
        cluster.delete(ref, uid(cluster, ref))


# -- Kept --------------------------------------------------------------------


@pytest.mark.requirement("F4")
def test_a_definition_is_kept_with_all_that_serves_it(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    group,
    leftover_objects,
    terminate,
):
    """Its foreign objects continue to be served.

    The label is removed, the record is deleted, and the report lists what
    stays.
    """
    definition, *others = operator(unique_name, group)
    web = manifests.deployment("web")
    mine = manifests.custom(group, "Thing", "mine", CREATED)
    package = make_package(
        with_said(definition, on_terminate="keep"), *others, web, mine
    )
    k8s_cr.instantiate(make_request(), package)
    theirs = manifests.custom(group, "Thing", "theirs")
    theirs["metadata"]["namespace"] = namespace
    cluster.create(theirs, "other-manager")

    report = terminate()

    assert {f"things.{group}", unique_name} == retained_reasons(report)
    assert [] == leftover_objects(unique_name, namespace)
    assert None is cluster.get(ObjectRef(group, "Thing", namespace, "mine"))
    assert cluster.get(ObjectRef(group, "Thing", namespace, "theirs"))
    assert None is cluster.get(
        ObjectRef("apps", "Deployment", namespace, "web")
    )
    running = cluster.get(
        ObjectRef("apps", "Deployment", namespace, unique_name)
    )
    assert 1 == running["status"]["availableReplicas"]
    for kind in ("Role", "RoleBinding"):
        assert cluster.get(ObjectRef(RBAC, kind, namespace, unique_name))

    # No manager owns a field of it: the next to apply it may.
    again = k8s_cr.Options(
        adopt=frozenset(row.ref for row in report.objects), dry_run=False
    )
    other = make_package(definition, *others, name="again")
    k8s_cr.instantiate(make_request(options=again), other)
    everything = k8s_cr.Options(
        on_terminate={objects.GroupKind.of(definition): False},
        delete_foreign_objects=True,
    )
    k8s_cr.terminate(make_request(options=everything))
    for row in report.objects:
        if found := uid(cluster, row.ref):
            cluster.delete(row.ref, found)


@pytest.mark.requirement("F4")
def test_what_is_kept_is_chosen_by_policy_and_at_the_end(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """A kind or an object, when it is instantiated or when it ends."""
    package = make_package(*(manifests.config_map(name) for name in "abc"))
    first, second = (config_map(namespace, name) for name in "ab")
    policy = k8s_cr.Policy(on_terminate={first: True})
    k8s_cr.instantiate(make_request(), package, policy=policy)
    options = k8s_cr.Options(on_terminate={second: True})

    report = k8s_cr.terminate(make_request(options=options))

    assert {"a", "b"} == retained_reasons(report)
    assert {"value"} == {
        cluster.get(ref)["data"]["key"] for ref in (first, second)
    }
    assert None is cluster.get(config_map(namespace, "c"))
    assert [] == leftover_objects(unique_name, namespace)


def test_an_object_cannot_be_retained_without_its_owner(
    cluster, namespace, make_package, make_request, terminate
):
    """The garbage collector would take it; nothing is deleted."""
    package = make_package(
        manifests.config_map("owner"), manifests.config_map("a")
    )
    k8s_cr.instantiate(make_request(), package)
    owner, owned = (config_map(namespace, name) for name in ("owner", "a"))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": uid(cluster, owner),
    }
    cluster.patch(
        owned, {"metadata": {"ownerReferences": [reference]}}, "tests"
    )
    options = k8s_cr.Options(on_terminate={owned: True})

    with pytest.raises(
        errors.RetentionImpossible, match=r"ConfigMap/.*/owner"
    ):
        k8s_cr.terminate(make_request(options=options))

    assert uid(cluster, owner)
    terminate()


# -- Grace -------------------------------------------------------------------


@pytest.mark.requirement("F5", "F2")
def test_pods_get_no_more_time_than_was_asked_for(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
):
    """Also those of workloads, to which the server hands nothing on.

    Without time they end at once; and nothing is deleted before they are.
    """
    # No kubelet runs the Pods of a missing node, or ends them.
    spec = {
        "nodeName": unique_name,
        "terminationGracePeriodSeconds": 600,
    }
    web = with_said(manifests.deployment("web", **spec), readiness="exists")
    k8s_cr.instantiate(make_request(), make_package(web))
    selector = "app=web"

    def pods():
        kind = objects.GroupKind("", "Pod")
        return list(cluster.list_objects(kind, namespace, selector))

    while not pods():
        pass
    ref = ObjectRef("apps", "Deployment", namespace, "web")

    def graces():
        given = [
            p["metadata"].get("deletionGracePeriodSeconds") for p in pods()
        ]
        return set(filter(None, given))

    # On a busy machine the time may be up before the Pods are reached.
    while not graces():
        with pytest.raises(errors.DeletionTimeout) as caught:
            k8s_cr.terminate(
                make_request(
                    timeout=5, options=k8s_cr.Options(grace_seconds=77)
                )
            )
    assert [ref] == [item.ref for item in caught.value.pending]
    assert {77} == graces()

    k8s_cr.terminate(make_request(options=k8s_cr.Options(grace_seconds=0)))

    assert [] == pods()


@pytest.fixture
def dead_node(cluster, unique_name):
    """A node whose kubelet is down: its Pods are neither run nor ended."""
    ref = ObjectRef("", "Node", "", unique_name)
    taint = {"key": "example.org/dead", "effect": "NoSchedule"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": unique_name},
        "spec": {"taints": [taint]},
    }
    cluster.create(node, "tests")
    ready = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }
    status = {"status": {"conditions": [ready]}}
    cluster.patch(ref, status, "tests", subresource="status")
    yield ref
    cluster.delete(ref, uid(cluster, ref))


def test_a_pod_on_a_dead_node_is_named_with_its_node(
    cluster,
    namespace,
    make_package,
    make_request,
    dead_node,
):
    """The end does not outlast its deadline, and repeated, by force, it is.

    A workload waits for its Pods, and these for a kubelet.
    """
    web = with_said(
        manifests.deployment("web", nodeName=dead_node.name),
        readiness="exists",
    )
    single = with_said(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "single"},
            "spec": web["spec"]["template"]["spec"],
        },
        readiness="exists",
    )
    k8s_cr.instantiate(make_request(), make_package(web, single))
    kind = objects.GroupKind("", "Pod")

    def pods():
        return list(cluster.list_objects(kind, namespace))

    while len(pods()) < 2:
        pass
    begun = time.monotonic()

    with pytest.raises(errors.DeletionTimeout) as caught:
        k8s_cr.terminate(make_request(timeout=10))

    assert time.monotonic() < begun + 60
    found = {
        item.ref.name: "\n".join(item.notes) for item in caught.value.pending
    }
    assert {"web", "single"} == set(found)
    said = (
        f"it has to end on {dead_node}, which is not Ready: "
        "Kubelet stopped posting node status."
    )
    assert said in found["single"]
    (made,) = (
        pod["metadata"]["name"]
        for pod in pods()
        if pod["metadata"]["name"] != "single"
    )
    assert f"Pod/{namespace}/{made}: {said}" in found["web"]

    by_force = k8s_cr.Options(grace_seconds=0)
    k8s_cr.terminate(make_request(options=by_force))

    assert [] == pods()
