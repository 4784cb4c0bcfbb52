"""What outlives an instance, and what stays with it."""

from __future__ import annotations

from tacker_k8s_cr.engine import retained_objects
from tacker_k8s_cr.kinds import policy
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan import dependencies
from tests.functional import manifests

GROUP = "test.example.org"
THING = ObjectRef(
    "apiextensions.k8s.io", "CustomResourceDefinition", "", f"things.{GROUP}"
)
OTHER = ObjectRef(
    "apiextensions.k8s.io", "CustomResourceDefinition", "", f"others.{GROUP}"
)
ADMISSION = "admissionregistration.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io"


def at(namespace, manifest, **annotations):
    metadata = {**manifest["metadata"]}
    if namespace:
        metadata["namespace"] = namespace
    said = {
        objects.PREFIX + k.replace("_", "-"): v for k, v in annotations.items()
    }
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **said}
    return {**manifest, "metadata": metadata}


def role(kind, name, namespace, *rules):
    return at(
        namespace,
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": kind,
            "metadata": {"name": name},
            "rules": [
                {"apiGroups": [g], "resources": [r], "verbs": ["*"]}
                for g, r in rules
            ],
        },
    )


def bound(name, role_kind, role_name, account, kind="ClusterRoleBinding"):
    return at(
        "sys" if kind == "RoleBinding" else "",
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": kind,
            "metadata": {"name": name},
            "roleRef": {"kind": role_kind, "name": role_name},
            "subjects": [
                {
                    "kind": "ServiceAccount",
                    "name": account,
                    "namespace": "sys",
                }
            ],
        },
    )


def operator(name="operator", account="operator", **pod):
    return at(
        "sys", manifests.deployment(name, serviceAccountName=account, **pod)
    )


def hook(service, plural="things", group=GROUP):
    return {
        "apiVersion": ADMISSION,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {
            "name": "hook",
            "annotations": {"cert-manager.io/inject-ca-from": "sys/cert"},
        },
        "webhooks": [
            {
                "rules": [{"apiGroups": [group], "resources": [plural]}],
                "clientConfig": {
                    "service": {"name": service, "namespace": "sys"}
                },
            }
        ],
    }


def service(name, **selector):
    return at(
        "sys",
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {"selector": selector},
        },
    )


def account(name):
    return at(
        "sys",
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name},
        },
    )


def secret(name):
    return at(
        "sys",
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}},
    )


def certificate(name, makes):
    return at(
        "sys",
        {
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": {"name": name},
            "spec": {"secretName": makes},
        },
    )


def package(*given):
    return {ObjectRef.of(manifest): manifest for manifest in given}


def retained(found, *asked, policy=policy.DEFAULT, **said):
    """Kinds and names of what stays."""
    wanted = dict.fromkeys(asked, True)
    chosen = retained_objects.retention_choices(
        found, found, policy, {**wanted, **said}
    )
    stays = retained_objects.find_retained(found, found, chosen)
    return {f"{ref.kind}/{ref.name}" for ref in stays}


OPERATOR = (
    manifests.namespace("sys"),
    manifests.definition(GROUP, "Thing"),
    manifests.definition(GROUP, "Other"),
    account("operator"),
    role("ClusterRole", "works", "", (GROUP, "things"), (GROUP, "others")),
    bound("works", "ClusterRole", "works", "operator"),
    role("Role", "leads", "sys", ("", "configmaps")),
    bound("leads", "Role", "leads", "operator", "RoleBinding"),
    operator(
        volumes=[{"name": "c", "secret": {"secretName": "served"}}],
        imagePullSecrets=[{"name": "pull"}],
    ),
    secret("pull"),
    certificate("cert", "served"),
    service("hooks", app="operator"),
    hook("hooks"),
    at("sys", manifests.config_map("settings")),
)
BESIDE = (
    at("sys", manifests.deployment("web")),
    secret("of-web"),
    at("elsewhere", manifests.config_map("settings-elsewhere")),
    at("sys", manifests.custom(GROUP, "Thing", "one")),
    role("ClusterRole", "unused", "", ("", "pods")),
)


def test_nothing_is_retained_by_default():
    """Everything of an instance is deleted with it."""
    assert set() == retained(package(*OPERATOR, *BESIDE))


def test_with_a_definition_stays_all_that_serves_it():
    """Operator, account, rights, webhook, certificate, place."""
    assert {
        "Namespace/sys",
        f"CustomResourceDefinition/things.{GROUP}",
        f"CustomResourceDefinition/others.{GROUP}",
        "ServiceAccount/operator",
        "ClusterRole/works",
        "ClusterRoleBinding/works",
        "Role/leads",
        "RoleBinding/leads",
        "Deployment/operator",
        "Secret/pull",
        "Certificate/cert",
        "Service/hooks",
        "ValidatingWebhookConfiguration/hook",
        "ConfigMap/settings",
    } == retained(package(*OPERATOR, *BESIDE), THING)


def test_an_operator_with_foreign_permissions_serves_those_kinds():
    """A role that the package does not bring may allow everything."""
    found = package(
        manifests.definition(GROUP, "Thing"),
        operator(),
        bound("all", "ClusterRole", "cluster-admin", "operator"),
        operator("watcher", "watcher"),
        bound("some", "ClusterRole", "view", "watcher"),
    )

    assert {
        f"CustomResourceDefinition/things.{GROUP}",
        "Deployment/operator",
        "ClusterRoleBinding/all",
    } == retained(found, THING)


def test_rights_that_are_put_together_count():
    """Cluster API's managers have their rights by aggregation."""
    whole = {
        **role("ClusterRole", "whole", ""),
        "aggregationRule": {
            "clusterRoleSelectors": [{"matchLabels": {"of": "whole"}}]
        },
    }
    part = role("ClusterRole", "part", "", (GROUP, "things/status"))
    part["metadata"]["labels"] = {"of": "whole"}
    found = package(
        manifests.definition(GROUP, "Thing"),
        operator(),
        whole,
        part,
        bound("works", "ClusterRole", "whole", "operator"),
    )

    assert {"ClusterRole/part", "Deployment/operator"} <= retained(
        found, THING
    )


def test_a_reader_of_a_kind_does_not_serve_it():
    """A dashboard does not have to stay."""
    looks = role("ClusterRole", "looks", "", (GROUP, "things"))
    looks["rules"][0]["verbs"] = ["get", "list", "watch"]
    found = package(
        manifests.definition(GROUP, "Thing"),
        operator(),
        looks,
        bound("looks", "ClusterRole", "looks", "operator"),
    )

    assert {f"CustomResourceDefinition/things.{GROUP}"} == retained(
        found, THING
    )


def test_a_conversion_webhook_stays():
    """Without it the objects of the kind cannot even be read."""
    defined = manifests.definition(GROUP, "Thing")
    defined["spec"]["conversion"] = {
        "webhook": {
            "clientConfig": {"service": {"name": "hooks", "namespace": "sys"}}
        }
    }
    found = package(
        defined, service("hooks", app="converter"), operator("converter")
    )

    assert {"Service/hooks", "Deployment/converter"} <= retained(found, THING)


def test_what_stays_keeps_its_definition_and_its_place():
    """These would take it along."""
    one = ObjectRef(GROUP, "Thing", "sys", "one")

    stays = retained(package(*OPERATOR, *BESIDE), one)

    assert {
        "Thing/one",
        "Namespace/sys",
        f"CustomResourceDefinition/things.{GROUP}",
    } <= stays


def test_an_annotation_wins_over_the_policy_and_the_request_over_both():
    """The most particular word counts, of who speaks last."""
    claims = GroupKind("", "ConfigMap")
    found = package(
        at("a", manifests.config_map("kept"), on_terminate="keep"),
        at("a", manifests.config_map("goes"), on_terminate="delete"),
        at("a", manifests.config_map("open")),
    )
    said = policy.from_dict({"on_terminate": {"keep": ["ConfigMap"]}})

    assert {"ConfigMap/kept"} == retained(found)
    assert {"ConfigMap/kept", "ConfigMap/open"} == retained(found, policy=said)
    assert set() == {
        ref.name
        for ref, (stays, _) in retained_objects.retention_choices(
            found, found, said, {claims: False}
        ).items()
        if stays
    }


def test_an_explicit_deletion_wins_over_a_dependency():
    """But not what would take along the one that needs it."""
    found = package(
        manifests.namespace("sys"),
        at(
            "sys",
            manifests.deployment(
                "web", volumes=[{"configMap": {"name": "c"}}]
            ),
        ),
        at("sys", manifests.config_map("c"), on_terminate="delete"),
    )
    found[ObjectRef("", "Namespace", "", "sys")]["metadata"]["annotations"] = {
        objects.PREFIX + "on-terminate": "delete"
    }

    assert {"Deployment/web", "Namespace/sys"} == retained(
        found, ObjectRef("apps", "Deployment", "sys", "web")
    )


def test_a_policy_on_terminate_survives_a_round_trip():
    """It is kept with the record."""
    given = {"keep": [f"Thing.{GROUP}"], "delete": ["ConfigMap/a/b"]}
    said = policy.from_dict({"on_terminate": given})

    assert said == policy.from_dict(said.as_dict())
    assert given == said.as_dict()["on_terminate"]


def test_malformed_manifests_serve_no_object():
    """What the server took may still be of a strange shape."""
    found = package(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "b"},
            "spec": {"template": {"spec": {"containers": None}}},
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "c"},
        },
    )

    assert {} == dependencies.dependencies_of(found)


def test_a_repeated_terminate_retains_the_same():
    """Only its own request wins over what was recorded."""
    found = package(
        at("a", manifests.config_map("one"), on_terminate="delete"),
        at("a", manifests.config_map("two")),
    )
    one, two = sorted(found)
    before = policy.Policy(on_terminate={one: True, two: True})

    def stays(asked):
        said = retained_objects.retention_choices(
            found, found, before, asked, repeated=True
        )
        return {ref.name for ref, (retained, _) in said.items() if retained}

    assert {"one", "two"} == stays({})
    assert {"one"} == stays({two: False})
    assert set() == stays({GroupKind("", "ConfigMap"): False})


def test_the_configuration_decides_by_default():
    """As it is when the instance ends; all else wins over it."""
    found = package(
        at("a", manifests.config_map("one"), on_terminate="delete"),
        at("a", manifests.config_map("two")),
        at("a", manifests.config_map("three")),
        at("a", manifests.config_map("four")),
    )
    refs = {ref.name: ref for ref in found}
    before = policy.Policy(on_terminate={refs["two"]: False})
    usual = {GroupKind("", "ConfigMap"): True}

    said = retained_objects.retention_choices(
        found, found, before, {refs["three"]: False}, usual
    )

    assert {
        "one": (False, "specified by its annotation"),
        "two": (False, "specified by the policy"),
        "three": (False, "specified by the request"),
        "four": (True, "specified by the configuration"),
    } == {ref.name: value for ref, value in said.items()}
