"""What tests of the driver need of Tacker."""

import contextlib

import pytest

from tests import tacker_host

tacker_host.load_drivers()


@pytest.fixture
def options():
    """Set options of the project, for as long as the test lasts."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(tacker_host.override_configuration())
        yield lambda **values: stack.enter_context(
            tacker_host.override_configuration(**values)
        )
