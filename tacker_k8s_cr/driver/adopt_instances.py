"""Adopt instances of Tacker's own driver, for the command ``adopt``."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence

from tacker_k8s_cr.driver import error_text
from tacker_k8s_cr.model import errors

Row = tuple[str, str, str, str]
"""API, id and name of an instance, and the result."""


def adopt(
    instances: Collection[str], every: bool, config_files: Sequence[str]
) -> Iterator[Row]:
    """Adopt instances, and list those that can be adopted.

    :param instances: ids; if empty, all instances are listed.
    :param every: adopt all instances that can be adopted.
    """
    # Imported here: Tacker is configured first, and may not be installed.
    from tacker_k8s_cr.driver.check import installation

    installation.read_configuration(config_files)
    with installation.silence_warnings():
        from tacker_k8s_cr.driver import adoptable

        adoptable.prepare()
        candidates = {item.id: item for item in adoptable.list_adoptable()}
    for id_ in instances:
        if id_ not in candidates:
            why = "not an instance of Tacker's own Kubernetes driver"
            yield "", id_, "", f"refused: {why}"
    for id_, item in candidates.items():
        result = "can be adopted"
        if every or id_ in instances:
            try:
                with installation.silence_warnings():
                    adoptable.adopt(item)
                result = "adopted"
            except errors.Error as error:
                message = error_text.format_error(error).splitlines()
                result = f"refused: {'; '.join(message)}"
        elif instances:
            continue
        yield item.api, id_, item.name, result
