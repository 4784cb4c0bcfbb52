"""Load the functions that commands call in Tacker's environment.

The commands and the driver do not import each other. What a command needs of
the driver is an entry point in the namespace ``tacker_k8s_cr.host``.
"""

from __future__ import annotations

from typing import Any

from tacker_k8s_cr.model.errors import Error

NAMESPACE = "tacker_k8s_cr.host"


class EntryPointMissing(Error):
    """The metadata of the installed distribution has no such entry point."""

    remedy = (
        "Install the distribution tacker-k8s-cr again in this environment; "
        "in a clone of the repository: make environment"
    )


def load(name: str) -> Any:
    """Return the object of an entry point. Raises what its import raises."""
    # Imported here: the list of commands does not need it.
    import stevedore

    manager = stevedore.NamedExtensionManager(NAMESPACE, ())
    for entry_point in manager.list_entry_points():
        if entry_point.name == name:
            return entry_point.load()
    raise EntryPointMissing(
        f"the command {name} cannot be run: the installed distribution "
        f"tacker-k8s-cr has no entry point {name} in {NAMESPACE}, so its "
        "metadata is of another version than its code"
    )
