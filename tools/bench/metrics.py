"""How many requests an API server counts as answered: pure.

The server counts them in ``apiserver_request_total``, by verb and resource.
Other clients send requests too: every component renews a Lease every two
seconds. What they send is kept out in three ways: only the resources that an
operation writes are counted, watches are not (a watch counts when it ends, by
whichever client it was opened), and what an idle stretch of the same run
showed is subtracted for the seconds that the measurement took.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import re

RESOURCES = frozenset({"configmaps", "leases", "namespaces", "secrets"})
"""What an operation on ConfigMaps writes, with its record and its lock."""

APPLY = "APPLY"

_LONG = frozenset({"CONNECT", "WATCH"})
_CPU = re.compile(r"^process_cpu_seconds_total (?P<n>\S+)$", re.MULTILINE)
_SAMPLE = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<n>\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclasses.dataclass(frozen=True)
class RequestCount:
    """Requests answered since the server's start, by resource and verb.

    :param processor: seconds of processor time that the server took.
    """

    by_kind: Mapping[tuple[str, str], float]
    moment: float
    processor: float = 0.0

    def total(self, resources: Collection[str] = RESOURCES) -> float:
        return sum(
            number
            for (resource, verb), number in self.by_kind.items()
            if resource in resources and verb not in _LONG
        )

    @property
    def applies(self) -> float:
        """Server-side applies of anything, dry runs too."""
        return sum(n for (_, verb), n in self.by_kind.items() if verb == APPLY)

    def requests(self, resource: str, verb: str) -> float:
        return self.by_kind.get((resource, verb), 0.0)


def parse_metrics(text: str, moment: float) -> RequestCount:
    """The count in a server's metrics, as text.

    :param moment: when they were asked for, in seconds.
    """
    found: dict[tuple[str, str], float] = {}
    for line in text.splitlines():
        sample = _SAMPLE.match(line)
        if sample is None:
            continue
        labels = dict(_LABEL.findall(sample["labels"]))
        key = labels.get("resource", ""), labels.get("verb", "")
        found[key] = found.get(key, 0.0) + float(sample["n"])
    processor = _CPU.search(text)
    return RequestCount(
        found, moment, float(processor["n"]) if processor else 0.0
    )


def rate(before: RequestCount, after: RequestCount) -> float:
    """Requests in a second between two counts."""
    seconds = after.moment - before.moment
    return (after.total() - before.total()) / seconds


def busy_processors(before: RequestCount, after: RequestCount) -> float:
    """How many processors the server kept busy between two counts."""
    seconds = after.moment - before.moment
    return (after.processor - before.processor) / seconds


def requests_between(
    before: RequestCount, after: RequestCount, noise: float = 0.0
) -> float:
    """Requests between two counts, without those of other clients.

    :param noise: requests in a second that other clients send throughout the
        run.
    """
    others = noise * (after.moment - before.moment)
    return max(0.0, after.total() - before.total() - others)
