"""What is written when, what is tried again, and what is left to others."""

from __future__ import annotations

import logging
import threading

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.report import Action
from tests.functional import manifests

pytestmark = pytest.mark.plane


@pytest.fixture
def group(unique_name):
    return f"{unique_name}.example.org"


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

    def with_deadline(self, deadline):
        view = Seen(self._cluster.with_deadline(deadline), *self._hooks)
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
            for annotate, name in self.written
            if annotate == verb and not name.startswith("tacker-k8s-cr.")
        ]


def annotate(manifest, **annotations):
    found = manifest["metadata"].setdefault("annotations", {})
    for key, value in annotations.items():
        found[objects.PREFIX + key.replace("_", "-")] = value
    return manifest


def thing(group, name, **annotations):
    return annotate(
        manifests.custom(group, "Thing", name),
        **{"readiness": "exists", **annotations},
    )


# -- Waves and dependencies --------------------------------------------------


@pytest.mark.requirement("TK-4", "B3", "B4", "F1", "IN-21", "IN-22")
def test_objects_come_in_waves_and_after_what_they_depend_on(
    cluster, namespace, make_package, make_request
):
    """And go the other way round."""
    web = ObjectRef("apps", "Deployment", namespace, "web")
    found = {}

    def before(name):
        live = cluster.get(web) or {}
        found[name] = objects.field(live, ("status", "availableReplicas"), 0)

    package = make_package(
        annotate(
            manifests.config_map("after"),
            depends_on="Deployment.apps/web,\n  ConfigMap/beside",
        ),
        annotate(manifests.config_map("last"), wave="2"),
        annotate(manifests.config_map("first"), wave="-1"),
        annotate(manifests.config_map("later"), depends_on="ConfigMap/after"),
        manifests.deployment("web", 2),
        manifests.config_map("beside"),
    )
    seen = Seen(cluster, before)

    report = k8s_cr.instantiate(make_request(seen), package)

    assert {Action.CREATED} == {row.action for row in report.objects}
    assert ["first", "beside", "web", "after", "later", "last"] == seen.names(
        "apply"
    )
    assert {"first": 0, "beside": 0, "web": 0} == {
        name: found[name] for name in ("first", "beside", "web")
    }
    assert {2} == {found[name] for name in ("after", "later", "last")}
    k8s_cr.terminate(make_request(seen))
    gone = seen.names("delete")
    assert ["last", "later", "after"] == gone[:3]
    assert {"web", "beside"} == set(gone[3:5])
    assert ["first"] == gone[5:]


def test_what_is_held_holds_up_nothing_else(
    cluster, namespace, make_package, make_request, group, terminate
):
    """An operator may wait for what is made for a later object.

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

    up = {"readiness": "status", "ready_when": "status.phase=Up"}
    package = make_package(
        thing(group, "cluster", depends_on=f"Thing.{group}/operator"),
        thing(group, "certificate", depends_on=f"Thing.{group}/issuer"),
        thing(group, "operator", **up),
        thing(group, "issuer", **up),
        manifests.definition(group, "Thing"),
    )
    seen = Seen(cluster, after=after)

    k8s_cr.instantiate(make_request(seen), package)

    assert ["certificate", "cluster"] == seen.names("apply")[-2:]
    terminate()


@pytest.mark.requirement("P15")
def test_a_dependency_that_fails_ends_the_wait(
    cluster, namespace, make_package, make_request, group, terminate
):
    """Not the deadline: what depends on it will never be written."""
    bad = {"readiness": "status", "failed_when": "spec.size=bad"}
    broken = annotate(
        manifests.custom(group, "Thing", "broken", size="bad"), **bad
    )
    package = make_package(
        manifests.definition(group, "Thing"),
        broken,
        annotate(
            manifests.config_map("a"), depends_on=f"Thing.{group}/broken"
        ),
    )
    seen = Seen(cluster)

    with pytest.raises(errors.ObjectsFailed, match="broken"):
        k8s_cr.instantiate(make_request(seen), package)

    assert "a" not in seen.names("apply")
    terminate()


def test_an_order_that_cannot_be_followed_is_refused(
    cluster, namespace, make_package, make_request
):
    """Before any write, with both ends and their places."""
    seen = Seen(cluster)

    with pytest.raises(errors.PackageInvalid) as caught:
        k8s_cr.instantiate(
            make_request(seen),
            make_package(
                annotate(manifests.config_map("a"), depends_on="ConfigMap/b"),
                annotate(manifests.config_map("b"), depends_on="ConfigMap/a"),
                annotate(
                    manifests.config_map("c"), depends_on="Secret/absent"
                ),
            ),
        )

    text = str(caught.value)
    assert f"ConfigMap/{namespace}/a needs ConfigMap/{namespace}/b" in text
    assert "a.yaml, document 2" in text
    assert "depends on Secret/absent: is not in the package" in text
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


@pytest.mark.requirement("T1", "T14", "P3", "B1", "B2", "XO-11")
def test_a_package_is_applied_at_once_in_any_order_of_its_files(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    group,
    leftover_objects,
    terminate,
):
    """Definitions and their objects, and several namespaces."""
    package = make_package(*in_any_order(group, unique_name))
    seen = Seen(cluster)

    report = k8s_cr.instantiate(make_request(seen), package)

    assert {"current"} == {row.verdict.state.value for row in report.objects}
    rbac = "rbac.authorization.k8s.io"
    for kind in ("Role", "RoleBinding"):
        assert cluster.get(ObjectRef(rbac, kind, namespace, "operator"))
    assert cluster.get(ObjectRef("", "ConfigMap", f"{unique_name}-b", "there"))
    order = seen.names("apply")
    assert order.index("there") > order.index(f"{unique_name}-b")
    assert order[-1] == "one"
    terminate()
    assert [] == leftover_objects(unique_name, namespace)


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


@pytest.mark.requirement("P3", "B5")
def test_kinds_that_an_operator_brings_at_run_time(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    group,
    operator,
    leftover_objects,
    terminate,
):
    """They are waited for, where they are announced."""
    zones = manifests.definition(group, "Zone", status=False)
    zones["spec"]["scope"] = "Cluster"
    operator(manifests.definition(group, "Thing"), zones)
    package = make_package(
        thing(group, "one"),
        manifests.custom(group, "Zone", unique_name),
        annotate(
            manifests.deployment("operator"), expected_kinds=f"Thing.{group}"
        ),
    )
    asked = policy.from_dict({"expected_kinds": [f"Zone.{group}:Cluster"]})

    report = k8s_cr.instantiate(make_request(), package, policy=asked)

    # A kind without a status is current once it is stored: that shows late.
    assert {"current"} == {row.verdict.state.value for row in report.objects}
    assert cluster.get(ObjectRef(group, "Thing", namespace, "one"))
    assert cluster.get(ObjectRef(group, "Zone", "", unique_name))
    k8s_cr.change(make_request(), package)
    terminate()
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.parametrize(
    ("size", "scope", "served", "why"),
    [
        ("too long", "", "Namespaced", "size"),
        ("xl", ":Cluster", "Namespaced", "a namespace is required"),
        ("xl", "", "Cluster", "has no namespaces; expected, it is .*:Clus"),
    ],
)
def test_rejection_after_the_kind_appears_undoes_the_operation(
    make_request,
    namespace,
    make_package,
    unique_name,
    group,
    operator,
    leftover_objects,
    size,
    scope,
    served,
    why,
):
    """What was made until then goes, by its UID."""
    definition = manifests.definition(group, "Thing")
    definition["spec"]["scope"] = served
    operator(definition)
    package = make_package(
        manifests.deployment("operator"),
        manifests.config_map("settings"),
        manifests.custom(group, "Thing", "one", size=size),
    )
    asked = policy.from_dict({"expected_kinds": [f"Thing.{group}{scope}"]})

    with pytest.raises(errors.Rejected, match=why) as caught:
        k8s_cr.instantiate(make_request(), package, policy=asked)

    assert () == caught.value.written
    assert [] == leftover_objects(unique_name, namespace)


@pytest.mark.requirement("TK-24", "T3", "A7")
def test_an_unexpected_kind_is_refused(
    cluster, make_package, make_request, group
):
    """Before the first write, with its object's place."""
    package = make_package(
        manifests.deployment("operator"),
        manifests.custom(group, "Thing", "one"),
        manifests.custom(group, "Other", "two"),
    )
    asked = policy.from_dict({"expected_kinds": [f"Thing.{group}"]})
    seen = Seen(cluster)

    with pytest.raises(errors.KindNotServed) as caught:
        k8s_cr.instantiate(make_request(seen), package, policy=asked)

    assert "a.yaml, document 3" in str(caught.value)
    assert f"Other.{group}" in str(caught.value)
    assert f"Thing.{group}" not in str(caught.value)
    assert [] == seen.written


@pytest.mark.requirement("A5")
def test_one_object_that_is_refused_means_no_write_at_all(
    cluster, make_package, make_request, unique_name
):
    """Not even of the record or the lock."""
    wrong = manifests.deployment("web", -1)
    seen = Seen(cluster)

    with pytest.raises(errors.Rejected, match="replicas"):
        k8s_cr.instantiate(
            make_request(seen),
            make_package(
                manifests.config_map("a"),
                manifests.namespace(unique_name),
                wrong,
            ),
        )

    assert [] == seen.written


# -- Answers that pass -------------------------------------------------------


@pytest.mark.requirement("P5", "B5")
def test_a_webhook_that_does_not_answer_is_waited_for_by_name(
    cluster,
    namespace,
    make_package,
    unique_name,
    caplog,
    terminate,
    make_request,
    deadline,
):
    """Each wait is reported once, however often it is tried."""
    name = f"{unique_name}.example.org"
    hook = cluster.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": unique_name},
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
    while not deadline.expired:
        try:
            cluster.apply(trial, "tests", dry_run=True)
        except errors.DependencyMissing as error:
            found = error
            break
    assert name == found.webhook
    seen = Seen(cluster, before)

    with caplog.at_level(
        logging.INFO, "tacker_k8s_cr.lcm.stages.pending_applies"
    ):
        report = k8s_cr.instantiate(
            make_request(seen),
            make_package(manifests.config_map("a"), manifests.config_map("b")),
        )

    assert 2 == report.count(Action.CREATED)
    (line,) = [
        record.getMessage()
        for record in caplog.records
        if record.name == "tacker_k8s_cr.lcm.stages.pending_applies"
    ]
    both = [f"ConfigMap/{namespace}/{one}" for one in "ab"]
    assert line.startswith(
        f"{unique_name}: {', '.join(both)}: not written yet, retrying until "
    )
    assert f'failed calling webhook "{name}"' in line
    terminate()


def test_a_class_that_a_package_brings_with_its_pod(
    cluster, namespace, make_package, make_request, unique_name, terminate
):
    """Without the class the Pod is refused before any write."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "main", "image": "example.org/a:1"}],
            "priorityClassName": unique_name,
        },
    }
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": unique_name},
        "value": 7,
    }
    seen = Seen(cluster)
    with pytest.raises(errors.Rejected, match="no PriorityClass with name"):
        k8s_cr.instantiate(make_request(seen), make_package(pod))
    assert [] == seen.written

    k8s_cr.instantiate(make_request(), make_package(pod, high))

    live = cluster.get(ObjectRef("", "Pod", namespace, "p"))
    assert 7 == live["spec"]["priority"]
    terminate()


# -- Foreign fields ----------------------------------------------------------


@pytest.mark.requirement("P6", "B7", "G4")
def test_fields_of_other_managers_are_ignored_forced_or_refused(
    cluster, namespace, make_package, make_request, terminate
):
    """By operation and by object; path and manager are named."""
    web = ObjectRef("apps", "Deployment", namespace, "web")
    config = ObjectRef("", "ConfigMap", namespace, "a")

    def package(value, **annotations):
        deployment = manifests.deployment("web")
        spec = deployment["spec"]["template"]["spec"]
        spec["containers"][0]["image"] = f"example.org/a:{value}"
        spec["terminationGracePeriodSeconds"] = value
        given = manifests.config_map("a", **{"a.b": f"{value}", "c": "c"})
        return make_package(deployment, annotate(given, **annotations))

    k8s_cr.instantiate(make_request(), package(1))
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

    with pytest.raises(errors.DryRunFailed) as caught:
        k8s_cr.change(make_request(), package(2))
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

    leave = k8s_cr.Options(field_conflicts="ignore")
    report = k8s_cr.change(make_request(options=leave), package(3))
    notes = {row.ref.name: row.notes for row in report.objects}
    assert {
        "web": (f"field {path} is left to editor",),
        "a": ("field data.a.b is left to editor",),
    } == notes
    assert ("example.org/b:1", 3, "theirs") == now()
    # An annotation wins, either way round.
    k8s_cr.change(
        make_request(options=leave), package(4, field_conflicts="force")
    )
    assert ("example.org/b:1", 4, "4") == now()
    cluster.apply(theirs, "editor", force=True)
    take = k8s_cr.Options(field_conflicts="force")
    k8s_cr.change(
        make_request(options=take), package(5, field_conflicts="ignore")
    )
    assert ("example.org/a:5", 5, "theirs") == now()
    terminate()


@pytest.mark.parametrize("field_conflicts", ["fail", "force", "ignore"])
@pytest.mark.requirement("P7")
def test_a_number_of_an_autoscaler_is_left_to_it(
    cluster, namespace, make_package, make_request, field_conflicts, terminate
):
    """Applying a package again does not shrink anything."""
    web = ObjectRef("apps", "Deployment", namespace, "web")
    k8s_cr.instantiate(
        make_request(), make_package(manifests.deployment("web", 1))
    )
    cluster.patch(
        web,
        {"spec": {"replicas": 3}},
        "kube-controller-manager",
        subresource="scale",
    )

    k8s_cr.change(
        make_request(options=k8s_cr.Options(field_conflicts=field_conflicts)),
        make_package(manifests.deployment("web", 1, nodeName="")),
    )

    live = cluster.get(web)
    assert 3 == live["spec"]["replicas"]
    terminate()
