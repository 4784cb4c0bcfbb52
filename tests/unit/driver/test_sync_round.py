"""The VIMs that are away, during one round over all instances."""

import pytest

from tacker_k8s_cr.driver.sync_round import SyncRound
from tacker_k8s_cr.model import errors

ONE = {"auth_url": "https://one.example.org:6443"}
OTHER = {"auth_url": "https://other.example.org:6443"}
AWAY = errors.Unreachable("https://one.example.org:6443", "it is down")


@pytest.fixture
def read_instance():
    """Read an instance; return the VIMs that were reached, in order."""
    round_ = SyncRound()
    done = []

    def read(instance, access, error=None):
        with round_.inspect(instance, access):
            done.append(access["auth_url"])
            if error:
                raise error

    read.done = done
    return read


def test_an_unreachable_vim_is_tried_once_in_a_round(read_instance):
    """The next of its instances fails at once, with the same reason."""
    with pytest.raises(errors.Unreachable):
        read_instance("a", ONE, AWAY)
    with pytest.raises(errors.Unreachable, match="it is down"):
        read_instance("b", ONE)
    read_instance("c", OTHER)

    assert [ONE["auth_url"], OTHER["auth_url"]] == read_instance.done


def test_the_next_round_asks_again(read_instance):
    """A round is over when an instance comes again."""
    with pytest.raises(errors.Unreachable):
        read_instance("a", ONE, AWAY)
    with pytest.raises(errors.Unreachable):
        read_instance("b", ONE)

    read_instance("a", ONE)
    read_instance("b", ONE)

    assert 3 == len(read_instance.done)


def test_another_error_is_one_of_the_instance(read_instance):
    """The VIM is there; the others can be looked at."""
    with pytest.raises(errors.InstanceNotFound):
        read_instance("a", ONE, errors.InstanceNotFound("a", "edge"))
    read_instance("b", ONE)

    assert 2 == len(read_instance.done)
