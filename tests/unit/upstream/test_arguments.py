"""The suites and columns of Tacker's tests, and the entries on them."""

from __future__ import annotations

import dataclasses
import importlib.util
import pathlib
import re
import socket

import pytest

from tools.upstream import columns
from tools.upstream import expected
from tools.upstream import suites
from tools.upstream.errors import UpstreamError

EXPECTATIONS = expected.load()
OPTIONS = [one.name.partition(".")[2] for one in columns.COMPATIBILITY]


def test_all_are_chosen_when_none_is_named():
    """Suites and columns, in their usual order."""
    assert suites.SUITES == suites.choose([])
    assert columns.COLUMNS == columns.choose([])


def test_the_order_is_not_that_of_the_names():
    """The table looks the same from run to run."""
    found = suites.choose(["v1", "v2"])

    assert ["v2", "v1"] == [suite.name for suite in found]


def test_a_driver_chooses_its_columns():
    """Ours has two."""
    found = columns.choose([], ["kubernetes_cr"])

    assert ["defaults", "compatible"] == [column.name for column in found]


@pytest.mark.parametrize(
    "choose",
    [
        lambda: suites.choose(["v3"]),
        lambda: columns.choose(["v3"]),
        lambda: columns.choose([], ["v3"]),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_exist(choose):
    """A typing error runs nothing."""
    with pytest.raises(UpstreamError, match=r"v3; expected"):
        choose()


def test_a_used_port_is_refused_with_its_holder():
    """Before anything is started."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        suite = dataclasses.replace(suites.SUITES[0], ports=(port,))
        with pytest.raises(UpstreamError, match=f"port {port} is held by"):
            suites.check_ports([suite])

    suites.check_ports([suite])


def test_the_defaults_differ_from_the_compatible_column_by_options_only():
    """Nothing else may make a test pass."""
    defaults, compatible = columns.choose([], ["kubernetes_cr"])

    assert set(columns.COMPATIBILITY) == set(compatible.options) - set(
        defaults.options
    )


def test_every_compatibility_option_exists():
    """In the group of our driver."""
    from tacker_k8s_cr.driver import options

    known = {f"tacker_k8s_cr.{option.name}" for option in options.OPTIONS}
    own = {*columns.COMPATIBILITY, *columns.OUR_TIME_LIMITS}

    assert set() == {option.name for option in own} - known


def _tests():
    """By file, the names of Tacker's functional tests."""
    spec = importlib.util.find_spec("tacker")
    if spec is None or spec.origin is None:
        pytest.skip("Tacker is not installed")
    folder = pathlib.Path(spec.origin).parent / "tests" / "functional"
    return {
        path: path.read_text()
        for path in folder.glob("sol_kubernetes*/**/test_*.py")
    }


@pytest.mark.parametrize(
    "test",
    sorted(
        {test for one in EXPECTATIONS.outcomes for test in one.tests}
        | {one.test for one in EXPECTATIONS.causes}
    ),
)
def test_an_entry_names_a_test_of_tacker(test):
    """One that does not exist could never be compared."""
    file, cls, name = test.split("::")
    found = [
        text for path, text in _tests().items() if str(path).endswith(file)
    ]

    assert any(
        re.search(rf"class {cls}\b", text)
        and re.search(rf"def {name}\b", text)
        for text in found
    )


def test_every_file_of_tests_is_in_a_suite():
    """Those of a later Tacker are noticed."""
    paths = [path for suite in suites.SUITES for path in suite.arguments]

    assert [] == [
        path
        for path in map(str, _tests())
        if not any(known in path for known in paths)
    ]


def test_every_pattern_is_a_regular_expression():
    """Else a run would end before its table."""
    for entry in EXPECTATIONS.outcomes:
        re.compile(entry.match)
        assert {*entry.columns} <= {"all", "compatible", "defaults", "tacker"}
        assert entry.option in {"", *OPTIONS}
    for cause in EXPECTATIONS.causes:
        re.compile(cause.ours)
        re.compile(cause.theirs)
