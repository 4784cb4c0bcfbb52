"""Check the rows and the markers; list open rows with ``--open``."""

from __future__ import annotations

import argparse
import itertools
import sys

from tools.requirements import markers
from tools.requirements import rows


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.requirements",
        description="Checks that every requirement has one row and that the "
        "markers of tests name rows. Prints how many rows are proven.",
    )
    parser.add_argument(
        "--open",
        action="store_true",
        help="list the open rows, or their open parts",
    )
    arguments = parser.parse_args()
    groups = rows.read()
    wrong = [*rows.problems(groups), *markers.problems(rows.known())]
    claimed = set(itertools.chain(*(proof.rows for proof in markers.find())))
    every = [row for group in groups for row in group.rows]
    missing = rows.without_proof(groups, claimed)
    wrong += [
        f"row {row.id} names an open part, and no test claims the rest"
        for row in missing
        if row.open and row.id not in claimed
    ]
    for problem in wrong:
        print(f"requirements: {problem}")
    if arguments.open:
        for row in missing:
            print(f"{row.id}: {row.open or row.requirement}")
    print(
        f"requirements: {len(every)} rows, {len(every) - len(missing)} "
        f"proven, {len(missing)} open"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
