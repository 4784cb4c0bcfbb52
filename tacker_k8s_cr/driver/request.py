"""What a request's additionalParams say, checked.

Tacker's own keys are ``lcm-kubernetes-def-files`` and ``namespace``; all of
ours is under the one key ``tacker_k8s_cr``. A key there that we do not know
is refused: one that is misspelt would otherwise do nothing, in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re
from typing import Any

from tacker_k8s_cr.errors import RequestInvalid

FILES = "lcm-kubernetes-def-files"
OURS = "tacker_k8s_cr"

UNSUPPORTED = {
    "use_helm": "charts are not supported by this driver",
    "vdu_mapping": "put the annotation k8s-cr.tacker.openstack.org/vdu on the "
    "manifest of the VDU's object instead",
}
"""Keys of Tacker that would change what is done, and why they cannot."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a request asks for; None and empty where it leaves it open.

    :param files: the manifests, by their names in the package.
    :param timeout: seconds for the whole operation.
    """

    files: tuple[str, ...] = ()
    namespace: str = "default"
    timeout: float | None = None
    dry_run: bool | None = None
    conflict: str = ""
    webhook_url: str = dataclasses.field(default="", repr=False)
    webhook_probe: str = ""


def read(additional_params: Mapping[str, Any] | None) -> Asked:
    """The request's parameters. Raises RequestInvalid, for all at once."""
    params = additional_params or {}
    reader = _Reader()
    reader.unsupported(params)
    ours = reader.mapping(params, "additionalParams", OURS)
    where = f"additionalParams.{OURS}"
    hook = reader.mapping(ours, where, "webhook")
    asked = Asked(
        files=reader.files(params),
        namespace=reader.text(params, "additionalParams", "namespace", _NAME)
        or "default",
        timeout=reader.number(ours, where, "timeout"),
        dry_run=reader.boolean(ours, where, "dry_run"),
        conflict=reader.choice(ours, where, "conflict", ("fail", "take")),
        webhook_url=reader.text(hook, f"{where}.webhook", "url"),
        webhook_probe=reader.choice(
            hook, f"{where}.webhook", "probe", ("require", "try", "skip")
        ),
    )
    reader.only(ours, where, ("timeout", "dry_run", "conflict", "webhook"))
    reader.only(hook, f"{where}.webhook", ("url", "probe"))
    if reader.faults:
        raise RequestInvalid("\n".join(reader.faults))
    return asked


_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""Of a namespace."""


class _Reader:
    """Reads parameters and collects what is wrong with them.

    A value is not shown where it may be a secret that was put into the
    wrong place; what was wanted is.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []

    def _read(
        self,
        params: Mapping[str, Any],
        where: str,
        key: str,
        fits: Callable[[Any], bool],
        wanted: str,
    ) -> Any:
        value = params.get(key)
        if value is None or fits(value):
            return value
        self.faults.append(
            f"{where}.{key}: wanted {wanted}, found {_kind(value)}"
        )
        return None

    def unsupported(self, params: Mapping[str, Any]) -> None:
        for key, why in UNSUPPORTED.items():
            if params.get(key) not in (None, False, "", "false", "False", {}):
                self.faults.append(f"additionalParams.{key}: {why}")

    def mapping(
        self, params: Mapping[str, Any], where: str, key: str
    ) -> Mapping[str, Any]:
        def fits(value: Any) -> bool:
            return isinstance(value, Mapping) and all(
                isinstance(name, str) for name in value
            )

        return self._read(params, where, key, fits, "a mapping") or {}

    def files(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        def fits(value: Any) -> bool:
            return (
                isinstance(value, list)
                and bool(value)
                and all(isinstance(name, str) and name for name in value)
            )

        return tuple(
            self._read(
                params,
                "additionalParams",
                FILES,
                fits,
                "a list of names of files in the package",
            )
            or ()
        )

    def text(
        self,
        params: Mapping[str, Any],
        where: str,
        key: str,
        pattern: re.Pattern[str] | None = None,
    ) -> str:
        def fits(value: Any) -> bool:
            return isinstance(value, str) and (
                pattern is None
                or not value
                or pattern.fullmatch(value) is not None
            )

        wanted = "a name of a namespace" if pattern else "text"
        return self._read(params, where, key, fits, wanted) or ""

    def number(
        self, params: Mapping[str, Any], where: str, key: str
    ) -> float | None:
        def fits(value: Any) -> bool:
            number = isinstance(value, int | float)
            return number and not isinstance(value, bool) and value > 0

        found = self._read(params, where, key, fits, "a number of seconds")
        return None if found is None else float(found)

    def boolean(
        self, params: Mapping[str, Any], where: str, key: str
    ) -> bool | None:
        def fits(value: Any) -> bool:
            return isinstance(value, bool)

        found: bool | None = self._read(
            params, where, key, fits, "true or false"
        )
        return found

    def choice(
        self,
        params: Mapping[str, Any],
        where: str,
        key: str,
        choices: Sequence[str],
    ) -> str:
        wanted = f"one of {', '.join(choices)}"
        found = self._read(params, where, key, choices.__contains__, wanted)
        return str(found or "")

    def only(
        self, params: Mapping[str, Any], where: str, known: Sequence[str]
    ) -> None:
        for key in sorted(params.keys() - set(known)):
            self.faults.append(
                f"{where}.{key}: no such parameter; there are "
                f"{', '.join(known)}"
            )


def _kind(value: Any) -> str:
    """What a value is, without showing it."""
    names = {dict: "a mapping", list: "a list", bool: "a boolean"}
    numbers = {int: "a number", float: "a number"}
    return {**names, **numbers}.get(type(value), "another text")
