"""What commands print, held against the schemas that users have."""

from __future__ import annotations

from collections.abc import Sequence
import functools
from importlib import resources
import json
import os
from typing import Any

import jsonschema

FOLDER = resources.files("tacker_k8s_cr.cli").joinpath("schemas")
COMMANDS = tuple(
    sorted(path.name.removesuffix(".json") for path in FOLDER.iterdir())
)


@functools.cache
def load_validator(command: str) -> Any:
    """That of a command's output."""
    text = FOLDER.joinpath(f"{command}.json").read_text("utf-8")
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check_output(argv: Sequence[str | os.PathLike[str]], out: str) -> None:
    """Hold the output of a command against its schema, if it is JSON.

    With columns that are chosen it has these, and no schema. A usage error
    leaves standard output empty.
    """
    words = [str(word) for word in argv]
    command = next((word for word in words if word in COMMANDS), None)
    chosen = {"-c", "--column"} & set(words)
    if command and "json" in words and not chosen and out:
        load_validator(command).validate(json.loads(out))
