"""The credential that requests carry, and how long it is valid."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import math


@dataclasses.dataclass(frozen=True, repr=False)
class Credential:
    """Headers of every request, and the client certificate of TLS.

    :param until: on the monotonic clock; the credential is renewed then.
    :param end: likewise; no request is sent with it from then on.
    """

    headers: Mapping[str, str]
    certificate: str = ""
    key: str = ""
    until: float = dataclasses.field(default=math.inf, compare=False)
    end: float = dataclasses.field(default=math.inf, compare=False)
