"""Handlers of third parties in the registry."""

from __future__ import annotations

import sys

import pytest

from tacker_k8s_cr import kinds
from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.kinds import plugins
from tacker_k8s_cr.kinds.base import Handler
from tacker_k8s_cr.model import errors
from tacker_k8s_cr.model.objects import GroupKind

WIDGET = GroupKind("example.org", "Widget")
MINE = {WIDGET: Handler(base.stored)}


def test_a_mapping_joins_the_registry():
    """Its handlers win, and know whose they are."""
    deployment = GroupKind("apps", "Deployment")

    found = plugins.with_plugins(
        kinds.BUILT_IN, [("mine", {**MINE, deployment: Handler(base.stored)})]
    )

    assert "mine" == found[WIDGET].name == found[deployment].name
    assert base.current("stored") == found[deployment].assess({})


def test_a_function_may_give_the_mapping():
    """It is called once the plug-in is loaded."""
    found = plugins.with_plugins(kinds.BUILT_IN, [("mine", lambda: MINE)])

    assert "mine" == found[WIDGET].name


def test_without_plugins_the_registry_is_the_built_in_one():
    """Nothing is made for nothing."""
    assert kinds.BUILT_IN is plugins.with_plugins(kinds.BUILT_IN, [])


def fails():
    raise OSError("no such device")


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (None, "it gives no mapping of GroupKind to Handler"),
        ({"Widget": Handler(base.stored)}, "it gives no mapping"),
        ({WIDGET: base.stored}, "it gives no mapping"),
        (fails, "it raised OSError: no such device"),
        (
            {WIDGET: Handler(base.stored, replicas="spec.size")},
            "Widget.example.org: replicas must be a tuple",
        ),
    ],
)
def test_a_plugin_that_cannot_be_used_is_named(plugin, said):
    """Leaving it out would judge its kinds by other rules."""
    with pytest.raises(errors.PluginInvalid) as caught:
        plugins.with_plugins(kinds.BUILT_IN, [("mine", plugin)])

    assert str(caught.value).startswith("handlers of the entry point mine: ")
    assert said in str(caught.value)


def test_two_plugins_for_one_kind_are_refused():
    """Which of them counts is not left to the order of installation."""
    with pytest.raises(errors.PluginInvalid, match="a describes Widget"):
        plugins.with_plugins(kinds.BUILT_IN, [("a", MINE), ("b", MINE)])


def test_two_plugins_may_have_one_name():
    """Each is of another distribution; both count."""
    other = GroupKind("example.org", "Gadget")

    found = plugins.with_plugins(
        kinds.BUILT_IN,
        [("mine", MINE), ("mine", {other: Handler(base.stored)})],
    )

    assert "mine" == found[WIDGET].name == found[other].name


def test_an_error_of_a_handler_names_its_plug_in():
    """The plug-in, the kind and the object are named."""

    def stumbles(obj):
        return base.current(obj["status"]["phase"])

    found = plugins.with_plugins(
        kinds.BUILT_IN, [("mine", {WIDGET: Handler(stumbles)})]
    )
    obj = {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "ns"},
    }

    with pytest.raises(
        errors.HandlerFailed,
        match=r"point mine: Widget\.example\.org/ns/a: assess raised KeyError",
    ):
        found[WIDGET].assess(obj)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a distribution with an entry point, as pip would."""

    def install(value, code):
        info = tmp_path / "third_party-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            f"[{plugins.NAMESPACE}]\nwidgets = {value}\n"
        )
        (tmp_path / "third_party_widgets.py").write_text(code)
        monkeypatch.syspath_prepend(str(tmp_path))
        # stevedore keeps what it found on disk and in memory.
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.delitem(sys.modules, "third_party_widgets", False)

    return install


CODE = """
from tacker_k8s_cr.kinds import base
from tacker_k8s_cr.model.objects import GroupKind

HANDLERS = {GroupKind("example.org", "Widget"): base.Handler(base.stored)}
"""


@pytest.mark.requirement("TK-2")
def test_an_installed_plugin_is_found(installed, evaluate_in_new_process):
    """By its entry point, without being named anywhere."""
    installed("third_party_widgets:HANDLERS", CODE)

    found = evaluate_in_new_process(
        "plugins.registry()[GroupKind('example.org', 'Widget')]"
    )

    assert "name='widgets'" in found


def test_an_installed_plugin_that_does_not_load_is_an_error(
    installed, evaluate_in_new_process
):
    """The entry point and the cause are named."""
    installed("third_party_widgets:MISSING", CODE)

    found = evaluate_in_new_process("plugins.registry()")

    assert "handlers of the entry point widgets" in found
    assert "third_party_widgets:MISSING cannot be loaded" in found


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import surely_not_installed", "ModuleNotFoundError: No module"),
        ("assert not 'a chance'", "AssertionError"),
        ("raise SystemExit('no licence')", "SystemExit: no licence"),
    ],
)
def test_a_plugin_that_raises_while_it_is_loaded_is_an_error(
    installed, evaluate_in_new_process, line, said
):
    """Whatever it raises: nothing goes on without it."""
    installed("third_party_widgets:HANDLERS", line)

    found = evaluate_in_new_process("plugins.registry()")

    assert (
        "handlers of the entry point widgets: third_party_widgets:HANDLERS "
        f"cannot be loaded: {said}"
    ) in found


@pytest.fixture
def evaluate_in_new_process(tmp_path):
    """Evaluates in a new process, which sees what is installed by then."""
    import os
    import subprocess

    def run(expression):
        code = (
            "from tacker_k8s_cr.kinds import plugins\n"
            "from tacker_k8s_cr.model import errors\n"
            "from tacker_k8s_cr.model.objects import GroupKind\n"
            f"try:\n    print({expression})\n"
            "except errors.Error as error:\n    print(error)\n"
        )
        return subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
        ).stdout

    return run
