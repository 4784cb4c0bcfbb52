"""The options' values.

They are registered at first use: importing this costs nothing and changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import MutableMapping
import dataclasses
import os
import pathlib
import re

from oslo_config import cfg

from tacker_k8s_cr.driver.options import GROUP
from tacker_k8s_cr.driver.options import OPTIONS
from tacker_k8s_cr.errors import RequestInvalid
from tacker_k8s_cr.objects import GroupKind
from tacker_k8s_cr.policy import Policy
from tacker_k8s_cr.policy import Readiness
from tacker_k8s_cr.subjects import Subject
from tacker_k8s_cr.subjects import subject
from tacker_k8s_cr.terminating import clearing

CONFIG = "TACKER_K8S_CR_CONFIG"
"""Variable with the paths of the conductor's configuration files."""


@dataclasses.dataclass(frozen=True)
class Webhook:
    """The options of the delivery; secrets in files are not read yet."""

    url: str
    probe: str
    mode: str
    role: str
    expires_after: int
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
    on_failed: str
    heal_machines: str
    rollout: str
    versions: str
    autoscaled: str
    pool_size: int
    dry_run: bool
    resend: bool
    conflict: str
    field_validation: str
    insecure: bool
    check_rights: bool
    oidc_scope: str
    oidc_ca_file: str
    namespaces: str
    record_namespace: str
    readiness_created: tuple[str, ...]
    prune_may: tuple[str, ...]
    prune_keep: tuple[str, ...]
    on_terminate_keep: tuple[str, ...]
    statefulset_claims: str
    clear_load_balancers: bool
    allow_http_manifests: bool
    adopt_instances: bool
    webhook: Webhook

    def policy(self) -> Policy:
        """What holds for a package of which nothing else is said.

        Raises RequestInvalid for what is no kind.
        """
        prune: dict[Subject, bool] = {
            _kind(option, text): may
            for option, texts, may in (
                ("prune_may", self.prune_may, True),
                ("prune_keep", self.prune_keep, False),
            )
            for text in texts
        }
        created = dict.fromkeys(self.readiness_created)
        return Policy(
            self.namespaces,
            tuple(
                Readiness(_kind("readiness_created", text), "created")
                for text in created
            ),
            prune,
            on_terminate={
                _kind("on_terminate_keep", text): True
                for text in self.on_terminate_keep
            },
        )

    @property
    def clear(self) -> frozenset[str] | None:
        """What is removed in workload clusters before they go.

        None for what the manifest of each Cluster says.
        """
        wanted = self.clear_load_balancers
        return frozenset({clearing.LOAD_BALANCERS}) if wanted else None

    def oidc_ca(self) -> str:
        """What vouches for OpenID providers; empty for what usually does."""
        path = self.oidc_ca_file
        if not path:
            return ""
        text = _read("oidc_ca", path)
        if "-----BEGIN CERTIFICATE-----" not in text:
            raise RequestInvalid(
                f"[{GROUP.name}] oidc_ca_file: {path} has no certificate"
            )
        return text


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
                if isinstance(value, list):
                    found[name] = tuple(value)
        return found

    webhook = Webhook(**values(Webhook, "webhook_"))  # type: ignore[arg-type]
    return Settings(webhook=webhook, **values(Settings))  # type: ignore[arg-type]


def exported(
    conf: cfg.ConfigOpts = cfg.CONF,
    environ: MutableMapping[str, str] = os.environ,
) -> None:
    """Let scripts that this process runs find its configuration.

    They are bare processes, which get no option of the command line.
    """
    # Neither is there before the command line was read.
    files = getattr(conf, "config_file", None) or ()
    folders = getattr(conf, "config_dir", None) or ()
    if paths := [os.path.abspath(path) for path in (*files, *folders)]:
        environ[CONFIG] = os.pathsep.join(paths)


def own(environ: Mapping[str, str]) -> cfg.ConfigOpts:
    """The configuration that ``exported`` named, in a script."""
    paths = [
        path for path in environ.get(CONFIG, "").split(os.pathsep) if path
    ]
    if not paths:
        raise RequestInvalid(
            f"{CONFIG} is not set: the driver kubernetes_cr, which sets it, "
            "is not loaded in this conductor"
        )
    # Imported here: only scripts need it.
    from oslo_log import log

    conf = cfg.ConfigOpts()
    # Some of its options must be known before anything is read.
    log.register_options(conf)
    conf(
        [],
        project="tacker",
        default_config_files=[p for p in paths if not os.path.isdir(p)],
        default_config_dirs=[p for p in paths if os.path.isdir(p)],
    )
    return conf


def fault(error: Exception) -> str:
    """Where a configuration is wrong: oslo's text shows value or line."""
    if option := re.match(r"Value for option (\w+) ", str(error)):
        return f"the option {option[1]} has a value that it cannot have"
    files = getattr(error, "config_files", None)
    if files:
        return f"not there: {', '.join(map(str, files))}"
    if file := getattr(error, "config_file", ""):
        return f"{file} is not written as a configuration file is"
    return type(error).__name__


def _kind(option: str, text: str) -> GroupKind:
    found = subject(text, f"[{GROUP.name}] {option}")
    if not isinstance(found, GroupKind):
        raise RequestInvalid(
            f"[{GROUP.name}] {option}: {text} is an object; wanted: a kind, "
            f"such as {found.group_kind}"
        )
    return found


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
    text = _read(option, path)
    lines: Iterable[str] = (line.strip() for line in text.splitlines())
    if not (found := tuple(filter(None, lines))):
        raise RequestInvalid(f"[{GROUP.name}] {option}_file: {path} is empty")
    return found


def _read(option: str, path: str) -> str:
    try:
        return pathlib.Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is not text"
        raise RequestInvalid(
            f"[{GROUP.name}] {option}_file: {path}: {why}"
        ) from None
