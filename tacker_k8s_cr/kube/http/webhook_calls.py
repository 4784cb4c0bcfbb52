"""Parse the API server's message about a webhook that it cannot call: pure."""

from __future__ import annotations

import dataclasses
import re

from tacker_k8s_cr.model.errors import Outlook

_CALL = re.compile(
    r'failed calling webhook "(?P<hook>[^"]+)"'
    r"(?:: failed to call webhook)?"
    r'(?:: (?:Post|Get) "[^"]*")?'
    r"(?:: (?P<cause>.*))?",
    re.DOTALL,
)
_CONVERSION = re.compile(
    r"(?P<hook>conversion webhook for [^\"]*?) failed"
    r'(?:: (?:Post|Get) "[^"]*")?'
    r"(?:: (?P<cause>.*))?",
    re.DOTALL,
)

OF_ANY = "(?s)(?:failed calling webhook|conversion webhook for ).*"
"""Start of the server's message about a failed call of either kind."""

OTHER_NAME = (
    r"(?:x509: certificate is valid for .*, not "
    r"|x509: certificate is not valid for any names"
    r"|x509: cannot validate certificate for .* any IP SANs"
    r"|x509: certificate relies on legacy Common Name)"
)
"""Messages of Go's crypto/x509 for a certificate that names another server.
Another ``caBundle`` does not help: the name is checked before the issuer."""

NOT_TRUSTED = (
    r"(?:x509: |tls: |unable to load root certificates"
    r"|server gave HTTP response to HTTPS client"
    r"|the server could not find the requested resource)"
)
"""Messages for a certificate or a server that does not fit the configuration.
What injects the ``caBundle``, or renews the certificate, may come yet."""


@dataclasses.dataclass(frozen=True)
class FailedCall:
    """A webhook that the server could not call.

    :param hook: its name; of a conversion webhook, the kind.
    :param cause: the error, without the request.
    """

    hook: str = ""
    cause: str = ""
    outlook: Outlook = Outlook.OPEN


def parse_failure(said: str) -> FailedCall:
    """Return the failed call that the server's message describes."""
    outlook = Outlook.OPEN
    if re.search(OF_ANY + OTHER_NAME, said):
        outlook = Outlook.NONE
    elif re.search(OF_ANY + NOT_TRUSTED, said):
        outlook = Outlook.DOUBTFUL
    found = _CALL.search(said) or _CONVERSION.search(said)
    if found is None:
        return FailedCall(outlook=outlook)
    cause = " ".join((found["cause"] or "").split())
    return FailedCall(found["hook"], cause, outlook)
