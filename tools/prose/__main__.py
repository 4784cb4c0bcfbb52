"""List the places where a text does not use the terms of the field."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import pathlib
import re
import subprocess
import sys

import yaml

from tools.prose import texts

PATTERNS = pathlib.Path(__file__).with_name("patterns.yaml")
# Texts that others wrote, and data that has to contain the patterns.
SKIPPED = re.compile(
    r"^(tools/prose/|tests/unit/prose/|doc/source/reference/requirements)"
    r"|/testdata/|\.lock$"
)


@dataclasses.dataclass(frozen=True)
class Rule:
    """A pattern that no text contains, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """What one place of a file contains, by a rule."""

    path: str
    line: int
    found: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: “{self.found}”: {self.instead}"


def read_rules(path: pathlib.Path = PATTERNS) -> list[Rule]:
    """Read the rules.

    :raises re.error: a pattern is not a regular expression.
    """
    return [
        Rule(re.compile(row["pattern"], re.IGNORECASE), row["instead"])
        for row in yaml.safe_load(path.read_text("utf-8"))
    ]


def find(
    text: texts.Text, rules: Sequence[Rule]
) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the words and the advice for each match in a text."""
    prose = texts.blank_literals(text.text)
    ends = [match.start() for match in re.finditer("\n", prose)]
    flat = re.sub(r"\s", " ", prose)
    for rule in rules:
        for match in rule.pattern.finditer(flat):
            line = text.line + bisect.bisect_left(ends, match.start())
            yield line, match.group(), rule.instead


def check(paths: Sequence[str], rules: Sequence[Rule]) -> list[Finding]:
    """Return what the rules find in the files, by file and line."""
    return sorted(
        {
            Finding(path, line, found, instead)
            for path in paths
            if not SKIPPED.search(path)
            for text in texts.read_texts(pathlib.Path(path))
            for line, found, instead in find(text, rules)
        },
        key=lambda finding: (finding.path, finding.line, finding.found),
    )


def list_files() -> list[str]:
    """Return the files that the repository tracks."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], check=True, capture_output=True, text=True
    )
    return [path for path in done.stdout.split("\0") if path]


def main(arguments: Sequence[str]) -> int:
    """Print what is found in the named files, or in all; 1 if anything is."""
    paths = list_files()
    if arguments:
        paths = [p for p in paths if p.startswith(tuple(arguments))]
    findings = check(paths, read_rules())
    for finding in findings:
        print(finding)
    print(f"prose: {len(findings)} findings in {len(paths)} files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
