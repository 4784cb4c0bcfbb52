"""Hands the kubeconfig of a VNF's workload clusters to a webhook.

A package for Tacker's v2 API carries this file as a script. All it does is
in tacker_k8s_cr.driver.mgmt.v2, and here nothing changes.
"""

import sys

from tacker_k8s_cr.driver.mgmt import v2

if __name__ == "__main__":
    sys.exit(v2.main())
