"""Options on the delivery of kubeconfigs, and of Tacker's driver alone."""

from __future__ import annotations

from tacker_k8s_cr.model.option_table.option import CHANGES
from tacker_k8s_cr.model.option_table.option import WAITS
from tacker_k8s_cr.model.option_table.option import YEAR
from tacker_k8s_cr.model.option_table.option import Option
from tacker_k8s_cr.model.option_table.option import Type

_REQUEST = "A request takes precedence over tacker.conf."

DELIVERY = (
    Option(
        "webhook",
        Type.GROUP,
        "delivery of kubeconfigs by the management driver",
        note="All but renew is kept for the life of the instance.",
        request=WAITS,
    ),
    Option(
        "webhook.url",
        Type.URL,
        "URL to which the management driver kubeconfig-webhook posts",
        note=_REQUEST,
        conf=True,
        request=CHANGES,
    ),
    Option(
        "webhook.api_check",
        Type.CHOICE,
        "check of the API of a workload cluster before its kubeconfig is "
        "posted",
        {
            "require": "Nothing is posted before the API answers.",
            "try": "If it does not answer, a warning is logged.",
            "skip": "The API is not checked.",
        },
        default="require",
        conf=True,
        request=CHANGES,
    ),
    Option(
        "webhook.credential",
        Type.CHOICE,
        "credential in the kubeconfig",
        {
            "admin": "The administrator's, as created by Cluster API.",
            "scoped": "That of a service account in the workload cluster. It "
            "can be revoked, and a VIM can be registered with it.",
        },
        note=_REQUEST,
        default="admin",
        conf=True,
        request=CHANGES,
    ),
    Option(
        "webhook.role",
        Type.ROLE,
        "ClusterRole of the service account of the scoped credential",
        note=f"It must exist in the workload cluster. {_REQUEST}",
        default="cluster-admin",
        conf=True,
        request=CHANGES,
    ),
    Option(
        "webhook.expires_after",
        Type.LIFETIME,
        "lifetime in seconds, 600 or more, of the token of the scoped "
        "credential",
        note=f"Without it, or with 0 in tacker.conf, the token is valid "
        f"until it is revoked. {_REQUEST}",
        default=0,
        maximum=YEAR,
        conf=True,
        request=CHANGES,
    ),
    Option(
        "webhook.renew",
        Type.FLAG,
        "new kubeconfigs, created and delivered by this operation",
        request=("change", "scale", "heal"),
    ),
)

RECEIVER = tuple(
    Option(
        f"webhook_{name}",
        kind,
        text,
        note=note,
        default=default,
        maximum=YEAR if kind is Type.SECONDS else None,
        conf=True,
    )
    for name, kind, text, note, default in (
        (
            "timeout",
            Type.SECONDS,
            "time limit in seconds of the delivery of the kubeconfigs of one "
            "VNF instance",
            "It includes waiting for them, the check of the API and posting.",
            600,
        ),
        (
            "secret",
            Type.SECRET,
            "key that signs messages, in base64",
            "The prefix ``whsec_`` is optional.",
            None,
        ),
        (
            "secret_file",
            Type.TEXT,
            "file with such keys, one per line, instead of webhook_secret",
            "Each key creates a signature, so that a key can be rotated.",
            None,
        ),
        ("token", Type.SECRET, "bearer token for the receiver", "", None),
        (
            "token_file",
            Type.TEXT,
            "file with the bearer token, instead of webhook_token",
            "",
            None,
        ),
        (
            "user",
            Type.TEXT,
            "user of basic authentication, instead of a token",
            "",
            None,
        ),
        ("password", Type.SECRET, "password of that user", "", None),
        (
            "password_file",
            Type.TEXT,
            "file with the password, instead of webhook_password",
            "",
            None,
        ),
        (
            "ca_file",
            Type.TEXT,
            "CA certificates, in PEM, that verify the receiver",
            "They replace those of certifi.",
            None,
        ),
        (
            "insecure",
            Type.FLAG,
            "no verification of the receiver's certificate",
            "",
            False,
        ),
        (
            "allow_http",
            Type.FLAG,
            "messages, which contain credentials, without TLS",
            "",
            False,
        ),
    )
)

DRIVER = (
    Option(
        "v2",
        Type.FLAG,
        "support of Tacker's v2 API",
        note="VIMs of the type ETSINFV.KUBERNETES.V_1 get this driver "
        "instead of Tacker's own. Read when the conductor starts.",
        default=True,
        conf=True,
    ),
    Option(
        "allow_http_manifests",
        Type.FLAG,
        "manifests that a request names by https and http URLs",
        note="They must be artifacts of the package, with a hash. The "
        "conductor downloads them.",
        default=False,
        conf=True,
    ),
    Option(
        "adopt_instances",
        Type.FLAG,
        "adoption of instances of Tacker's own Kubernetes driver at the next "
        "synchronization of Tacker's database",
        note="Their objects stay as they are; this driver serves all further "
        "operations. The command ``tacker-k8s-cr adopt`` does the same at "
        "once.",
        default=False,
        conf=True,
    ),
)
