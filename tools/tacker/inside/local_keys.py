"""Replaces Barbican: a file for each secret, in one folder."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any
import uuid

from tacker.keymgr import key_manager


@dataclasses.dataclass(frozen=True)
class Secret:
    payload: bytes


class Keys(key_manager.KeyManager):  # type: ignore[misc]
    """Named by ``[key_manager] api_class``; LOCAL_KEYS is the folder."""

    def __init__(self, auth_url: str):
        self.folder = pathlib.Path(os.environ["LOCAL_KEYS"])

    def store(
        self, context: Any, managed_object: Any, expiration: Any = None
    ) -> str:
        name = str(uuid.uuid4())
        data = managed_object
        if isinstance(data, str):
            data = data.encode()
        path = self.folder / name
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
        return name

    def get(
        self,
        context: Any,
        managed_object_id: str,
        metadata_only: bool = False,
    ) -> Secret:
        try:
            return Secret(self._path(managed_object_id).read_bytes())
        except FileNotFoundError:
            raise KeyError(managed_object_id) from None

    def delete(self, context: Any, managed_object_id: str) -> None:
        try:
            self._path(managed_object_id).unlink()
        except FileNotFoundError:
            raise KeyError(managed_object_id) from None

    def _path(self, name: str) -> pathlib.Path:
        return self.folder / str(uuid.UUID(name))
