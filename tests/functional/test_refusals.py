"""What is refused is refused before anything is written."""

from __future__ import annotations

import copy

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.kinds.removed_versions import REMOVED
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests.calls import call
from tests.functional import manifests

pytestmark = pytest.mark.plane


@pytest.fixture
def refused(
    cluster,
    namespace,
    make_package,
    deadline,
    unique_name,
    leftover_objects,
):
    """Instantiate, expect the error, and show that nothing was written."""

    def attempt(error, *documents, **more):
        with pytest.raises(error) as caught:
            call(
                k8s_cr.instantiate,
                cluster,
                unique_name,
                make_package(*documents),
                namespace=more.pop("namespace", namespace),
                deadline=deadline,
                **more,
            )
        assert () == caught.value.written
        assert [] == leftover_objects(unique_name, namespace)
        return caught.value

    return attempt


@pytest.mark.requirement("TK-24", "T3", "A7")
def test_an_unknown_kind(refused):
    """Kind and file are named, all of them at once."""
    error = refused(
        errors.KindNotServed,
        manifests.config_map("a"),
        manifests.custom("absent.example.org", "Thing", "x"),
        manifests.custom("absent.example.org", "Other", "y"),
    )

    assert "document 2" in str(error)
    assert "Thing.absent.example.org" in str(error)
    assert "Other.absent.example.org" in str(error)


@pytest.mark.parametrize("key", REMOVED, ids=lambda key: f"{key[0]}-{key[1]}")
def test_a_version_that_was_removed(cluster, key):
    """No server of today has it, and each has what replaced it."""
    kind, version = key
    with pytest.raises(errors.KindNotServed):
        cluster.resource(kind, version)

    group, instead = objects.split_api_version(REMOVED[key].replacement)
    if " " not in REMOVED[key].replacement:
        found = cluster.resource(GroupKind(group, kind.kind), instead)
        assert REMOVED[key].replacement == found.api_version


def test_a_kind_in_the_group_of_another(refused):
    """What the server has is suggested, by the file that is wrong."""
    web = {**manifests.deployment("web"), "apiVersion": "v1"}

    assert (
        refused(errors.KindNotServed, web)
        .outcome()
        .endswith(
            "a.yaml: the server does not serve Deployment v1, and the package "
            "does not contain its definition; did you mean apps/v1?"
        )
    )


def test_a_version_that_is_not_served(refused):
    """The versions that are served are named."""
    old = {**manifests.deployment("web"), "apiVersion": "apps/v1beta1"}

    assert "is served at v1, not at v1beta1" in str(
        refused(errors.KindNotServed, old)
    )


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_field_that_no_schema_has(refused, namespace, dry_run):
    """File, document, object and field are named, and no fault of a server.

    So it is whether the dry run finds it or the first write.
    """
    web = manifests.deployment("web")
    web["spec"]["foo"] = 1

    error = refused(
        errors.Rejected,
        manifests.config_map("a"),
        web,
        options=k8s_cr.Options(dry_run=dry_run),
    )

    said = (
        f"a.yaml, document 2: Deployment.apps/{namespace}/web: unknown field "
        "spec.foo"
    )
    if not dry_run:
        said += "\nCreated before that, and deleted again: 1 object(s)"
    assert error.outcome().endswith(said)


def test_fields_that_no_schema_has_in_many_objects(refused, namespace):
    """One line, with the first objects and their documents."""
    objs = [manifests.config_map(f"c{n}") for n in range(6)]

    error = refused(
        errors.DryRunFailed, *({**obj, "datta": {}} for obj in objs)
    )

    assert str(error).startswith("unknown field datta (6 objects: ")
    assert f"a.yaml, document 1: ConfigMap/{namespace}/c0; " in str(error)
    assert error.outcome().endswith("; and 3 more)")
    assert 6 == len(error.details)


def test_an_absent_namespace(refused):
    """The object's place in the package is named."""
    error = refused(
        errors.NamespaceNotFound, manifests.config_map("a", "no-such-place")
    )

    assert ["no-such-place"] == list(error.missing)
    assert "a.yaml: namespace no-such-place" in str(error)


def test_an_absent_record_namespace(refused):
    """The same, if the operator named one that does not exist."""
    refused(
        errors.NamespaceNotFound,
        manifests.config_map("a"),
        namespace="no-such-place",
    )


@pytest.mark.requirement("T8", "P20", "B8", "XO-23")
def test_an_object_of_another_manager(refused, cluster, namespace):
    """The owner is named, and the object left as it was."""
    made = cluster.create(
        manifests.config_map("a", namespace, key="theirs"), "kubectl-create"
    )

    error = refused(errors.OwnedByOther, manifests.config_map("a", key="ours"))

    assert "kubectl-create" in str(error)
    assert made == cluster.get(ObjectRef("", "ConfigMap", namespace, "a"))


@pytest.mark.requirement("T8", "P20", "B8")
def test_an_object_of_another_instance(
    refused, cluster, make_request, make_package
):
    """The other instance is named."""
    package = make_package(
        manifests.config_map("a", key="theirs"), name="other"
    )
    k8s_cr.instantiate(make_request(cluster, "the-other-one"), package)

    error = refused(errors.OwnedByOther, manifests.config_map("a", key="ours"))

    assert "the instance the-other-one" in str(error)
    k8s_cr.terminate(make_request(cluster, "the-other-one"))


def test_an_object_that_is_just_as_we_want_it_is_shared(
    cluster, namespace, make_package, make_request
):
    """It is used, and neither written nor ever deleted."""
    made = cluster.create(
        manifests.config_map("a", namespace), "other-manager"
    )

    report = k8s_cr.instantiate(
        make_request(),
        make_package(manifests.config_map("a"), manifests.config_map("b")),
    )

    assert {"a": "shared", "b": "created"} == {
        row.ref.name: row.action.value for row in report.objects
    }
    k8s_cr.terminate(make_request())
    assert made == cluster.get(ObjectRef("", "ConfigMap", namespace, "a"))


class Meddled:
    """A cluster where another client writes first, just before an apply."""

    def __init__(self, cluster, act):
        self._cluster = cluster
        self._act = act

    def __getattr__(self, name):
        return getattr(self._cluster, name)

    def with_deadline(self, deadline):
        return Meddled(self._cluster.with_deadline(deadline), self._act)

    def apply(self, manifest, manager, *, dry_run=False, **more):
        if not dry_run:
            self._act(manifest)
        return self._cluster.apply(manifest, manager, dry_run=dry_run, **more)


def test_an_object_made_between_our_check_and_our_apply(
    cluster,
    namespace,
    make_package,
    make_request,
    unique_name,
    leftover_objects,
):
    """It is left as it was, except what the server keeps of a request."""
    theirs = manifests.config_map("b", namespace, key="theirs")
    made = []

    def act(manifest):
        if manifest["metadata"]["name"] == "b" and not made:
            made.append(cluster.create(copy.deepcopy(theirs), "other-manager"))

    with pytest.raises(errors.OwnedByOther, match="other-manager") as caught:
        k8s_cr.instantiate(
            make_request(Meddled(cluster, act)),
            make_package(
                manifests.config_map("a"), manifests.config_map("b", x="ours")
            ),
        )

    assert () == caught.value.written
    assert [] == leftover_objects(unique_name, namespace)
    left = cluster.get(ObjectRef("", "ConfigMap", namespace, "b"))
    assert {"key": "theirs"} == left["data"]
    assert ["other-manager"] == [
        entry["manager"] for entry in left["metadata"]["managedFields"]
    ]


@pytest.mark.requirement("A5")
def test_a_field_that_the_kind_does_not_have(refused):
    """A typing error is found before the first write."""
    wrong = manifests.deployment("web")
    wrong["spec"]["replica"] = 3

    assert "spec.replica" in str(
        refused(errors.Rejected, manifests.config_map("a"), wrong)
    )


@pytest.mark.requirement("A5")
def test_all_refusals_are_reported_at_once(refused):
    """An author fixes a package in one round."""
    one = manifests.deployment("one", -1)
    two = manifests.deployment("two", -2)

    error = refused(errors.DryRunFailed, one, manifests.config_map("a"), two)

    assert 2 == len(error.refusals)
    assert "Deployment.apps/" in str(error)


def test_an_admission_policy_denies(
    refused, cluster, namespace, unique_name, deadline
):
    """Its own words come back."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": unique_name},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ]
            },
            "validations": [
                {
                    "expression": "!has(object.data.forbidden)",
                    "message": "no such thing in this house",
                }
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": unique_name},
        "spec": {
            "policyName": unique_name,
            "validationActions": ["Deny"],
            "matchResources": {
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": namespace}
                }
            },
        },
    }
    made = [cluster.create(obj, "tests") for obj in (policy, binding)]
    trial = manifests.config_map("trial", namespace, forbidden="x")
    try:
        # The server takes a moment to heed a new policy.
        while not deadline.expired:
            try:
                cluster.apply(trial, "tests", dry_run=True)
            except errors.Rejected:
                break
        error = refused(
            errors.Rejected, manifests.config_map("a", forbidden="x")
        )
        assert "no such thing in this house" in str(error)
    finally:
        for obj in made:
            cluster.delete(ObjectRef.of(obj), obj["metadata"]["uid"])


@pytest.mark.requirement("P6")
def test_a_conflict_names_field_and_manager(
    cluster, namespace, make_package, make_request
):
    """And nothing is forced unless that is asked for."""
    k8s_cr.instantiate(
        make_request(), make_package(manifests.config_map("a", key="one"))
    )
    cluster.apply(
        manifests.config_map("a", namespace, key="two"), "editor", force=True
    )
    again = make_package(manifests.config_map("a", key="three"))

    with pytest.raises(errors.FieldConflict) as caught:
        k8s_cr.change(make_request(), again)

    assert {"data.key": "editor"} == {
        path: owner.strip('"') for path, owner in caught.value.fields.items()
    }
    k8s_cr.change(
        make_request(options=k8s_cr.Options(field_conflicts="force")), again
    )
    ref = ObjectRef("", "ConfigMap", namespace, "a")
    assert "three" == cluster.get(ref)["data"]["key"]
    k8s_cr.terminate(make_request())


@pytest.mark.requirement("P23")
def test_no_value_of_a_secret_is_in_a_refusal(refused, namespace):
    """Not even where the server rejects that very value."""
    planted = "planted-5f2c9a"
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": planted},
    }

    error = refused(errors.Rejected, secret)

    assert planted not in str(error)
    assert planted not in repr(error)
    assert planted not in str(vars(error))
