"""Check the parameters of a request for what their schema cannot express."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
import urllib.parse

from tacker_k8s_cr.driver.schema import FILES
from tacker_k8s_cr.driver.schema import OWN_KEY
from tacker_k8s_cr.driver.schema import ROOT
from tacker_k8s_cr.kinds import generic
from tacker_k8s_cr.kinds import rules
from tacker_k8s_cr.model.errors import RequestInvalid


def find_problems(
    params: Mapping[str, Any], instance_namespace: str
) -> Iterator[str]:
    """Find what is wrong with parameters that their schema accepts.

    :param instance_namespace: the namespace of an existing instance.
    """
    yield from _check_files(params.get(FILES, ()))
    namespace = params.get("namespace")
    if instance_namespace and namespace and namespace != instance_namespace:
        yield (
            f"{ROOT}.namespace: the instance is in {instance_namespace} "
            "and stays there; "
            f"wanted {instance_namespace} or nothing"
        )
    own = params.get(OWN_KEY, {})
    where = f"{ROOT}.{OWN_KEY}"
    for index, item in enumerate(own.get("readiness", ())):
        yield from _check_readiness(f"{where}.readiness[{index}]", item)
    subjects = [item["of"] for item in own.get("readiness", ())]
    yield from _check_unique(f"{where}.readiness", subjects)
    transferred = [
        text for some in own.get("transfer_from", {}).values() for text in some
    ]
    yield from _check_unique(
        f"{where}.transfer_from", [*transferred, *own.get("adopt", ())]
    )
    for key in ("prune", "on_terminate"):
        named = [text for texts in own.get(key, {}).values() for text in texts]
        yield from _check_unique(f"{where}.{key}", named)


def _check_files(names: Iterable[str]) -> Iterator[str]:
    for index, name in enumerate(names):
        scheme = urllib.parse.urlsplit(name).scheme
        if scheme and scheme not in ("http", "https"):
            yield (
                f"{ROOT}.{FILES}[{index}]: wanted a name of a file in the "
                "package, found a URL that is neither https nor http"
            )


def _check_readiness(where: str, item: Mapping[str, Any]) -> Iterator[str]:
    rule_keys = [key for key in ("ready_when", "failed_when") if key in item]
    mode = item.get("readiness")
    if mode in generic.UNCONDITIONAL and rule_keys:
        yield f"{where}.readiness: {mode} leaves no use for {rule_keys[0]}"
    if not rule_keys and not item.keys() & {"readiness", "stall_timeout"}:
        yield (
            f"{where}: wanted one of readiness, ready_when, failed_when, "
            "stall_timeout, found none"
        )
    for key in rule_keys:
        try:
            rules.from_values(list_rules(item, key))
        except RequestInvalid:
            yield (
                f"{where}.{key}: wanted rules such as status.phase=Running "
                "or condition=Ready, found another text"
            )


def _check_unique(where: str, subjects: Iterable[str]) -> Iterator[str]:
    seen = set()
    for text in subjects:
        if text in seen:
            yield f"{where}: {text} is named twice"
        seen.add(text)


def list_rules(item: Mapping[str, Any], key: str) -> list[str]:
    """Return a list of rules, from one text or a list."""
    value = item.get(key, [])
    return value if isinstance(value, list) else [value]
