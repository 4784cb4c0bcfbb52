"""What a secret looks like in a text, whatever it was packed into: pure.

Every value that a test calls a secret contains ``planted-``. It is found as
it is and in base64, once or twice, wherever it begins there. What servers
make on their own is found by its form: signed tokens and private keys.
"""

from __future__ import annotations

import base64
import re

MARK = "planted-"

_KEY = "PRIVATE KEY-----"


def base64_forms(text: str) -> list[str]:
    """What stays of a text in base64, for each of its three alignments."""
    found = []
    for before in range(3):
        data = bytes(before) + text.encode()
        first, end = -(-before * 8 // 6), len(data) * 8 // 6
        found.append(base64.b64encode(data).decode()[first:end])
    return found


def _forms(text: str) -> list[str]:
    once = base64_forms(text)
    return [
        text,
        *once,
        *(twice for form in once for twice in base64_forms(form)),
    ]


_TOKEN = r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"

PATTERN = re.compile(
    "|".join([*map(re.escape, [*_forms(MARK), *_forms(_KEY)]), _TOKEN])
)


def find_secrets(text: str) -> list[str]:
    """Each secret of the text, with what stands before it on its line."""
    return [
        text[max(text.rfind("\n", 0, at.start()) + 1, at.start() - 60) :][
            : at.end() - at.start() + 80
        ].partition("\n")[0]
        for at in PATTERN.finditer(text)
    ]
