"""Options of the conductor's configuration file, from the option table."""

from __future__ import annotations

from collections.abc import Callable

from oslo_config import cfg
from oslo_config import types

from tacker_k8s_cr.model import option_table
from tacker_k8s_cr.model.option_table.option import Option
from tacker_k8s_cr.model.option_table.option import Type

GROUP = cfg.OptGroup(
    "tacker_k8s_cr",
    title="Instances of VNF packages with Kubernetes manifests",
)

NAMESPACE = "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$"


def _flag(option: Option, text: str) -> cfg.Opt:
    return cfg.BoolOpt(option.conf_name, default=option.default, help=text)


def _number(option: Option, text: str) -> cfg.Opt:
    return cfg.IntOpt(
        option.conf_name,
        default=option.default,
        min=1 if option.minimum is None else option.minimum,
        max=option.maximum,
        help=text,
    )


def _lifetime(option: Option, text: str) -> cfg.Opt:
    return cfg.IntOpt(
        option.conf_name,
        default=option.default,
        min=0,
        max=option.maximum,
        help=text,
    )


def _choice(option: Option, text: str) -> cfg.Opt:
    return cfg.StrOpt(
        option.conf_name,
        default=option.default,
        choices=[*option.values.items()],
        help=text,
    )


def _choices(option: Option, text: str) -> cfg.Opt:
    values = [*(option.conf_values or option.values)]
    meant = "; ".join(f"{value}: {option.values[value]}" for value in values)
    return cfg.ListOpt(
        option.conf_name,
        item_type=types.String(choices=values),
        default=option.default,
        help=f"{text} {meant}",
    )


def _list(option: Option, text: str) -> cfg.Opt:
    return cfg.ListOpt(option.conf_name, default=option.default, help=text)


def _text(option: Option, text: str) -> cfg.Opt:
    return cfg.StrOpt(
        option.conf_name,
        default=option.default,
        regex=NAMESPACE if option.type is Type.NAMESPACE else None,
        secret=option.type is Type.SECRET,
        help=text,
    )


_MAKE: dict[Type, Callable[[Option, str], cfg.Opt]] = {
    Type.FLAG: _flag,
    Type.INTEGER: _number,
    Type.SECONDS: _number,
    Type.LIFETIME: _lifetime,
    Type.CHOICE: _choice,
    Type.CHOICES: _choices,
    Type.KINDS: _list,
    Type.SUBJECTS: _list,
}


def _option(option: Option) -> cfg.Opt:
    sentence = f"{option.help[:1].upper()}{option.help[1:]}."
    text = " ".join(filter(None, (sentence, option.note)))
    return _MAKE.get(option.type, _text)(option, text)


OPTIONS = tuple(map(_option, option_table.conf_options()))


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """Return the options for oslo's generators of samples and references."""
    return [(GROUP, list(OPTIONS))]
