"""Removes the instances that a failed test left, by Tacker's API."""

from __future__ import annotations

import os
import time
from typing import Any

import requests

URL = os.environ["TACKER_URL"]
SECONDS = 90.0
"""For an operation of a failed test to end."""

_ENDED = ("FAILED_TEMP", "FAILED", "ROLLED_BACK", "COMPLETED")


def _session(version: str) -> requests.Session:
    found = requests.Session()
    found.trust_env = False
    if version == "v2":
        found.headers["Version"] = "2.0.0"
    return found


SESSIONS = {version: _session(version) for version in ("v1", "v2")}


def _listed(version: str, what: str) -> list[dict[str, Any]]:
    """All of a list, page by page."""
    url: str | None = f"{URL}/vnflcm/{version}/{what}"
    found: list[dict[str, Any]] = []
    while url:
        answer = SESSIONS[version].get(url, timeout=60)
        answer.raise_for_status()
        found += answer.json()
        url = answer.links.get("next", {}).get("url")
    return found


def settle() -> None:
    """Wait for the operations of all instances; roll back what failed."""
    for version in SESSIONS:
        there = {one["id"] for one in _listed(version, "vnf_instances")}
        for operation in _listed(version, "vnf_lcm_op_occs"):
            # Version 1 lists operations of deleted instances, and has an
            # internal error when it shows one.
            if operation["vnfInstanceId"] in there:
                _settle(version, operation["id"])


def remove() -> list[str]:
    """Remove every instance; what could not be removed."""
    left = []
    for version in SESSIONS:
        for instance in _listed(version, "vnf_instances"):
            where = f"{URL}/vnflcm/{version}/vnf_instances/{instance['id']}"
            if said := _remove(SESSIONS[version], where):
                left.append(f"{version} {instance['id']}: {said}")
    return left


def _remove(session: requests.Session, where: str) -> str:
    """Terminate and delete an instance; why that was not possible."""
    found = session.get(where, timeout=60).json()
    if found.get("instantiationState") == "INSTANTIATED":
        answer = session.post(
            f"{where}/terminate",
            json={"terminationType": "FORCEFUL"},
            timeout=60,
        )
        if answer.status_code == 202:
            _rest(session, answer.headers["Location"])
    for _ in range(15):
        answer = session.delete(where, timeout=60)
        if answer.status_code != 409:
            break
        time.sleep(1)
    return "" if answer.status_code in (204, 404) else answer.text[:500]


def _settle(version: str, operation: str) -> None:
    """Roll an operation back, or give it up."""
    session = SESSIONS[version]
    where = f"{URL}/vnflcm/{version}/vnf_lcm_op_occs/{operation}"
    found = _rest(session, where)
    if found.get("operationState") != "FAILED_TEMP":
        return
    if session.post(f"{where}/rollback", timeout=60).status_code == 202:
        time.sleep(1)
        found = _rest(session, where)
    if found.get("operationState") == "FAILED_TEMP":
        session.post(f"{where}/fail", timeout=60)


def _rest(session: requests.Session, where: str) -> dict[str, Any]:
    limit = time.monotonic() + SECONDS
    while True:
        answer = session.get(where, timeout=60)
        if not answer.ok:
            return {}
        found: dict[str, Any] = answer.json()
        state = found.get("operationState")
        if state in _ENDED or time.monotonic() > limit:
            return found
        time.sleep(0.5)
