"""Instantiations that were given up, on Tacker's own database."""

import uuid

import pytest
from tacker import context as contexts
from tacker.sol_refactored.common import lcm_op_occ_utils

from tacker_k8s_cr.driver.instances import InstanceTarget
from tacker_k8s_cr.driver.v2 import abandoned_instantiation
from tacker_k8s_cr.driver.v2 import lcm_op_occs
from tacker_k8s_cr.model import errors
from tests import tacker_host

HERE = "https://here.example.org:6443"
AWAY = "https://127.0.0.1:9"


@pytest.fixture
def running(tmp_path):
    (tmp_path / "vim_keys").mkdir()
    with tacker_host.running_operation(tmp_path / "vim_keys") as found:
        yield found


@pytest.fixture
def target(running):
    """A new instance; the database is that of the process."""
    return InstanceTarget(
        str(uuid.uuid4()),
        "edge",
        {"vim_id": "here", "auth_url": HERE, "bearer_token": "planted-here"},
        namespace="edge",
    )


@pytest.fixture
def abandoned_attempt(target):
    """Stores an instantiation as Tacker has it when it is over."""

    def store(namespace="edge", state="FAILED", home="", **vim):
        body = {"flavourId": "simple"}
        if namespace:
            body["additionalParams"] = {"namespace": namespace}
        if home:
            ours = {"record_namespace": home}
            body["additionalParams"]["tacker_k8s_cr"] = ours
        if vim:
            body["vimConnectionInfo"] = {
                "vim1": {"vimType": "ETSINFV.KUBERNETES.V_1", **vim}
            }
        made = lcm_op_occ_utils.new_lcmocc(
            target.instance, "INSTANTIATE", body, state
        )
        made.create(contexts.get_admin_context())

    return store


def vim(endpoint, vim_id="there", **access):
    return {
        "vimId": vim_id,
        "interfaceInfo": {"endpoint": endpoint},
        "accessInfo": access,
    }


def test_an_abandoned_instantiation_is_found(target, abandoned_attempt):
    """With its VIM and its namespace; one that was rolled back is not."""
    abandoned_attempt(
        "core", home="rec", **vim(AWAY, bearer_token="planted-0815")
    )
    abandoned_attempt("", **vim(HERE))
    abandoned_attempt("other", "ROLLED_BACK", **vim(HERE))

    found = lcm_op_occs.abandoned_attempts(target.instance)

    assert {("core", "rec", AWAY), ("default", "", HERE)} == {
        (former.namespace, former.record_namespace, former.access["auth_url"])
        for former in found
    }
    assert "planted" not in repr(found)


def test_a_vim_that_only_a_grant_named_is_unknown(target, abandoned_attempt):
    """Tacker deletes the grant, and there is no default VIM."""
    abandoned_attempt()

    assert ({},) == tuple(
        f.access for f in lcm_op_occs.abandoned_attempts(target.instance)
    )
    abandoned_instantiation.check_abandoned(target)


def test_the_credential_of_a_vim_is_that_of_the_database(
    running, target, abandoned_attempt
):
    """That of the operation may have expired or been removed."""
    named = running.vim(AWAY, "planted-new", "")
    abandoned_attempt(**vim(AWAY, named.vim_id, bearer_token="planted-old"))
    abandoned_attempt(**vim(HERE, named.vim_id, bearer_token="planted-old"))

    tokens = {
        former.access["auth_url"]: lcm_op_occs.current_access(former.access)[
            "bearer_token"
        ]
        for former in lcm_op_occs.abandoned_attempts(target.instance)
    }

    assert {AWAY: "planted-new", HERE: "planted-old"} == tokens


def test_the_same_vim_and_namespace_again_are_accepted(
    target, abandoned_attempt
):
    """Existing objects are adopted, whatever the credential was."""
    abandoned_attempt(**vim(f"{HERE}/", bearer_token="planted-old"))

    abandoned_instantiation.check_abandoned(target)


def test_a_vim_that_cannot_be_asked_is_named(target, abandoned_attempt):
    """With its namespace, why, and the ways out.

    Tacker takes the credential out of an operation that is over where it
    encrypts credentials.
    """
    abandoned_attempt("core", **vim(AWAY, username="u"))

    with pytest.raises(errors.AttemptUnverified) as caught:
        abandoned_instantiation.check_abandoned(target)

    said = str(caught.value)
    assert "may have left objects in namespace core of VIM there" in said
    assert "Tacker no longer has its credential" in said
    assert "another VNF instance" in said


def test_a_vim_that_could_not_be_written_to_is_passed_over(
    target, abandoned_attempt, caplog
):
    """Its URL is none: the first try was refused for it."""
    abandoned_attempt(**vim("htps://there", bearer_token="planted-0815"))

    abandoned_instantiation.check_abandoned(target)

    assert "nothing can have been written to namespace edge of VIM there" in (
        caplog.text
    )
    assert "planted" not in caplog.text


def test_a_vim_without_an_id_is_named_by_its_host(target, abandoned_attempt):
    """Its URL may hold a credential."""
    abandoned_attempt(
        **{**vim("https://u:planted@there.example.org"), "vimId": ""},
    )

    with pytest.raises(
        errors.AttemptUnverified,
        match=r"of the VIM at there\.example\.org",
    ) as caught:
        abandoned_instantiation.check_abandoned(target)

    assert "planted" not in str(caught.value)
