"""Deliver the kubeconfigs of a VNF's workload clusters to a webhook.

A package for Tacker's v2 API contains this file as a script. It only delegates
to tacker_k8s_cr.driver.mgmt.v2, and does not change.
"""

import sys

from tacker_k8s_cr.driver.mgmt import v2

if __name__ == "__main__":
    sys.exit(v2.main())
