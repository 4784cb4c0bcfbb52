"""Calls of Tacker that this infrastructure driver does not support."""

from __future__ import annotations

from typing import Any, NoReturn

from tacker.vnfm.infra_drivers.abstract_driver import VnfAbstractDriver
from tacker.vnfm.infra_drivers.scale_driver import VnfScaleAbstractDriver

from tacker_k8s_cr.driver.v1 import tacker_errors


class Unsupported(VnfAbstractDriver, VnfScaleAbstractDriver):  # type: ignore[misc]
    """Methods that raise an error with the name of the operation."""

    def scale_out_initial(self, **_: Any) -> NoReturn:
        raise tacker_errors.unsupported("an initial scale out")

    def change_ext_conn_vnf(self, **_: Any) -> NoReturn:
        raise tacker_errors.unsupported("a change of external connectivity")

    def change_ext_conn_vnf_wait(self, **_: Any) -> NoReturn:
        raise tacker_errors.unsupported("a change of external connectivity")

    def post_change_ext_conn_vnf(self, **_: Any) -> NoReturn:
        raise tacker_errors.unsupported("a change of external connectivity")

    # The legacy API, which Tacker no longer has, asked for these.

    def create(self, **_: Any) -> NoReturn:
        raise tacker_errors.unsupported("create")

    def update(self, **_: Any) -> NoReturn:
        raise tacker_errors.unsupported("update")

    def update_wait(self, **_: Any) -> NoReturn:
        raise tacker_errors.unsupported("update_wait")

    def get_resource_info(self, **_: Any) -> NoReturn:
        raise tacker_errors.unsupported("get_resource_info")
