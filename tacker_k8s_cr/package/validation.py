"""How strictly manifests are held against the schemas of their kinds.

The words are those of the field ``fieldValidation`` of Kubernetes' API.
"""

from __future__ import annotations

from tacker_k8s_cr.errors import RequestInvalid

STRICT = "strict"
"""Unknown fields, and fields that are there twice, are faults."""

WARN = "warn"
"""They are warnings: the first are left out, of the others the last counts."""


def is_lenient(field_validation: str) -> bool:
    """Whether unknown and repeated fields are warnings and no faults.

    :raises RequestInvalid: it is neither ``strict`` nor ``warn``.
    """
    if field_validation not in (STRICT, WARN):
        raise RequestInvalid(
            f"field_validation: expected {STRICT} or {WARN}, got "
            f"{field_validation!r}"
        )
    return field_validation == WARN
