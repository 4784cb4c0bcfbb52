"""Deletes what a failed test left in the cluster, past Tacker.

Only in a cluster that was started for the tests: UPSTREAM_KUBECTL is set
then. Everything that did not exist when the session began is deleted.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

KUBECTL = os.environ.get("UPSTREAM_KUBECTL", "").split()
SECONDS = 30.0

_IGNORED = {"Event", "Lease", "Endpoints", "EndpointSlice"}
"""Kinds that controllers write."""


def _run(*arguments: str) -> str:
    done = subprocess.run(
        [*KUBECTL, *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout


def objects() -> dict[str, dict[str, Any]]:
    """By UID, every object that no other one owns; none without kubectl."""
    if not KUBECTL:
        return {}
    names = _run("api-resources", "--verbs=list,delete", "-o", "name")
    kinds = ",".join(names.split())
    listed = json.loads(_run("get", kinds, "-A", "-o", "json") or "{}")
    return {
        one["metadata"]["uid"]: one
        for one in listed.get("items", ())
        if one["kind"] not in _IGNORED
        and not one["metadata"].get("ownerReferences")
    }


def sweep(
    before: dict[str, dict[str, Any]], *, records: bool = True
) -> list[str]:
    """Delete what is new; what could not be deleted.

    :param records: whether this includes our driver's records.
    """
    if not KUBECTL:
        return []
    limit = time.monotonic() + SECONDS
    while True:
        new = [
            one
            for uid, one in objects().items()
            if uid not in before and (records or not _is_record(one))
        ]
        if not new or time.monotonic() > limit:
            return [_named(one) for one in new]
        for one in new:
            _delete(one)
        time.sleep(1)


def _is_record(one: dict[str, Any]) -> bool:
    name = str(one["metadata"]["name"])
    return one["kind"] == "Secret" and name.startswith("tacker-k8s-cr.")


def _delete(one: dict[str, Any]) -> None:
    metadata = one["metadata"]
    if "deletionTimestamp" in metadata:
        return
    group, _, version = one["apiVersion"].rpartition("/")
    kind = f"{one['kind']}.{version}.{group}" if group else one["kind"]
    where = metadata.get("namespace")
    place = ["-n", where] if where else []
    _run("delete", kind, metadata["name"], *place, "--wait=false")


def _named(one: dict[str, Any]) -> str:
    metadata = one["metadata"]
    where = metadata.get("namespace", "")
    return f"{one['kind']} {where}/{metadata['name']}"
