"""What must not go with the objects that are to be deleted."""

from __future__ import annotations

import pytest

from tacker_k8s_cr.engine import delete
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model import record_names
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tests.fakes import FakeCluster
from tests.functional import manifests

GROUP = "test.example.org"
HOME = ObjectRef("", "Namespace", "", "home")
SET = ObjectRef("apps", "StatefulSet", "home", "db")


@pytest.fixture
def cluster():
    return FakeCluster()


@pytest.fixture
def home(cluster):
    """A namespace that is about to be deleted, as ``foreign`` expects it."""
    return made(cluster, manifests.namespace("home"))


def made(cluster, *given, namespace="", owner=None):
    """Make objects; they by reference, with their UIDs."""
    found = {}
    for manifest in given:
        metadata = {**manifest["metadata"]}
        if namespace:
            metadata["namespace"] = namespace
        if owner:
            metadata["ownerReferences"] = [owned_by(cluster, owner)]
        obj = cluster.create(
            {**manifest, "metadata": metadata}, "other-manager"
        )
        found[ObjectRef.of(obj)] = objects.uid(obj)
    return found


def owned_by(cluster, ref):
    obj = cluster.world.objects[ref].obj
    return {
        "apiVersion": obj["apiVersion"],
        "kind": ref.kind,
        "name": ref.name,
        "uid": objects.uid(obj),
    }


def defined(cluster, *kinds):
    found = {}
    for kind in kinds:
        found.update(made(cluster, manifests.definition(GROUP, kind)))
    return found


def thing(kind, name="x", namespace="default"):
    found = manifests.custom(GROUP, kind, name)
    return {**found, "metadata": {"name": name, "namespace": namespace}}


def thing_ref(kind, name="x", namespace="default"):
    return ObjectRef(GROUP, kind, namespace, name)


def claim(name):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {},
    }


def claim_ref(name):
    return ObjectRef("", "PersistentVolumeClaim", "home", name)


def stateful_set(*templates):
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {"volumeClaimTemplates": [claim(name) for name in templates]},
    }


def config_map_ref(name):
    return ObjectRef("", "ConfigMap", "home", name)


# -- Namespaces and definitions ----------------------------------------------


def test_an_object_of_the_deletion_is_not_foreign(cluster, home):
    """The UID decides."""
    ours = made(cluster, manifests.config_map("a", "home"))

    assert {} == delete.find_foreign_dependents(
        cluster, {**home, **ours}, "one"
    )


def test_an_object_in_a_namespace_being_deleted_is_foreign(cluster, home):
    """The reason names the namespace."""
    made(cluster, manifests.config_map("theirs", "home"))

    assert {
        config_map_ref("theirs"): "it would be deleted with Namespace/home"
    } == (delete.find_foreign_dependents(cluster, home, "one"))


def test_a_later_object_of_the_same_name_is_foreign(cluster, home):
    """A client deleted the first one, and created another of its name."""
    made(cluster, manifests.config_map("a", "home"))
    going = {**home, config_map_ref("a"): "the managed uid"}

    assert [config_map_ref("a")] == [
        *delete.find_foreign_dependents(cluster, going, "one")
    ]


def test_what_kubernetes_puts_into_a_namespace_is_usual(cluster, home):
    """Only by these very names."""
    made(cluster, manifests.config_map("kube-root-ca.crt", "home"))
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "home"},
    }
    made(cluster, account)

    assert {} == delete.find_foreign_dependents(cluster, home, "one")


def test_an_object_of_a_deleted_kind_is_foreign_in_any_namespace(cluster):
    """The definition takes all objects of its kind along."""
    going = defined(cluster, "Thing")
    made(cluster, thing("Thing"))

    assert [thing_ref("Thing")] == [
        *delete.find_foreign_dependents(cluster, going, "one")
    ]


def test_a_later_namespace_of_the_same_name_is_not_listed(cluster, home):
    """The first one is already deleted; its objects are too."""
    made(cluster, manifests.config_map("theirs", "home"))

    assert {} == delete.find_foreign_dependents(
        cluster, {HOME: "another uid"}, "one"
    )


def test_a_namespace_being_deleted_is_not_listed(cluster, home):
    """Refusing would not save what lies in it."""
    held = manifests.config_map("theirs", "home")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    made(cluster, held)
    cluster.delete(HOME, home[HOME])

    assert {} == delete.find_foreign_dependents(cluster, home, "one")


def test_a_definition_being_deleted_is_not_listed(cluster):
    """Nor is what it still has of its kind."""
    held = manifests.definition(GROUP, "Thing")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    going = made(cluster, held)
    (ref,) = going
    cluster.delete(ref, going[ref])
    made(cluster, thing("Thing"))

    assert {} == delete.find_foreign_dependents(cluster, going, "one")


def test_an_object_already_being_deleted_passes(cluster, home):
    """Another client requested its deletion."""
    held = manifests.config_map("theirs", "home")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    ((ref, uid),) = made(cluster, held).items()
    cluster.delete(ref, uid)

    assert {} == delete.find_foreign_dependents(cluster, home, "one")


# -- Records -----------------------------------------------------------------


def of_record(name, instance):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": "home",
            "labels": {record_names.LABEL: instance},
        },
    }


def test_the_record_of_another_instance_is_foreign(cluster, home):
    """Without it the objects of that instance would be unknown."""
    made(cluster, of_record("ours", "one"), of_record("theirs", "two"))

    assert [ObjectRef("", "Secret", "home", "theirs")] == [
        *delete.find_foreign_dependents(cluster, home, "one")
    ]


# -- Owners ------------------------------------------------------------------


def test_dependents_are_managed_through_kinds_of_one_package(cluster):
    """An operator's objects own each other across its definitions."""
    going = defined(cluster, "Cc", "Bb", "Aa")
    going.update(made(cluster, thing("Aa")))
    made(cluster, thing("Bb"), owner=thing_ref("Aa"))
    made(cluster, thing("Cc"), owner=thing_ref("Bb"))

    assert {} == delete.find_foreign_dependents(cluster, going, "one")


def test_an_owner_in_another_managed_namespace_counts(cluster, home):
    """All lists are read before any is judged."""
    going = {**home, **made(cluster, manifests.namespace("away"))}
    # A cluster-scoped kind would own across namespaces.
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
    }
    going.update(made(cluster, role))
    (role_ref,) = [ref for ref in going if ref.kind == "ClusterRole"]
    made(cluster, manifests.config_map("a", "home"), owner=role_ref)
    made(
        cluster,
        manifests.config_map("b", "away"),
        owner=config_map_ref("a"),
    )

    assert {} == delete.find_foreign_dependents(cluster, going, "one")


def test_an_owner_that_is_in_no_list_is_looked_up(cluster):
    """Ours owns a Pod, that one owns a resource of our definition."""
    going = defined(cluster, "Thing")
    going.update(made(cluster, manifests.config_map("ours", "default")))
    ours = ObjectRef("", "ConfigMap", "default", "ours")
    made(cluster, manifests.config_map("mid", "default"), owner=ours)
    middle = ObjectRef("", "ConfigMap", "default", "mid")
    made(cluster, thing("Thing"), owner=middle)

    assert {} == delete.find_foreign_dependents(cluster, going, "one")


def test_an_owner_of_another_uid_does_not_count(cluster):
    """The owner of that UID is deleted."""
    going = defined(cluster, "Thing")
    going.update(made(cluster, manifests.config_map("ours", "default")))
    ours = ObjectRef("", "ConfigMap", "default", "ours")
    made(cluster, manifests.config_map("mid", "default"), owner=ours)
    stale = {
        **owned_by(cluster, ObjectRef("", "ConfigMap", "default", "mid")),
        "uid": "another uid",
    }
    foreign = thing("Thing")
    foreign["metadata"]["ownerReferences"] = [stale]
    made(cluster, foreign)

    assert [thing_ref("Thing")] == [
        *delete.find_foreign_dependents(cluster, going, "one")
    ]


def test_an_owner_that_may_not_be_read_proves_nothing(cluster):
    """The object counts as foreign; nothing is deleted on a guess."""
    going = defined(cluster, "Thing")
    middle = ObjectRef("", "ConfigMap", "default", "mid")
    made(cluster, manifests.config_map("mid", "default"))
    made(cluster, thing("Thing"), owner=middle)
    cluster.fail(
        errors.Forbidden("get", "configmaps", "default", "no"), "get", middle
    )

    assert [thing_ref("Thing")] == [
        *delete.find_foreign_dependents(cluster, going, "one")
    ]


def test_a_cycle_of_owner_references_is_foreign(cluster, home):
    """And the search ends."""
    made(cluster, manifests.config_map("a", "home"))
    a = config_map_ref("a")
    made(cluster, manifests.config_map("b", "home"), owner=a)
    owner = owned_by(cluster, config_map_ref("b"))
    cluster.patch(
        a, {"metadata": {"ownerReferences": [owner]}}, "other-manager"
    )

    assert {a, config_map_ref("b")} == (
        delete.find_foreign_dependents(cluster, home, "one").keys()
    )


# -- Secrets of cert-manager -------------------------------------------------


def certificate(cluster, name="web"):
    """A Certificate of that group, whose definition stays."""
    cluster.create(
        manifests.definition("cert-manager.io", "Certificate"), "other-manager"
    )
    found = manifests.custom("cert-manager.io", "Certificate", name)
    return made(cluster, found, namespace="home")


def secret(cluster, **annotations):
    found = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "tls", "annotations": annotations},
    }
    return made(cluster, found, namespace="home")


def test_the_secret_of_a_managed_certificate_is_managed(cluster, home):
    """cert-manager sets no owner unless it is configured to."""
    going = {**home, **certificate(cluster)}
    secret(cluster, **{"cert-manager.io/certificate-name": "web"})

    assert {} == delete.find_foreign_dependents(cluster, going, "one")


def test_the_secret_of_a_deleted_managed_certificate_is_managed(cluster, home):
    """An earlier try has removed the Certificate; its Secret stays."""
    going = {**home, **certificate(cluster)}
    secret(cluster, **{"cert-manager.io/certificate-name": "web"})
    ((ref, uid),) = going.items() - home.items()
    cluster.delete(ref, uid)

    assert {} == delete.find_foreign_dependents(cluster, going, "one")


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        {"cert-manager.io/certificate-name": "other"},
        {"example.org/certificate-name": "web"},
    ],
)
def test_a_secret_of_another_certificate_is_foreign(
    cluster, home, annotations
):
    """Only the annotation counts; a similar name does not."""
    going = {**home, **certificate(cluster)}
    tls = secret(cluster, **annotations)

    assert [*tls] == [*delete.find_foreign_dependents(cluster, going, "one")]


def test_the_secret_of_a_later_certificate_of_that_name_is_foreign(
    cluster, home
):
    """The creator of that Certificate has its key there."""
    ours = certificate(cluster)
    going = {**home, **dict.fromkeys(ours, "the UID of an earlier one")}
    tls = secret(cluster, **{"cert-manager.io/certificate-name": "web"})

    assert {*tls, *ours} == {
        *delete.find_foreign_dependents(cluster, going, "one")
    }


# -- Claims ------------------------------------------------------------------


def test_the_claims_of_a_managed_stateful_set_are_managed(cluster, home):
    """They have no owner reference; their names are its templates'."""
    going = {**home, **made(cluster, stateful_set("data"), namespace="home")}
    made(cluster, claim("data-db-0"), claim("data-db-12"), namespace="home")

    assert {} == delete.find_foreign_dependents(cluster, going, "one")


@pytest.mark.parametrize(
    "name",
    [
        "data-db",
        "data-db-x",
        "data-db-01",
        "data-db-1-1",
        "data-db2-0",
        "data-dbb-0",
        "log-db-0",
        "x-data-db-0",
        "dataXdb-0",
    ],
)
def test_a_claim_of_a_similar_name_is_foreign(cluster, home, name):
    """The name is the template, the set and an ordinal, exactly."""
    going = {**home, **made(cluster, stateful_set("data"), namespace="home")}
    made(cluster, claim(name), namespace="home")

    assert [claim_ref(name)] == [
        *delete.find_foreign_dependents(cluster, going, "one")
    ]


def test_a_dot_in_the_name_of_a_set_is_a_dot(cluster, home):
    """Names are not patterns."""
    dotted = stateful_set("data")
    dotted["metadata"]["name"] = "d.b"
    going = {**home, **made(cluster, dotted, namespace="home")}
    made(cluster, claim("data-dxb-0"), namespace="home")

    assert [claim_ref("data-dxb-0")] == [
        *delete.find_foreign_dependents(cluster, going, "one")
    ]


def test_the_claims_of_a_deleted_managed_set_are_managed(cluster, home):
    """An earlier try has removed it; any template may have been its own."""
    going = {**home, SET: "uid"}
    made(cluster, claim("data-db-0"), claim("other-0"), namespace="home")

    assert [claim_ref("other-0")] == [
        *delete.find_foreign_dependents(cluster, going, "one")
    ]


def test_the_claims_of_a_later_set_of_that_name_are_foreign(cluster, home):
    """The creator of that StatefulSet has its data there."""
    made(cluster, stateful_set("data"), namespace="home")
    made(cluster, claim("data-db-0"), namespace="home")
    going = {**home, SET: "the managed uid"}

    assert {SET, claim_ref("data-db-0")} == (
        delete.find_foreign_dependents(cluster, going, "one").keys()
    )


def test_the_claims_of_a_dependent_set_are_managed(cluster, home):
    """A controller's StatefulSet is no less ours than one of the package."""
    going = {**home, **made(cluster, manifests.config_map("a", "home"))}
    made(
        cluster,
        stateful_set("data"),
        namespace="home",
        owner=config_map_ref("a"),
    )
    made(cluster, claim("data-db-0"), namespace="home")

    assert {} == delete.find_foreign_dependents(cluster, going, "one")


def test_dependents_of_a_managed_claim_are_managed(cluster, home):
    """A Pod that fills a claim belongs to it."""
    going = {**home, **made(cluster, stateful_set("data"), namespace="home")}
    made(cluster, claim("data-db-0"), namespace="home")
    made(
        cluster,
        manifests.config_map("fills", "home"),
        owner=claim_ref("data-db-0"),
    )

    assert {} == delete.find_foreign_dependents(cluster, going, "one")


# -- What may not be listed --------------------------------------------------


def test_a_kind_that_may_not_be_listed_is_named(cluster, home):
    """There may be objects of it; the other kinds are listed anyway."""
    made(cluster, manifests.config_map("theirs", "home"))
    cluster.fail(
        errors.Forbidden("list", "secrets", "home", "no"),
        "list",
        GroupKind("", "Secret"),
    )

    found = delete.find_foreign_dependents(cluster, home, "one")

    unknown = ObjectRef("", "Secret", "home", "*")
    assert {config_map_ref("theirs"), unknown} == found.keys()
    assert "may not be listed" in found[unknown]
    assert "Namespace/home" in found[unknown]


def test_a_deleted_kind_that_may_not_be_listed_is_named(cluster):
    """In all namespaces, so none is given."""
    going = defined(cluster, "Thing")
    cluster.fail(
        errors.Forbidden("list", "things", "", "no"),
        "list",
        GroupKind(GROUP, "Thing"),
    )

    assert [ObjectRef(GROUP, "Thing", "", "*")] == [
        *delete.find_foreign_dependents(cluster, going, "one")
    ]


def test_a_kind_that_the_server_serves_no_more_has_no_objects(cluster):
    """Its definition is there, but none of its versions is served."""
    going = defined(cluster, "Thing")
    cluster.world.kinds.pop(GroupKind(GROUP, "Thing"))

    assert {} == delete.find_foreign_dependents(cluster, going, "one")
