"""Webhooks that a real API server cannot call: shown, and given up in time."""

from __future__ import annotations

import re

import pytest

import tacker_k8s_cr as k8s_cr
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model import objects
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.plan.options import Options
from tests.faults.webhook_server import WebhookServer
from tests.functional import manifests
from tests.functional import test_cli

pytestmark = pytest.mark.plane

environ = test_cli.environ
files = test_cli.files
run = test_cli.run


@pytest.fixture
def webhook_server(tmp_path):
    """A webhook that is listening, whose certificate is for 127.0.0.1."""
    found = WebhookServer(tmp_path)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def configured(cluster, namespace, unique_name, deadline):
    """Make the server call a webhook for each new ConfigMap of the test.

    That takes effect after a moment; the answer then is returned.
    """
    made = []

    def _configured(client):
        obj = cluster.create(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": unique_name},
                "webhooks": [
                    {
                        "name": f"{unique_name}.example.org",
                        "admissionReviewVersions": ["v1"],
                        "sideEffects": "None",
                        "clientConfig": client,
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
        made.append((ObjectRef.of(obj), objects.uid(obj)))
        trial = manifests.config_map("trial", namespace)
        while not deadline.expired:
            try:
                cluster.apply(trial, "tests", dry_run=True)
            except errors.DependencyMissing as error:
                return error
        raise AssertionError("the webhook is not asked")

    yield _configured
    for ref, uid in made:
        cluster.delete(ref, uid)


def elsewhere(hook, name):
    """The same server by a name that its certificate does not have."""
    url = hook.client["url"].replace("127.0.0.1", name)
    return {**hook.client, "url": url}


def package(packed):
    return packed(manifests.deployment("web"), manifests.config_map("a"))


def test_a_certificate_for_another_name_is_not_waited_for(
    make_request, make_package, webhook_server, configured, terminate, deadline
):
    """It is given up as soon as no other object is in progress."""
    found = configured(elsewhere(webhook_server, "localhost"))
    assert errors.Outlook.NONE is found.outlook

    with pytest.raises(errors.ObjectsFailed) as caught:
        k8s_cr.instantiate(make_request(), package(make_package))

    assert deadline.remaining > 400
    (item,) = caught.value.pending
    assert "a" == item.ref.name
    assert "localhost" in item.verdict.reason
    terminate()


def test_an_authority_that_stays_unknown_ends_it(
    make_request, make_package, webhook_server, configured, terminate
):
    """After the stall timeout, in which it might have been injected."""
    found = configured({"url": webhook_server.client["url"]})
    assert errors.Outlook.DOUBTFUL is found.outlook
    seen = []

    with pytest.raises(
        errors.ObjectsFailed, match="unknown authority"
    ) as caught:
        k8s_cr.instantiate(
            make_request(
                options=Options(stall_timeout=2.0), on_progress=seen.append
            ),
            make_package(manifests.config_map("a")),
        )

    assert caught.value.pending[0].age >= 2
    retried = [p.unwritten for p in seen if p.unwritten]
    assert {"stall timeout"} == {
        retry.limit for some in retried for retry in some.values()
    }
    terminate()


def test_an_injected_authority_is_not_an_error(
    cluster,
    make_package,
    make_request,
    unique_name,
    webhook_server,
    configured,
    terminate,
):
    """What injects it does so when it has seen the configuration."""
    configured({"url": webhook_server.client["url"]})
    ref = ObjectRef(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        "",
        unique_name,
    )

    def inject(progress):
        if progress.unwritten:
            obj = cluster.get(ref)
            obj["webhooks"][0]["clientConfig"] = webhook_server.client
            cluster.patch(ref, {"webhooks": obj["webhooks"]}, "injector")

    report = k8s_cr.instantiate(
        make_request(on_progress=inject),
        make_package(manifests.config_map("a")),
    )

    assert 1 == len(report.objects)
    terminate()


def test_the_command_shows_what_is_not_written_and_why(
    run, files, unique_name, configured
):
    """And ends with the code of a time-out, though nothing is open."""
    found = configured({"url": "https://127.0.0.1:1/validate"})
    assert errors.Outlook.OPEN is found.outlook
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "web"},
    }
    path = files(account, manifests.config_map("a"), manifests.config_map("b"))

    done = test_cli.timed_out(
        *(run, "instantiate", unique_name, path),
        reached=lambda ended: "1 of 3 current" in ended.err,
    )

    assert 4 == done.code
    assert "checking 3 objects (dry run)" in done.err
    assert re.search(
        r"1 of 3 current; 2 not written yet: "
        rf"webhook {unique_name}\.example\.org: "
        r".*connection refused; retrying until .* \(deadline\)",
        done.err,
    )
    assert "connection refused" in done.value["message"]
    assert "the deadline passed" in done.value["message"]
    assert {"a", "b"} == {item["name"] for item in done.value["not_written"]}
    assert 0 == run("terminate", unique_name).code
