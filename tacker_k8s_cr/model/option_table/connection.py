"""Options that name the cluster, and how long an operation may take."""

from __future__ import annotations

from tacker_k8s_cr.model.option_table.option import COMMANDS
from tacker_k8s_cr.model.option_table.option import OPERATIONS
from tacker_k8s_cr.model.option_table.option import WAITS
from tacker_k8s_cr.model.option_table.option import YEAR
from tacker_k8s_cr.model.option_table.option import Option
from tacker_k8s_cr.model.option_table.option import Type

TIMEOUTS = tuple(
    Option(
        f"{operation}_timeout",
        Type.SECONDS,
        f"time limit in seconds of {what}",
        note=note,
        default=1800,
        maximum=YEAR,
        conf=True,
    )
    for operation, what, note in (
        ("instantiate", "an instantiation", ""),
        ("scale", "a scale", ""),
        ("heal", "a heal", ""),
        ("change", "a change of package, or of its rollback", ""),
        (
            "terminate",
            "a termination",
            "The time-out of a graceful termination is added.",
        ),
    )
)

DURATIONS = (
    *TIMEOUTS,
    Option(
        "timeout",
        Type.SECONDS,
        "time limit of the whole operation",
        note="It overrides the option of the operation.",
        default="30m",
        request=OPERATIONS,
        commands=COMMANDS,
        section="cluster",
        metavar="TIME",
    ),
    Option(
        "stall_timeout",
        Type.SECONDS,
        "time after which an object that shows the same error, and makes no "
        "progress, fails the operation",
        note="An annotation on the object takes precedence.",
        default=300,
        shown_default="5m",
        maximum=YEAR,
        conf=True,
        request=OPERATIONS,
        commands=(*WAITS, "forecast", "rollback"),
        metavar="TIME",
    ),
)

CONNECTION = (
    Option(
        "kubeconfig",
        Type.TEXT,
        "kubeconfig file, or several separated by ':'",
        shown_default="$KUBECONFIG, ~/.kube/config, the service account of "
        "the Pod",
        commands=COMMANDS,
        section="cluster",
        metavar="FILE",
    ),
    Option(
        "context",
        Type.TEXT,
        "context of the kubeconfig",
        shown_default="current-context",
        commands=COMMANDS,
        section="cluster",
        metavar="CONTEXT",
    ),
    Option(
        "insecure",
        Type.FLAG,
        "no verification of the certificates of API servers",
        note="Credentials are also sent to servers with an http URL. "
        "Otherwise a VIM without ssl_ca_cert is verified with the system's "
        "certificates, and one without TLS is refused.",
        default=False,
        conf=True,
        commands=COMMANDS,
        section="cluster",
    ),
    Option(
        "pool_size",
        Type.INTEGER,
        "parallel requests of one operation to one API server",
        default=16,
        minimum=1,
        maximum=256,
        conf=True,
    ),
    Option(
        "oidc_scope",
        Type.TEXT,
        "scope requested from the OpenID provider of a VIM",
        note="With ``openid offline_access`` some providers return a refresh "
        "token, so that the password is sent less often.",
        default="openid",
        conf=True,
    ),
    Option(
        "oidc_ca_file",
        Type.TEXT,
        "CA certificates, in PEM, that verify the OpenID providers of VIMs",
        note="They replace the VIM's ssl_ca_cert and the system's "
        "certificates. Providers are always verified.",
        conf=True,
    ),
)
