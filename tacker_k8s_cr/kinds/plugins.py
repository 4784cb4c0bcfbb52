"""Handlers of third parties, by stevedore.

An entry point in the namespace ``tacker_k8s_cr.handlers`` is a mapping of
GroupKind to Handler, or a function that returns one.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import importlib.metadata
from typing import Any

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import plugin_guard
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.kinds.base import Registry
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind

NAMESPACE = "tacker_k8s_cr.handlers"


def registry(built_in: Registry = kinds.BUILT_IN) -> Registry:
    """The built-in handlers, and those that are installed, which win.

    Raises PluginInvalid for one that cannot be loaded: leaving it out
    would judge its kinds by other rules than the operator installed.
    """
    return with_plugins(built_in, _installed())


def with_plugins(
    built_in: Registry, found: Iterable[tuple[str, Any]]
) -> Registry:
    """With what each of these plug-ins gives, under the plug-in's name."""
    handlers: dict[GroupKind, Handler] = {}
    by: dict[GroupKind, str] = {}
    for name, plugin in found:
        for group_kind, handler in _handlers(name, plugin).items():
            if group_kind in by:
                raise errors.PluginInvalid(
                    name, f"{by[group_kind]} describes {group_kind} as well"
                )
            if why := "; ".join(plugin_guard.invalid_fields(handler)):
                raise errors.PluginInvalid(name, f"{group_kind}: {why}")
            by[group_kind] = name
            handlers[group_kind] = plugin_guard.guard(
                dataclasses.replace(handler, name=name)
            )
    return built_in.with_handlers(handlers) if handlers else built_in


def _installed() -> list[tuple[str, Any]]:
    # Imported here: a module that only describes a kind does not need it.
    import stevedore

    # Only for the list: some of what a module may raise when it is loaded
    # stevedore passes on without saying whose it is.
    manager = stevedore.NamedExtensionManager(NAMESPACE, ())
    handlers = sorted(
        manager.list_entry_points(), key=lambda e: (e.name, e.value)
    )
    return [(entry_point.name, _load(entry_point)) for entry_point in handlers]


def _load(entry_point: importlib.metadata.EntryPoint) -> Any:
    try:
        return entry_point.load()
    except (Exception, SystemExit) as error:
        raise errors.PluginInvalid(
            entry_point.name,
            f"{entry_point.value} cannot be loaded: "
            f"{type(error).__name__}: {error}",
        ) from error


def _handlers(name: str, plugin: Any) -> Mapping[GroupKind, Handler]:
    handlers = plugin
    if callable(plugin):
        try:
            handlers = plugin()
        except (Exception, SystemExit) as error:
            raise errors.PluginInvalid(
                name, f"it raised {type(error).__name__}: {error}"
            ) from error
    if not isinstance(handlers, Mapping) or not all(
        isinstance(key, GroupKind) and isinstance(value, Handler)
        for key, value in handlers.items()
    ):
        raise errors.PluginInvalid(
            name, "it gives no mapping of GroupKind to Handler"
        )
    return handlers
