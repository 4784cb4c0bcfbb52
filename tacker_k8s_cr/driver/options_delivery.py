"""Options of the conductor's configuration file, on the delivery."""

from __future__ import annotations

from oslo_config import cfg

YEAR = 365 * 24 * 3600
"""Seconds: what a time may be at most."""

DELIVERY = (
    cfg.IntOpt(
        "webhook_timeout",
        default=600,
        min=1,
        max=YEAR,
        help="Seconds for the delivery of the kubeconfigs of one VNF "
        "instance: waiting for them, probing and posting.",
    ),
    cfg.StrOpt(
        "webhook_url",
        help="Where the management driver kubeconfig-webhook posts to, when "
        "a request does not say so.",
    ),
    cfg.StrOpt(
        "webhook_probe",
        default="require",
        choices=[
            ("require", "The API must answer before anything is posted."),
            ("try", "Post also when it does not answer; log a warning."),
            ("skip", "Do not ask."),
        ],
        help="Whether the API of a workload cluster is asked for an answer "
        "before its kubeconfig is posted.",
    ),
    cfg.StrOpt(
        "webhook_mode",
        default="admin",
        choices=[
            (
                "admin",
                "The administrator's kubeconfig, as Cluster API made it.",
            ),
            (
                "scoped",
                "One of a service account that is made in the workload "
                "cluster. It can be revoked, and a VIM can be registered "
                "with it.",
            ),
        ],
        help="Whose credential is sent, when a request does not say so.",
    ),
    cfg.StrOpt(
        "webhook_role",
        default="cluster-admin",
        help="ClusterRole of the service account of the mode scoped, when a "
        "request does not say so. It must be in the workload cluster.",
    ),
    cfg.IntOpt(
        "webhook_expires_after",
        default=0,
        min=0,
        max=YEAR,
        help="Seconds that its token lasts, 600 or more, when a request does "
        "not say so; 0 for a token that lasts until it is revoked.",
    ),
    cfg.StrOpt(
        "webhook_secret",
        secret=True,
        help="Key with which messages are signed, in base64, with or without "
        "the prefix ``whsec_``.",
    ),
    cfg.StrOpt(
        "webhook_secret_file",
        help="File with such keys, one on each line, in the place of "
        "webhook_secret. Each makes a signature, so that a key can be "
        "changed without a gap.",
    ),
    cfg.StrOpt(
        "webhook_token",
        secret=True,
        help="Bearer token for the receiver.",
    ),
    cfg.StrOpt(
        "webhook_token_file",
        help="File with the bearer token, in the place of webhook_token.",
    ),
    cfg.StrOpt(
        "webhook_user",
        help="User for basic authentication, in the place of a token.",
    ),
    cfg.StrOpt(
        "webhook_password",
        secret=True,
        help="Password of that user.",
    ),
    cfg.StrOpt(
        "webhook_password_file",
        help="File with the password, in the place of webhook_password.",
    ),
    cfg.StrOpt(
        "webhook_ca_file",
        help="Certificates that vouch for the receiver, in PEM, in the place "
        "of those that are shipped with certifi.",
    ),
    cfg.BoolOpt(
        "webhook_insecure",
        default=False,
        help="Do not verify the receiver's certificate.",
    ),
    cfg.BoolOpt(
        "webhook_allow_http",
        default=False,
        help="Let messages, which hold credentials, go out without TLS.",
    ),
)
