"""The arguments of the command line, and what they choose."""

from __future__ import annotations

import argparse
import pathlib

from tools.upstream import cluster
from tools.upstream import columns
from tools.upstream import suites
from tools.upstream.columns import Column
from tools.upstream.suites import Suite

SMOKE = (
    "test_basic_lcms_min or test_inst_term_cnf_with_config_map "
    "or test_scale_cnf_with_replicaset"
)
"""Tests of both versions that take seconds."""


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="python -m tools.upstream",
        description="Tacker's own functional tests for Kubernetes, unchanged, "
        "against this project's driver and Tacker's own.",
        epilog="Results are kept: a second run carries out the tests that "
        "have none yet for the same state of the project.",
    )
    found.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="NAME",
        help="suite to run, repeatable [all]: "
        + ", ".join(suite.name for suite in suites.SUITES),
    )
    found.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME",
        help="configuration of Tacker, repeatable [all]: "
        + ", ".join(column.name for column in columns.COLUMNS),
    )
    found.add_argument(
        "--driver",
        action="append",
        default=[],
        metavar="NAME",
        help=f"only columns of this driver: {columns.OURS} or "
        f"{columns.THEIRS}, repeatable [both]",
    )
    found.add_argument(
        "-k",
        dest="expression",
        default="",
        metavar="EXPRESSION",
        help="only tests that match, as in pytest [all]",
    )
    found.add_argument(
        "--smoke",
        action="store_true",
        help="three short tests with our driver and compatibility options",
    )
    found.add_argument(
        "--fresh",
        action="store_true",
        help="forget the results of earlier runs",
    )
    found.add_argument(
        "--again",
        action="store_true",
        help="run tests again that have failed",
    )
    found.add_argument(
        "--report",
        action="store_true",
        help="run nothing; print the table of the results so far",
    )
    found.add_argument(
        "--results",
        type=pathlib.Path,
        default=pathlib.Path("build/upstream"),
        metavar="FOLDER",
        help="folder of the results [build/upstream]",
    )
    found.add_argument(
        "--output",
        type=pathlib.Path,
        metavar="FILE",
        help="JSON file of the table [table.json in the folder of results]",
    )
    found.add_argument(
        "--folder",
        type=pathlib.Path,
        default=None,
        help="folder of what runs [UPSTREAM_RUN, else one for each user]",
    )
    found.add_argument(
        "--shift",
        type=int,
        default=cluster.SHIFT,
        help="added to the ports of the plane [%(default)s]",
    )
    found.add_argument(
        "--tree",
        default="",
        metavar="FOLDER",
        help="the project to install [the one that this is in]",
    )
    return found


def columns_of(arguments: argparse.Namespace) -> tuple[Column, ...]:
    if arguments.smoke and not (arguments.column or arguments.driver):
        return columns.choose(["compatible"])
    return columns.choose(arguments.column, arguments.driver)


def suites_of(arguments: argparse.Namespace) -> tuple[Suite, ...]:
    if arguments.smoke and not arguments.suite:
        return suites.choose(["v1", "v2"])
    return suites.choose(arguments.suite)


def expression(arguments: argparse.Namespace) -> str:
    return SMOKE if arguments.smoke else str(arguments.expression)
