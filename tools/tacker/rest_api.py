"""Tacker's REST API, as tests and measurements use it: v1 and v2."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import pathlib
import time
from typing import Any
import uuid

import requests

from tools.tacker.errors import TackerError
from tools.tacker.session import PAUSE
from tools.tacker.session import Session
from tools.tacker.vims import Vim

Body = Mapping[str, Any]

ENDED = ("COMPLETED", "FAILED_TEMP", "FAILED", "ROLLED_BACK")
"""The states in which an operation rests."""

SECONDS = 120.0
"""For an operation of a test to end."""


@dataclasses.dataclass(frozen=True)
class UploadedPackage:
    """A package in Tacker."""

    id: str
    vnfd: str


class Api(Session):
    """One version of the life cycle management API, and what it rests on.

    Each verb of an operation comes twice: ``start`` gives the operation's
    id, the verb itself waits and gives the operation as it ended.
    """

    def __init__(self, url: str, version: str = "v2", pause: float = PAUSE):
        super().__init__(url, pause)
        self.version = version
        self.base = f"/vnflcm/{version}"
        if version == "v2":
            self.session.headers["Version"] = "2.0.0"

    # -- VIMs ---------------------------------------------------------------

    def register_vim(
        self, vim: Vim, name: str = "", *, default: bool = False
    ) -> Vim:
        """Register a VIM; v1 wants a default one to exist."""
        body = vim.registration(name, default=default)
        made = self.request_expecting(
            201, "POST", "/v1.0/vims", {"vim": body}
        ).json()
        return dataclasses.replace(vim, id=made["vim"]["id"])

    def vims(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.request_expecting(
            200, "GET", "/v1.0/vims"
        ).json()["vims"]
        return found

    def delete_vim(self, vim: Vim) -> None:
        self.request_expecting(204, "DELETE", f"/v1.0/vims/{vim.id}")

    # -- Packages -----------------------------------------------------------

    def upload(
        self, csar: pathlib.Path, seconds: float = 60
    ) -> UploadedPackage:
        """Upload a CSAR, and wait until it is on board."""
        path = "/vnfpkgm/v1/vnf_packages"
        made = self.request_expecting(201, "POST", path, {}).json()["id"]
        self.request_expecting(
            202,
            "PUT",
            f"{path}/{made}/package_content",
            data=csar.read_bytes(),
            headers={"Content-Type": "application/zip"},
        )
        limit = time.monotonic() + seconds
        while True:
            found = self.request_expecting(200, "GET", f"{path}/{made}").json()
            if found["onboardingState"] == "ONBOARDED":
                return UploadedPackage(made, found["vnfdId"])
            # A refused package is CREATED again.
            if time.monotonic() > limit:
                raise TackerError(
                    f"package {csar}: {found['onboardingState']} after "
                    f"{seconds:.0f} s; see the conductor's log"
                )
            time.sleep(self.pause)

    def delete_package(self, package: UploadedPackage) -> None:
        path = f"/vnfpkgm/v1/vnf_packages/{package.id}"
        self.request_expecting(
            202, "PATCH", path, {"operationalState": "DISABLED"}
        )
        self.request_expecting(204, "DELETE", path)

    # -- Instances ----------------------------------------------------------

    def create(self, vnfd: str, name: str = "") -> str:
        """A new instance of a VNFD; its id."""
        body = {
            "vnfdId": vnfd,
            "vnfInstanceName": name or f"vnf-{uuid.uuid4().hex[:10]}",
        }
        path = f"{self.base}/vnf_instances"
        made: str = self.request_expecting(201, "POST", path, body).json()[
            "id"
        ]
        return made

    def show(self, instance: str) -> dict[str, Any]:
        path = f"{self.base}/vnf_instances/{instance}"
        found: dict[str, Any] = self.request_expecting(200, "GET", path).json()
        return found

    def vnfcs(self, instance: str) -> list[dict[str, Any]]:
        """The instance's vnfcResourceInfo."""
        info = self.show(instance).get("instantiatedVnfInfo") or {}
        found: list[dict[str, Any]] = info.get("vnfcResourceInfo") or []
        return found

    def delete(self, instance: str) -> None:
        path = f"{self.base}/vnf_instances/{instance}"
        self.unless_busy(204, "DELETE", path)

    # -- Operations ---------------------------------------------------------

    def start(self, instance: str, action: str, body: Body) -> str:
        """Begin an operation; the id of its occurrence."""
        path = f"{self.base}/vnf_instances/{instance}/{action}"
        answer = self.unless_busy(202, "POST", path, dict(body))
        return str(answer.headers["Location"]).rpartition("/")[2]

    def operation(self, occurrence: str) -> dict[str, Any]:
        """An operation as it stands."""
        path = f"{self.base}/vnf_lcm_op_occs/{occurrence}"
        found: dict[str, Any] = self.request_expecting(200, "GET", path).json()
        return found

    def wait(
        self,
        occurrence: str,
        seconds: float = SECONDS,
        states: Sequence[str] = ENDED,
    ) -> dict[str, Any]:
        """The operation, as soon as it rests in one of the states."""
        limit = time.monotonic() + seconds
        while True:
            found = self.operation(occurrence)
            if found["operationState"] in states:
                return found
            if time.monotonic() > limit:
                raise TackerError(
                    f"{found['operation']} {occurrence} is still "
                    f"{found['operationState']} after {seconds:.0f} s"
                )
            time.sleep(self.pause)

    def run(
        self,
        instance: str,
        action: str,
        body: Body,
        seconds: float = SECONDS,
    ) -> dict[str, Any]:
        """Carry out an operation, to whatever end."""
        return self.wait(self.start(instance, action, body), seconds)

    def done(
        self,
        instance: str,
        action: str,
        body: Body,
        seconds: float = SECONDS,
    ) -> dict[str, Any]:
        """Carry out an operation that has to succeed."""
        ended = self.run(instance, action, body, seconds)
        if ended["operationState"] != "COMPLETED":
            raise TackerError(
                f"{action}: {ended['operationState']}: {ended.get('error')}"
            )
        return ended

    def modify(self, instance: str, body: Body) -> str:
        """Begin to modify Tacker's record of an instance, as an operation.

        Tacker 16's v1 API answers 500 to a GET of that operation.
        """
        path = f"{self.base}/vnf_instances/{instance}"
        answer = self.unless_busy(202, "PATCH", path, dict(body))
        return str(answer.headers["Location"]).rpartition("/")[2]

    def repeat(self, occurrence: str, verb: str) -> requests.Response:
        """Ask for retry, rollback or fail of an operation."""
        path = f"{self.base}/vnf_lcm_op_occs/{occurrence}/{verb}"
        return self.request("POST", path)

    def retry(
        self, occurrence: str, seconds: float = SECONDS
    ) -> dict[str, Any]:
        """Carry out an operation again that rests in FAILED_TEMP."""
        return self._repeat(occurrence, "retry", seconds)

    def rollback(
        self, occurrence: str, seconds: float = SECONDS
    ) -> dict[str, Any]:
        """Roll back an operation that rests in FAILED_TEMP."""
        return self._repeat(occurrence, "rollback", seconds)

    def _repeat(
        self, occurrence: str, verb: str, seconds: float
    ) -> dict[str, Any]:
        before = self.operation(occurrence)
        path = f"{self.base}/vnf_lcm_op_occs/{occurrence}/{verb}"
        self.unless_busy(202, "POST", path)
        # Its state changes some time after the answer, in the conductor.
        limit = time.monotonic() + seconds
        while self.operation(occurrence) == before:
            if time.monotonic() > limit:
                raise TackerError(f"{verb} of {occurrence} does not begin")
            time.sleep(self.pause)
        return self.wait(occurrence, seconds)

    def fail(self, occurrence: str) -> None:
        """Give an operation up that rests in FAILED_TEMP."""
        path = f"{self.base}/vnf_lcm_op_occs/{occurrence}/fail"
        self.request_expecting(200, "POST", path)


# -- Bodies of requests -------------------------------------------------------


def instantiation(
    api: Api,
    vim: Vim,
    files: Sequence[str],
    *,
    flavour: str = "simple",
    level: str = "",
    **params: Any,
) -> dict[str, Any]:
    """The body of an instantiate request; params go to additionalParams."""
    body: dict[str, Any] = {
        "flavourId": flavour,
        "vimConnectionInfo": vim.connection(api.version),
        "additionalParams": {
            "lcm-kubernetes-def-files": list(files),
            **params,
        },
    }
    if level:
        body["instantiationLevelId"] = level
    return body


def scaling(aspect: str, steps: int, **params: Any) -> dict[str, Any]:
    """The body of a scale request: out, or in when steps are negative."""
    return {
        "type": "SCALE_OUT" if steps > 0 else "SCALE_IN",
        "aspectId": aspect,
        "numberOfSteps": abs(steps),
        "additionalParams": params,
    }


def healing(vnfcs: Sequence[str] = (), **params: Any) -> dict[str, Any]:
    """The body of a heal request: of these VNFCs, or of all."""
    body: dict[str, Any] = {}
    if vnfcs:
        body["vnfcInstanceId"] = list(vnfcs)
    if params:
        body["additionalParams"] = params
    return body


def changing(
    vnfd: str, files: Sequence[str], vdus: Sequence[str] = (), **params: Any
) -> dict[str, Any]:
    """The body of a request to change the package; v2 only."""
    return {
        "vnfdId": vnfd,
        "additionalParams": {
            "upgrade_type": "RollingUpdate",
            "lcm-kubernetes-def-files": list(files),
            "vdu_params": [{"vdu_id": vdu} for vdu in vdus],
            **params,
        },
    }


FORCEFUL = {"terminationType": "FORCEFUL"}
"""The body of a terminate request."""
