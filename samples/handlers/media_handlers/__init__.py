"""Handlers for the kinds of media.example.org."""

from __future__ import annotations

from collections.abc import Mapping

from media_handlers import store
from media_handlers import transcoder
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model.objects import GroupKind

GROUP = "media.example.org"

HANDLERS: Mapping[GroupKind, Handler] = {
    GroupKind(GROUP, "Transcoder"): transcoder.HANDLER,
    GroupKind(GROUP, "Store"): store.HANDLER,
}
