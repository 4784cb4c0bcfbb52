"""Deliver the kubeconfigs of a VNF's workload clusters to a webhook.

Tacker compares this file with its copy in a VNF package, byte for byte. It
therefore only delegates to tacker_k8s_cr.driver.mgmt.v1, and does not change.
"""

from typing import Any

from tacker.vnfm.mgmt_drivers.vnflcm_noop import VnflcmMgmtNoop

from tacker_k8s_cr.driver.mgmt import v1


class KubeconfigWebhook(VnflcmMgmtNoop):  # type: ignore[misc]
    """The driver kubeconfig-webhook of a VNFD and Tacker's configuration."""

    def get_type(self) -> str:
        return "kubeconfig-webhook"

    def get_name(self) -> str:
        return "kubeconfig-webhook"

    def get_description(self) -> str:
        return "Delivers kubeconfigs of workload clusters to a webhook"

    def instantiate_start(self, **call: Any) -> None:
        v1.run_hook("instantiate_start", call)

    def instantiate_end(self, **call: Any) -> None:
        v1.run_hook("instantiate_end", call)

    def terminate_start(self, **call: Any) -> None:
        v1.run_hook("terminate_start", call)

    def terminate_end(self, **call: Any) -> None:
        v1.run_hook("terminate_end", call)

    def scale_start(self, **call: Any) -> None:
        v1.run_hook("scale_start", call)

    def scale_end(self, **call: Any) -> None:
        v1.run_hook("scale_end", call)

    def heal_start(self, **call: Any) -> None:
        v1.run_hook("heal_start", call)

    def heal_end(self, **call: Any) -> None:
        v1.run_hook("heal_end", call)

    def change_external_connectivity_start(self, **call: Any) -> None:
        v1.run_hook("change_external_connectivity_start", call)

    def change_external_connectivity_end(self, **call: Any) -> None:
        v1.run_hook("change_external_connectivity_end", call)

    def modify_information_start(self, **call: Any) -> None:
        v1.run_hook("modify_information_start", call)

    def modify_information_end(self, **call: Any) -> None:
        v1.run_hook("modify_information_end", call)
