"""How strictly manifests are compared with the schemas of their kinds.

The values are those of the field ``fieldValidation`` of Kubernetes' API.
"""

from __future__ import annotations

from tacker_k8s_cr.model.errors import RequestInvalid

STRICT = "strict"
"""Unknown and repeated fields are faults."""

WARN = "warn"
"""They are warnings: unknown fields are left out, the last repeated counts."""


def is_lenient(field_validation: str) -> bool:
    """Return whether unknown and repeated fields are warnings, not faults.

    :raises RequestInvalid: it is neither ``strict`` nor ``warn``.
    """
    if field_validation not in (STRICT, WARN):
        raise RequestInvalid(
            f"field_validation: expected {STRICT} or {WARN}, got "
            f"{field_validation!r}"
        )
    return field_validation == WARN
