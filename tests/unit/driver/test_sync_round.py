"""The VIMs that are away, during one round over all instances."""

import pytest

from tacker_k8s_cr.driver.sync_round import SyncRound
from tacker_k8s_cr.model import errors

ONE = {"auth_url": "https://one.example.org:6443"}
OTHER = {"auth_url": "https://other.example.org:6443"}
AWAY = errors.Unreachable("https://one.example.org:6443", "it is down")


@pytest.fixture
def asked():
    """Read an instance; return the VIMs that were reached, in order."""
    round_ = SyncRound()
    done = []

    def look(instance, access, error=None):
        with round_.inspect(instance, access):
            done.append(access["auth_url"])
            if error:
                raise error

    look.done = done
    return look


def test_an_unreachable_vim_is_tried_once_in_a_round(asked):
    """The next of its instances fails at once, with the same reason."""
    with pytest.raises(errors.Unreachable):
        asked("a", ONE, AWAY)
    with pytest.raises(errors.Unreachable, match="it is down"):
        asked("b", ONE)
    asked("c", OTHER)

    assert [ONE["auth_url"], OTHER["auth_url"]] == asked.done


def test_the_next_round_asks_again(asked):
    """A round is over when an instance comes again."""
    with pytest.raises(errors.Unreachable):
        asked("a", ONE, AWAY)
    with pytest.raises(errors.Unreachable):
        asked("b", ONE)

    asked("a", ONE)
    asked("b", ONE)

    assert 3 == len(asked.done)


def test_another_error_is_one_of_the_instance(asked):
    """The VIM is there; the others can be looked at."""
    with pytest.raises(errors.InstanceNotFound):
        asked("a", ONE, errors.InstanceNotFound("a", "edge"))
    asked("b", ONE)

    assert 2 == len(asked.done)
