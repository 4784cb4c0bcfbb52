"""Options of the conductor's configuration file, and their values."""

from oslo_config import cfg
import pytest

from tacker_k8s_cr.driver import configuration
from tacker_k8s_cr.driver import options as options_of_ours
from tacker_k8s_cr.kinds.policy import DEFAULT
from tacker_k8s_cr.kinds.policy import Readiness
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind
from tacker_k8s_cr.model.objects import ObjectRef

PLANTED = "planted-secret-0815"


def read(tmp_path, text):
    """The settings of a configuration file with this group."""
    path = tmp_path / "tacker.conf"
    path.write_text(f"[tacker_k8s_cr]\n{text}\n")
    own = cfg.ConfigOpts()
    own(["--config-file", str(path)], project="test")
    return configuration.settings(own)


@pytest.mark.requirement("P11", "T10")
def test_nothing_has_to_be_set(tmp_path):
    """Without options everything has the value that the reference shows."""
    settings = read(tmp_path, "")

    assert (1800, 1800, 1800, 300, 16) == (
        settings.instantiate_timeout,
        settings.scale_timeout,
        settings.terminate_timeout,
        settings.stall_timeout,
        settings.pool_size,
    )
    assert (True, False, "fail", False) == (
        settings.dry_run,
        settings.resend,
        settings.field_conflicts,
        settings.insecure,
    )
    assert ("", "require", 600, (), "", "") == (
        settings.webhook.url,
        settings.webhook.api_check,
        settings.webhook.timeout,
        settings.webhook.secrets(),
        settings.webhook.bearer_token(),
        settings.webhook.user_password(),
    )


def test_options_are_read(tmp_path):
    """Each option of the file has its place in the settings."""
    settings = read(
        tmp_path,
        "field_conflicts = force\npool_size = 4\ndry_run = false\n"
        "webhook_url = https://hooks.example/a\nwebhook_api_check = skip",
    )

    assert ("force", 4, False, "https://hooks.example/a", "skip") == (
        settings.field_conflicts,
        settings.pool_size,
        settings.dry_run,
        settings.webhook.url,
        settings.webhook.api_check,
    )


def test_a_policy_may_hold_for_all_packages(tmp_path):
    """Kinds are listed; without them the policy is the core's own."""
    policy = read(
        tmp_path,
        "namespace_mode = strict\nreadiness_exists = A.x.org,Pod,A.x.org\n"
        "prune_allow = PersistentVolumeClaim\nprune_protect = Secret, A.x.org",
    ).policy()

    assert DEFAULT == read(tmp_path, "").policy()
    assert "strict" == policy.namespace_mode
    assert (
        Readiness(GroupKind("x.org", "A"), "exists"),
        Readiness(GroupKind("", "Pod"), "exists"),
    ) == policy.readiness
    assert policy.may_prune(ObjectRef("", "PersistentVolumeClaim", "a", "b"))
    assert policy.may_prune(ObjectRef("x.org", "A", "a", "b")) is False


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("prune_protect = a/b/c/d", "[tacker_k8s_cr] prune_protect"),
        (
            "readiness_exists = Pod/a",
            "[tacker_k8s_cr] readiness_exists: Pod/a is an object; expected "
            "a kind, such as Pod",
        ),
    ],
)
def test_a_policy_is_about_kinds(tmp_path, line, said):
    """The error names the option."""
    settings = read(tmp_path, line)

    with pytest.raises(errors.RequestInvalid) as caught:
        settings.policy()

    assert said in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "field_conflicts = guess",
        "pool_size = 0",
        "webhook_api_check = maybe",
        "namespace_mode = mine",
        "heal_timeout = 0",
        "change_timeout = 99999999999",
    ],
)
def test_a_value_that_cannot_be_is_refused(tmp_path, line):
    """The file is refused by oslo, with its own words."""
    with pytest.raises(cfg.ConfigFileValueError):
        read(tmp_path, line)


def test_secrets_come_from_files(tmp_path):
    """Each line of a file is a key, so that one can be changed."""
    (tmp_path / "keys").write_text("one\n\n two \n")
    (tmp_path / "token").write_text("t0ken\n")

    webhook = read(
        tmp_path,
        f"webhook_secret_file = {tmp_path}/keys\n"
        f"webhook_token_file = {tmp_path}/token",
    ).webhook

    assert ("one", "two") == webhook.secrets()
    assert "t0ken" == webhook.bearer_token()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("\n", "is empty"),
        (f"{PLANTED}\n{PLANTED}", "has 2 lines; expected one"),
        (None, "No such file or directory"),
    ],
)
def test_a_file_that_holds_no_token_is_refused(tmp_path, content, said):
    """The error names option and file, and shows nothing of it."""
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    webhook = read(tmp_path, f"webhook_token_file = {path}").webhook

    with pytest.raises(errors.RequestInvalid) as caught:
        webhook.bearer_token()

    assert f"[tacker_k8s_cr] webhook_token_file: {path}" in str(caught.value)
    assert said in str(caught.value)
    assert PLANTED not in str(caught.value)


def test_a_secret_and_its_file_exclude_each_other(tmp_path):
    """Two places for one secret are a mistake, not a precedence."""
    webhook = read(
        tmp_path, f"webhook_token = {PLANTED}\nwebhook_token_file = /x"
    ).webhook

    with pytest.raises(errors.RequestInvalid, match="are both set") as caught:
        webhook.bearer_token()

    assert PLANTED not in str(caught.value)


def test_settings_show_no_secret(tmp_path):
    """Neither their repr nor oslo's log of options holds one."""
    settings = read(
        tmp_path,
        f"webhook_token = {PLANTED}\nwebhook_secret = {PLANTED}\n"
        f"webhook_password = {PLANTED}",
    )

    assert PLANTED == settings.webhook.token
    assert PLANTED not in repr(settings)
    assert {"webhook_secret", "webhook_token", "webhook_password"} == {
        option.dest for option in configuration.OPTIONS if option.secret
    }


def test_the_generator_finds_the_options():
    """Its entry point lists the group with every option, each explained."""
    [(group, options)] = options_of_ours.list_opts()

    assert "tacker_k8s_cr" == group.name
    assert list(configuration.OPTIONS) == options
    assert all(option.help for option in options)
