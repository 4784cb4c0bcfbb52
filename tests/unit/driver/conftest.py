"""What tests of the driver need of Tacker."""

import contextlib

import pytest

from tests import host

host.load()


@pytest.fixture
def options():
    """Sets options of ours, for as long as the test lasts."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(host.configured())
        yield lambda **values: stack.enter_context(host.configured(**values))
