"""Load the functions that commands call in Tacker's environment.

The commands and the driver do not import each other. What a command needs of
the driver is an entry point in the namespace ``tacker_k8s_cr.host``.
"""

from __future__ import annotations

from typing import Any

NAMESPACE = "tacker_k8s_cr.host"


def load(name: str) -> Any:
    """Return the object of an entry point. Raises what its import raises."""
    # Imported here: the list of commands does not need it.
    import stevedore

    manager = stevedore.NamedExtensionManager(NAMESPACE, ())
    [entry_point] = (
        item for item in manager.list_entry_points() if item.name == name
    )
    return entry_point.load()
