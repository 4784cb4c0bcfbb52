"""What is written when, what is tried again, and what is left to others."""

from __future__ import annotations

import logging
import threading

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr import errors
from tacker_k8s_cr import objects
from tacker_k8s_cr import policy
from tacker_k8s_cr.objects import ObjectRef
from tacker_k8s_cr.report import Action
from tests.functional import manifests

pytestmark = pytest.mark.plane


@pytest.fixture
def life(namespace, deadline):
    return {"namespace": namespace, "deadline": deadline}


@pytest.fixture
def group(unique):
    return f"{unique}.example.org"


class Seen:
    """A cluster that shows what is written to it, before and after."""

    def __init__(
        self, cluster, before=lambda name: None, after=lambda name: None
    ):
        self._cluster = cluster
        self._hooks = before, after
        self.written = []

    def __getattr__(self, name):
        return getattr(self._cluster, name)

    def until(self, deadline):
        view = Seen(self._cluster.until(deadline), *self._hooks)
        view.written = self.written
        return view

    def apply(self, manifest, manager, *, dry_run=False, **more):
        name = manifest["metadata"]["name"]
        before, after = self._hooks
        if not dry_run:
            self.written.append(("apply", name))
            before(name)
        done = self._cluster.apply(manifest, manager, dry_run=dry_run, **more)
        if not dry_run:
            after(name)
        return done

    def create(self, manifest, manager):
        self.written.append(("create", manifest["metadata"]["name"]))
        return self._cluster.create(manifest, manager)

    def delete(self, ref, uid, **more):
        self.written.append(("delete", ref.name))
        return self._cluster.delete(ref, uid, **more)

    def names(self, verb):
        """Of objects, not of the record and its lock."""
        return [
            name
            for said, name in self.written
            if said == verb and not name.startswith("tacker-k8s-cr.")
        ]


def said(manifest, **annotations):
    found = manifest["metadata"].setdefault("annotations", {})
    for key, value in annotations.items():
        found[objects.PREFIX + key.replace("_", "-")] = value
    return manifest


def thing(group, name, **annotations):
    return said(
        manifests.custom(group, "Thing", name),
        **{"readiness": "created", **annotations},
    )


# -- Waves and dependencies --------------------------------------------------


def test_objects_come_in_waves_and_after_what_they_depend_on(
    cluster, namespace, packed, life, unique
):
    """And go the other way round (B3, B4, P17)."""
    web = ObjectRef("apps", "Deployment", namespace, "web")
    found = {}

    def before(name):
        live = cluster.get(web) or {}
        found[name] = objects.field(live, ("status", "availableReplicas"), 0)

    package = packed(
        said(
            manifests.config_map("after"),
            depends_on="Deployment.apps/web,\n  ConfigMap/beside",
        ),
        said(manifests.config_map("last"), wave="2"),
        said(manifests.config_map("first"), wave="-1"),
        said(manifests.config_map("later"), depends_on="ConfigMap/after"),
        manifests.deployment("web", 2),
        manifests.config_map("beside"),
    )
    seen = Seen(cluster, before)

    report = k8s_cr.instantiate(seen, unique, package, **life)

    assert {Action.CREATED} == {row.action for row in report.rows}
    assert ["first", "beside", "web", "after", "later", "last"] == seen.names(
        "apply"
    )
    assert {"first": 0, "beside": 0, "web": 0} == {
        name: found[name] for name in ("first", "beside", "web")
    }
    assert {2} == {found[name] for name in ("after", "later", "last")}
    k8s_cr.terminate(seen, unique, **life)
    gone = seen.names("delete")
    assert ["last", "later", "after"] == gone[:3]
    assert {"web", "beside"} == set(gone[3:5])
    assert ["first"] == gone[5:]


def test_what_is_held_holds_up_nothing_else(
    cluster, namespace, packed, life, unique, group
):
    """An operator may wait for what is made for a later object (B4).

    ``operator`` gets current when ``certificate`` is there, which comes
    after ``issuer``; ``cluster`` comes after ``operator``. One barrier for
    both would be a dead-lock.
    """
    issuer, operator = (
        ObjectRef(group, "Thing", namespace, name)
        for name in ("issuer", "operator")
    )

    def after(name):
        for trigger, ref in (("issuer", issuer), ("certificate", operator)):
            if name == trigger:
                cluster.patch(
                    ref,
                    {"status": {"phase": "Up"}},
                    "controller",
                    subresource="status",
                )

    up = {"readiness": "strict", "current_when": "status.phase=Up"}
    package = packed(
        thing(group, "cluster", depends_on=f"Thing.{group}/operator"),
        thing(group, "certificate", depends_on=f"Thing.{group}/issuer"),
        thing(group, "operator", **up),
        thing(group, "issuer", **up),
        manifests.definition(group, "Thing"),
    )
    seen = Seen(cluster, after=after)

    k8s_cr.instantiate(seen, unique, package, **life)

    assert ["certificate", "cluster"] == seen.names("apply")[-2:]
    k8s_cr.terminate(cluster, unique, **life)


def test_a_dependency_that_fails_ends_the_wait(
    cluster, namespace, packed, life, unique, group
):
    """Not the deadline: what depends on it will never be written (P15)."""
    bad = {"readiness": "strict", "failed_when": "spec.size=bad"}
    broken = said(
        manifests.custom(group, "Thing", "broken", size="bad"), **bad
    )
    package = packed(
        manifests.definition(group, "Thing"),
        broken,
        said(manifests.config_map("a"), depends_on=f"Thing.{group}/broken"),
    )
    seen = Seen(cluster)

    with pytest.raises(errors.Failed, match="broken"):
        k8s_cr.instantiate(seen, unique, package, **life)

    assert "a" not in seen.names("apply")
    k8s_cr.terminate(cluster, unique, **life)


def test_an_order_that_cannot_be_followed_is_refused(
    cluster, namespace, packed, life, unique
):
    """Before any write, with both ends and their places (B3, A5)."""
    seen = Seen(cluster)

    with pytest.raises(errors.PackageInvalid) as caught:
        k8s_cr.instantiate(
            seen,
            unique,
            packed(
                said(manifests.config_map("a"), depends_on="ConfigMap/b"),
                said(manifests.config_map("b"), depends_on="ConfigMap/a"),
                said(manifests.config_map("c"), depends_on="Secret/nobody"),
            ),
            **life,
        )

    text = str(caught.value)
    assert f"ConfigMap/{namespace}/a needs ConfigMap/{namespace}/b" in text
    assert "a.yaml, document 2" in text
    assert "depends on Secret/nobody: is not in the package" in text
    assert [] == seen.written


# -- Kinds -------------------------------------------------------------------


def in_any_order(group, unique):
    """A package like that of an operator, the last thing first."""
    labels = {"app": "operator"}
    account = {"kind": "ServiceAccount", "name": "operator"}
    role = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": "operator",
    }
    other = f"{unique}-b"
    return [
        thing(group, "one"),
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": unique},
            "webhooks": [],
        },
        manifests.deployment("operator", 1, serviceAccountName="operator"),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "operator"},
            "spec": {"selector": labels, "ports": [{"port": 443}]},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "operator"},
            "roleRef": role,
            "subjects": [account],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "operator"},
            "rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
            ],
        },
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "operator"},
        },
        *(
            {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "few", "namespace": name},
                "spec": {"hard": {"pods": "5"}},
            }
            for name in (other, f"{unique}-a")
        ),
        manifests.config_map("there", other),
        manifests.definition(group, "Thing"),
        manifests.namespace(f"{unique}-a"),
        manifests.namespace(other),
    ]


def test_a_package_comes_in_one_go_in_any_order_of_its_files(
    cluster, namespace, packed, life, unique, group, traces
):
    """Definitions and their objects, and several namespaces.

    (P3, P4, B1, B2, T1, T2, T14)
    """
    package = packed(*in_any_order(group, unique))
    seen = Seen(cluster)

    report = k8s_cr.instantiate(seen, unique, package, **life)

    assert {"current"} == {row.verdict.state.value for row in report.rows}
    rbac = "rbac.authorization.k8s.io"
    for kind in ("Role", "RoleBinding"):
        assert cluster.get(ObjectRef(rbac, kind, namespace, "operator"))
    assert cluster.get(ObjectRef("", "ConfigMap", f"{unique}-b", "there"))
    order = seen.names("apply")
    assert order.index("there") > order.index(f"{unique}-b")
    assert order[-1] == "one"
    k8s_cr.terminate(cluster, unique, **life)
    assert [] == traces(unique, namespace)


@pytest.fixture
def operator(cluster, namespace, group):
    """Makes definitions when the Deployment ``operator`` is there."""
    cancelled = threading.Event()
    made, threads = [], []
    web = ObjectRef("apps", "Deployment", namespace, "operator")

    def play(*definitions):
        while not cancelled.wait(0.1):
            if cluster.get_metadata(web):
                for definition in definitions:
                    made.append(cluster.create(definition, "operator"))
                return

    def start(*definitions):
        thread = threading.Thread(target=play, args=definitions)
        thread.start()
        threads.append(thread)

    yield start
    cancelled.set()
    for thread in threads:
        thread.join()
    for obj in made:
        cluster.delete(ObjectRef.of(obj), objects.uid(obj))


def test_kinds_that_an_operator_brings_at_run_time(
    cluster, namespace, packed, life, unique, group, operator, traces
):
    """They are waited for, where they are announced (P3, A2, B5)."""
    zones = manifests.definition(group, "Zone", status=False)
    zones["spec"]["scope"] = "Cluster"
    operator(manifests.definition(group, "Thing"), zones)
    package = packed(
        thing(group, "one"),
        manifests.custom(group, "Zone", unique),
        said(manifests.deployment("operator"), expects=f"Thing.{group}"),
    )
    asked = policy.of({"expects": [f"Zone.{group}:Cluster"]})

    report = k8s_cr.instantiate(cluster, unique, package, policy=asked, **life)

    # A kind without a status is current once it is stored: that shows late.
    assert {"current"} == {row.verdict.state.value for row in report.rows}
    assert cluster.get(ObjectRef(group, "Thing", namespace, "one"))
    assert cluster.get(ObjectRef(group, "Zone", "", unique))
    k8s_cr.change(cluster, unique, package, **life)
    k8s_cr.terminate(cluster, unique, **life)
    assert [] == traces(unique, namespace)


@pytest.mark.parametrize(
    ("size", "scope", "served", "why"),
    [
        ("too long", "", "Namespaced", "size"),
        ("xl", ":Cluster", "Namespaced", "a namespace is required"),
        ("xl", "", "Cluster", "has no namespaces; expected, it is .*:Clus"),
    ],
)
def test_what_is_refused_when_its_kind_is_there_takes_all_back(
    cluster,
    namespace,
    packed,
    life,
    unique,
    group,
    operator,
    traces,
    size,
    scope,
    served,
    why,
):
    """What was made until then goes, by its UID (A5)."""
    definition = manifests.definition(group, "Thing")
    definition["spec"]["scope"] = served
    operator(definition)
    package = packed(
        manifests.deployment("operator"),
        manifests.config_map("settings"),
        manifests.custom(group, "Thing", "one", size=size),
    )
    asked = policy.of({"expects": [f"Thing.{group}{scope}"]})

    with pytest.raises(errors.Rejected, match=why) as caught:
        k8s_cr.instantiate(cluster, unique, package, policy=asked, **life)

    assert () == caught.value.written
    assert [] == traces(unique, namespace)


def test_a_kind_that_nobody_announced_is_refused(
    cluster, packed, life, unique, group
):
    """Before the first write, with its object's place (T3, A7)."""
    package = packed(
        manifests.deployment("operator"),
        manifests.custom(group, "Thing", "one"),
        manifests.custom(group, "Other", "two"),
    )
    asked = policy.of({"expects": [f"Thing.{group}"]})
    seen = Seen(cluster)

    with pytest.raises(errors.KindUnknown) as caught:
        k8s_cr.instantiate(seen, unique, package, policy=asked, **life)

    assert "a.yaml, document 3" in str(caught.value)
    assert f"Other.{group}" in str(caught.value)
    assert f"Thing.{group}" not in str(caught.value)
    assert [] == seen.written


def test_one_object_that_is_refused_means_no_write_at_all(
    cluster, packed, life, unique
):
    """Not even of the record or the lock (A5)."""
    wrong = manifests.deployment("web", -1)
    seen = Seen(cluster)

    with pytest.raises(errors.Rejected, match="replicas"):
        k8s_cr.instantiate(
            seen,
            unique,
            packed(
                manifests.config_map("a"), manifests.namespace(unique), wrong
            ),
            **life,
        )

    assert [] == seen.written


# -- Answers that pass -------------------------------------------------------


def test_a_webhook_that_does_not_answer_is_waited_for_by_name(
    cluster, namespace, packed, life, unique, caplog
):
    """Each wait is told once, however often it is tried (P5, B5)."""
    name = f"{unique}.example.org"
    hook = cluster.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": unique},
            "webhooks": [
                {
                    "name": name,
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "clientConfig": {"url": "https://127.0.0.1:1/validate"},
                    "namespaceSelector": {
                        "matchLabels": {
                            "kubernetes.io/metadata.name": namespace
                        }
                    },
                    "rules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["configmaps"],
                        }
                    ],
                }
            ],
        },
        "tests",
    )
    tries = []

    def before(applied):
        tries.append(applied)
        if tries.count("a") == 3:
            cluster.delete(ObjectRef.of(hook), objects.uid(hook))

    # The server takes a moment to heed a new webhook.
    trial = manifests.config_map("trial", namespace)
    while not life["deadline"].passed:
        try:
            cluster.apply(trial, "tests", dry_run=True)
        except errors.NotYet as error:
            found = error
            break
    assert name == found.hook
    seen = Seen(cluster, before)

    with caplog.at_level(logging.INFO, "tacker_k8s_cr.lcm.pending_applies"):
        report = k8s_cr.instantiate(
            seen,
            unique,
            packed(manifests.config_map("a"), manifests.config_map("b")),
            **life,
        )

    assert 2 == report.count(Action.CREATED)
    (line,) = [
        record.getMessage()
        for record in caplog.records
        if record.name == "tacker_k8s_cr.lcm.pending_applies"
    ]
    both = [f"ConfigMap/{namespace}/{one}" for one in "ab"]
    assert line.startswith(
        f"{unique}: {', '.join(both)}: not written yet, retrying until "
    )
    assert f'failed calling webhook "{name}"' in line
    k8s_cr.terminate(cluster, unique, **life)


def test_a_class_that_a_package_brings_with_its_pod(
    cluster, namespace, packed, life, unique
):
    """Without the class the Pod is refused before any write (A5)."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "main", "image": "example.org/a:1"}],
            "priorityClassName": unique,
        },
    }
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": unique},
        "value": 7,
    }
    seen = Seen(cluster)
    with pytest.raises(errors.Rejected, match="no PriorityClass with name"):
        k8s_cr.instantiate(seen, unique, packed(pod), **life)
    assert [] == seen.written

    k8s_cr.instantiate(cluster, unique, packed(pod, high), **life)

    live = cluster.get(ObjectRef("", "Pod", namespace, "p"))
    assert 7 == live["spec"]["priority"]
    k8s_cr.terminate(cluster, unique, **life)


# -- Fields of others --------------------------------------------------------


def test_fields_of_others_are_left_taken_or_refused(
    cluster, namespace, packed, life, unique
):
    """By operation and by object; path and manager are named (P6, B7)."""
    web = ObjectRef("apps", "Deployment", namespace, "web")
    config = ObjectRef("", "ConfigMap", namespace, "a")

    def package(value, **annotations):
        deployment = manifests.deployment("web")
        spec = deployment["spec"]["template"]["spec"]
        spec["containers"][0]["image"] = f"example.org/a:{value}"
        spec["terminationGracePeriodSeconds"] = value
        given = manifests.config_map("a", **{"a.b": f"{value}", "c": "c"})
        return packed(deployment, said(given, **annotations))

    k8s_cr.instantiate(cluster, unique, package(1), **life)
    theirs = manifests.config_map("a", namespace, **{"a.b": "theirs"})
    cluster.apply(theirs, "editor", force=True)
    image = {"containers": [{"name": "main", "image": "example.org/b:1"}]}
    cluster.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {"template": {"spec": image}},
        },
        "editor",
        force=True,
    )

    with pytest.raises(errors.Refused) as caught:
        k8s_cr.change(cluster, unique, package(2), **life)
    text = str(caught.value)
    path = 'spec.template.spec.containers[name="main"].image'
    assert f"{web}: field {path} is owned by editor" in text
    assert f"{config}: field data.a.b is owned by editor" in text

    def now():
        spec = cluster.get(web)["spec"]["template"]["spec"]
        return (
            spec["containers"][0]["image"],
            spec["terminationGracePeriodSeconds"],
            cluster.get(config)["data"]["a.b"],
        )

    leave = k8s_cr.Options(conflict="leave")
    report = k8s_cr.change(cluster, unique, package(3), options=leave, **life)
    notes = {row.ref.name: row.notes for row in report.rows}
    assert {
        "web": (f"field {path} is left to editor",),
        "a": ("field data.a.b is left to editor",),
    } == notes
    assert ("example.org/b:1", 3, "theirs") == now()
    # An annotation wins, either way round.
    k8s_cr.change(
        cluster, unique, package(4, conflict="take"), options=leave, **life
    )
    assert ("example.org/b:1", 4, "4") == now()
    cluster.apply(theirs, "editor", force=True)
    take = k8s_cr.Options(conflict="take")
    k8s_cr.change(
        cluster, unique, package(5, conflict="leave"), options=take, **life
    )
    assert ("example.org/a:5", 5, "theirs") == now()
    k8s_cr.terminate(cluster, unique, **life)


@pytest.mark.parametrize("conflict", ["fail", "take", "leave"])
def test_a_number_of_an_autoscaler_is_left_to_it(
    cluster, namespace, packed, life, unique, conflict
):
    """Applying a package again does not shrink anything (P7)."""
    web = ObjectRef("apps", "Deployment", namespace, "web")
    k8s_cr.instantiate(
        cluster, unique, packed(manifests.deployment("web", 1)), **life
    )
    cluster.patch(
        web,
        {"spec": {"replicas": 3}},
        "kube-controller-manager",
        subresource="scale",
    )

    k8s_cr.change(
        cluster,
        unique,
        packed(manifests.deployment("web", 1, nodeName="")),
        options=k8s_cr.Options(conflict=conflict),
        **life,
    )

    live = cluster.get(web)
    assert 3 == live["spec"]["replicas"]
    k8s_cr.terminate(cluster, unique, **life)
