"""The values of the options.

Options are registered at first use; the import has no effect.
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
from tacker_k8s_cr.kinds.policy import Policy
from tacker_k8s_cr.kinds.policy import Readiness
from tacker_k8s_cr.model.errors import RequestInvalid
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.selectors import Subject
from tacker_k8s_cr.model.selectors import parse_subject

CONFIG = "TACKER_K8S_CR_CONFIG"
"""Variable with the paths of the conductor's configuration files."""


@dataclasses.dataclass(frozen=True)
class WebhookSettings:
    """The options of the delivery; secrets in files are not read yet."""

    url: str
    api_check: str
    credential: str
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
    """The values of the options at one time."""

    v2: bool
    instantiate_timeout: float
    scale_timeout: float
    heal_timeout: float
    change_timeout: float
    terminate_timeout: float
    stall_timeout: float
    on_failure: str
    machine_heal_strategy: str
    rollout: str
    kubernetes_upgrade: str
    autoscaler_limits: str
    pool_size: int
    dry_run: bool
    resend: bool
    field_conflicts: str
    field_validation: str
    insecure: bool
    check_permissions: bool
    oidc_scope: str
    oidc_ca_file: str
    namespace_mode: str
    record_namespace: str
    readiness_exists: tuple[str, ...]
    prune_allow: tuple[str, ...]
    prune_protect: tuple[str, ...]
    on_terminate_keep: tuple[str, ...]
    statefulset_claims: str
    cleanup: tuple[str, ...]
    allow_http_manifests: bool
    adopt_instances: bool
    webhook: WebhookSettings

    def policy(self) -> Policy:
        """Return the policy for packages and requests without one.

        Raises RequestInvalid for an invalid kind.
        """
        prune: dict[Subject, bool] = {
            _kind(option, text): may
            for option, texts, may in (
                ("prune_allow", self.prune_allow, True),
                ("prune_protect", self.prune_protect, False),
            )
            for text in texts
        }
        created = dict.fromkeys(self.readiness_exists)
        return Policy(
            self.namespace_mode,
            tuple(
                Readiness(_kind("readiness_exists", text), "exists")
                for text in created
            ),
            prune,
            on_terminate={
                _kind("on_terminate_keep", text): True
                for text in self.on_terminate_keep
            },
        )

    def oidc_ca(self) -> str:
        """The CA bundle for OpenID providers; empty for the system's."""
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
    """Return the current configuration; called for each operation.

    A conductor that reloads its files needs no restart.
    """
    conf.register_group(GROUP)
    conf.register_opts(OPTIONS, GROUP)
    group = conf[GROUP.name]

    def values(kind: type, prefix: str = "") -> dict[str, object]:
        names = {field.name for field in dataclasses.fields(kind)}
        result = {}
        for option in OPTIONS:
            name = option.dest.removeprefix(prefix)
            if option.dest.startswith(prefix) and name in names:
                value = group[option.dest]
                result[name] = "" if value is None else value
                if isinstance(value, list):
                    result[name] = tuple(value)
        return result

    webhook = WebhookSettings(**values(WebhookSettings, "webhook_"))  # type: ignore[arg-type]
    return Settings(webhook=webhook, **values(Settings))  # type: ignore[arg-type]


def export_config(
    conf: cfg.ConfigOpts = cfg.CONF,
    environ: MutableMapping[str, str] = os.environ,
) -> None:
    """Export the configuration to scripts that this process runs.

    They are separate processes without the options of its command line.
    """
    # Neither is there before the command line was read.
    files = getattr(conf, "config_file", None) or ()
    folders = getattr(conf, "config_dir", None) or ()
    if paths := [os.path.abspath(path) for path in (*files, *folders)]:
        environ[CONFIG] = os.pathsep.join(paths)


def load_exported_config(environ: Mapping[str, str]) -> cfg.ConfigOpts:
    """Return the exported configuration, in a script."""
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


def config_error(error: Exception) -> str:
    """Return the invalid option; oslo's text would show its value."""
    if option := re.match(r"Value for option (\w+) ", str(error)):
        return f"the option {option[1]} has a value that it cannot have"
    files = getattr(error, "config_files", None)
    if files:
        return f"not there: {', '.join(map(str, files))}"
    if file := getattr(error, "config_file", ""):
        return f"{file} is not written as a configuration file is"
    return type(error).__name__


def _kind(option: str, text: str) -> GroupKind:
    line = parse_subject(text, f"[{GROUP.name}] {option}")
    if not isinstance(line, GroupKind):
        raise RequestInvalid(
            f"[{GROUP.name}] {option}: {text} is an object; expected a kind, "
            f"such as {line.group_kind}"
        )
    return line


def _line(option: str, value: str, path: str) -> str:
    line = _lines(option, value, path)
    if len(line) > 1:
        raise RequestInvalid(
            f"[{GROUP.name}] {option}_file: {path} has {len(line)} lines; "
            "expected one"
        )
    return line[0] if line else ""


def _lines(option: str, value: str, path: str) -> tuple[str, ...]:
    """Return the value of an option, or the lines of the file named for it."""
    if value and path:
        raise RequestInvalid(
            f"[{GROUP.name}] {option} and {option}_file are both set; "
            "expected one of the two"
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
