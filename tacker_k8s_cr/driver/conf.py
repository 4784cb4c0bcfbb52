"""Options of the conductor's configuration file, and their values.

They are registered at first use: importing this costs nothing and changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import pathlib

from oslo_config import cfg

from tacker_k8s_cr.errors import RequestInvalid

GROUP = cfg.OptGroup(
    "tacker_k8s_cr",
    title="Instances of VNF packages with Kubernetes manifests",
)

OPTIONS = (
    cfg.BoolOpt(
        "v2",
        default=True,
        help="Serve Tacker's v2 API too: VIMs of the type "
        "ETSINFV.KUBERNETES.V_1 get this driver in the place of Tacker's "
        "own. It is read when the conductor starts.",
    ),
    cfg.IntOpt(
        "instantiate_timeout",
        default=1800,
        min=1,
        help="Seconds after which an instantiation ends with an error that "
        "names what is not current.",
    ),
    cfg.IntOpt(
        "scale_timeout",
        default=1800,
        min=1,
        help="Seconds after which a scale ends with such an error.",
    ),
    cfg.IntOpt(
        "heal_timeout",
        default=1800,
        min=1,
        help="Seconds after which a heal ends with such an error.",
    ),
    cfg.IntOpt(
        "change_timeout",
        default=1800,
        min=1,
        help="Seconds after which a change of the package, or its rollback, "
        "ends with such an error.",
    ),
    cfg.IntOpt(
        "terminate_timeout",
        default=1800,
        min=1,
        help="Seconds after which a termination ends with an error that "
        "names what is not gone. A graceful termination has its own time-out "
        "added.",
    ),
    cfg.IntOpt(
        "webhook_timeout",
        default=600,
        min=1,
        help="Seconds for the delivery of the kubeconfigs of one VNF "
        "instance: waiting for them, probing and posting.",
    ),
    cfg.IntOpt(
        "blocked_after",
        default=300,
        min=1,
        help="Seconds after which an object that keeps showing the same "
        "error, and on which nothing moves, ends an operation.",
    ),
    cfg.IntOpt(
        "pool_size",
        default=16,
        min=1,
        max=256,
        help="Requests to one API server that may be under way at once, for "
        "each operation.",
    ),
    cfg.BoolOpt(
        "dry_run",
        default=True,
        help="Let the API server check every object of a package before the "
        "first one is written. It costs a request for each.",
    ),
    cfg.StrOpt(
        "conflict",
        default="fail",
        choices=[
            ("fail", "End the operation and name the field and its owner."),
            ("take", "Take the field over."),
        ],
        help="What to do about a field that another field manager owns.",
    ),
    cfg.BoolOpt(
        "insecure",
        default=False,
        help="Do not verify the certificates of API servers. A VIM without "
        "ssl_ca_cert is verified with the system's certificates otherwise.",
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


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """For oslo's generators of sample files and references."""
    return [(GROUP, list(OPTIONS))]


@dataclasses.dataclass(frozen=True)
class Webhook:
    """The options of the delivery; secrets in files are not read yet."""

    url: str
    probe: str
    timeout: float
    user: str
    ca_file: str
    insecure: bool
    allow_http: bool
    secret_file: str
    token_file: str
    password_file: str
    secret: str = dataclasses.field(repr=False)
    token: str = dataclasses.field(repr=False)
    password: str = dataclasses.field(repr=False)

    def secrets(self) -> tuple[str, ...]:
        return _lines("webhook_secret", self.secret, self.secret_file)

    def bearer_token(self) -> str:
        return _line("webhook_token", self.token, self.token_file)

    def user_password(self) -> str:
        return _line("webhook_password", self.password, self.password_file)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The options' values at one moment."""

    v2: bool
    instantiate_timeout: float
    scale_timeout: float
    heal_timeout: float
    change_timeout: float
    terminate_timeout: float
    blocked_after: float
    pool_size: int
    dry_run: bool
    conflict: str
    insecure: bool
    webhook: Webhook


def settings(conf: cfg.ConfigOpts = cfg.CONF) -> Settings:
    """What the configuration says now; read anew for each operation.

    So a conductor that was told to read its files again needs no restart.
    """
    conf.register_group(GROUP)
    conf.register_opts(OPTIONS, GROUP)
    group = conf[GROUP.name]

    def values(kind: type, prefix: str = "") -> dict[str, object]:
        names = {field.name for field in dataclasses.fields(kind)}
        found = {}
        for option in OPTIONS:
            name = option.dest.removeprefix(prefix)
            if option.dest.startswith(prefix) and name in names:
                value = group[option.dest]
                found[name] = "" if value is None else value
        return found

    webhook = Webhook(**values(Webhook, "webhook_"))  # type: ignore[arg-type]
    return Settings(webhook=webhook, **values(Settings))  # type: ignore[arg-type]


def _line(option: str, value: str, path: str) -> str:
    found = _lines(option, value, path)
    if len(found) > 1:
        raise RequestInvalid(
            f"[{GROUP.name}] {option}_file: {path} has {len(found)} lines; "
            "wanted: one"
        )
    return found[0] if found else ""


def _lines(option: str, value: str, path: str) -> tuple[str, ...]:
    """What an option holds, or each line of the file that another names."""
    if value and path:
        raise RequestInvalid(
            f"[{GROUP.name}] {option} and {option}_file are both set; wanted: "
            "one of the two"
        )
    if not path:
        return (value,) if value else ()
    try:
        text = pathlib.Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is not text"
        raise RequestInvalid(
            f"[{GROUP.name}] {option}_file: {path}: {why}"
        ) from None
    lines: Iterable[str] = (line.strip() for line in text.splitlines())
    if not (found := tuple(filter(None, lines))):
        raise RequestInvalid(f"[{GROUP.name}] {option}_file: {path} is empty")
    return found
