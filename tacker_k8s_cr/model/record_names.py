"""Names of the Secrets and the Lease of an instance record."""

from __future__ import annotations

from tacker_k8s_cr.model import objects

LABEL = objects.PREFIX + "record"
"""Label on the Secrets and the Lease; not that of the instance's objects."""

PREFIX = "tacker-k8s-cr."
"""Prefix of the names of an instance record, before the instance's name."""
