"""Every command that prints rows prints them for a screen of 80 columns."""

from __future__ import annotations

import io

import pytest

from tacker_k8s_cr.cli import shell
from tacker_k8s_cr.cli import tree
from tacker_k8s_cr.model.objects import ObjectRef
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.objects import Verdict
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.report import ObjectResult
from tacker_k8s_cr.model.report import Report
from tacker_k8s_cr.plan.drift import Drift
from tacker_k8s_cr.plan.drift import DriftReport
from tacker_k8s_cr.plan.drift import DriftRow
from tacker_k8s_cr.plan.forecast import Forecast
from tacker_k8s_cr.plan.forecast import ForecastAction
from tacker_k8s_cr.plan.forecast import ForecastRow as Foreseen

LONG = (
    "vnf-6d3b6a5c-52f0-4a4c-9d3e-8f0f3f0a7c11-control-plane-machine-template"
)
NAMESPACE = "tenant-0b1f9f5a-7c2e-4d7e-8b1a-2f6f0a9d3c44"
IMAGE = "registry.example.org/vnf/router@sha256:" + 64 * "a"
REASON = (
    "the controller reports an error: failed to pull image "
    f"{IMAGE}: not found, and it will try again in five minutes"
)
REFS = (
    ObjectRef("", "ConfigMap", "default", "b"),
    ObjectRef("", "ConfigMap", "default", "a"),
    ObjectRef("cluster.x-k8s.io", "MachineDeployment", NAMESPACE, LONG),
    ObjectRef(
        "controlplane.cluster.x-k8s.io",
        "KubeadmControlPlaneTemplate",
        NAMESPACE,
        LONG,
    ),
    ObjectRef(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "",
        LONG,
    ),
)
STATES = list(State)
REPORT = Report(
    "a",
    "default",
    "any",
    tuple(
        ObjectResult(
            ref, action, Verdict(STATES[n], REASON), "uid", 1.0, (REASON,)
        )
        for n, (ref, action) in enumerate(zip(REFS, Action, strict=False))
    ),
    phase="instantiated",
)
DRIFTS = DriftReport(
    "a",
    "default",
    "instantiated",
    tuple(
        DriftRow(ref, "uid", (way,), REASON)
        for ref, way in zip(REFS, Drift, strict=False)
    ),
    len(REFS),
)
FORECAST = Forecast(
    "a",
    "default",
    tuple(
        Foreseen(ref, fate, REASON)
        for ref, fate in zip(REFS, ForecastAction, strict=False)
    ),
)
REPORTS = {
    **dict.fromkeys(("instantiate", "change", "scale", "heal"), REPORT),
    **dict.fromkeys(("rollback", "terminate", "status"), REPORT),
    "drift": DRIFTS,
    "forecast": FORECAST,
}
FINDINGS = [
    ("error", "[tacker] vnflcm_infra_driver", REASON),
    ("warning", f"handlers {LONG}", IMAGE),
]
"""As ``check`` has them."""


def shown(name, monkeypatch, *argv, columns="80"):
    """The lines that a command prints of its report."""
    monkeypatch.setenv("COLUMNS", columns)
    out = io.StringIO()
    program = shell.Shell(stdout=out, stderr=io.StringIO())
    factory, _, _ = program.command_manager.find_command([name])
    command = factory(program, None, name)
    parser = command.get_parser(name)
    if name == "check":
        args = parser.parse_args([*argv])
        command.formatter = command._formatter_plugins[args.formatter].obj
        command.produce_output(args, command.all_columns, FINDINGS)
    else:
        usual = ["-f", "table", "a"]
        usual += ["p"] if name in ("instantiate", "change", "forecast") else []
        args = parser.parse_args([*usual, *argv])
        command.show(args, REPORTS[name])
    return out.getvalue().splitlines()


def assert_whole(lines, names):
    """No line is too long, and only names are shortened, in the middle."""
    words = {w for text in (*names, REASON, IMAGE) for w in text.split()}
    assert all(len(line) <= 80 for line in lines), lines
    for word in " ".join(lines).split():
        head, cut, tail = word.partition("…")
        assert not cut or any(
            w.startswith(head) and w.endswith(tail) for w in words
        ), word
        assert not cut or word not in words


NAMES = (LONG, NAMESPACE, "a", "b", f"{NAMESPACE}/{LONG}")


@pytest.mark.parametrize("name", REPORTS)
def test_a_table_fits_80_columns(name, monkeypatch):
    """Kinds and verdicts are whole, and the rows are sorted by kind."""
    lines = shown(name, monkeypatch)
    said = "\n".join(lines)

    assert_whole(lines, NAMES)
    for ref in REFS:
        assert ref.kind in said
    kinds = {ref.kind for ref in REFS}
    found = [word for word in said.split() if word in kinds]
    assert sorted(ref.kind for ref in REFS) == found
    for row in REPORTS[name].objects:
        words = {
            "drift": lambda row: [way.value for way in row.drifts],
            "forecast": lambda row: [row.action.value],
        }.get(name, lambda row: [row.action.value])
        assert all(word in said.split() for word in words(row))


def test_the_table_of_check_fits_80_columns(monkeypatch):
    """Its rows keep their order: what is looked at first comes first."""
    lines = shown("check", monkeypatch)

    assert_whole(lines, (f"handlers {LONG}", "[tacker]"))
    assert "error" in "\n".join(lines)


def test_the_tree_fits_80_columns():
    """That of status on a terminal."""
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=80).print(tree.build_tree(REPORT, 80))
    lines = stream.getvalue().splitlines()

    assert_whole([line.rstrip() for line in lines], NAMES)
    for ref in REFS:
        assert any(str(ref.group_kind) in line for line in lines)
    for row in REPORT.objects:
        shown = (
            "deleted" if row.action is Action.DELETED else row.verdict.state
        )
        word = shown if isinstance(shown, str) else shown.value
        assert any(word in line for line in lines)


@pytest.mark.parametrize("name", REPORTS)
def test_a_wide_table_has_everything(name, monkeypatch):
    """All columns, whole names, and kinds with their groups."""
    lines = shown(name, monkeypatch, "--wide")

    assert LONG in "\n".join(lines)
    assert any("MachineDeployment.cluster.x-k8s.io" in line for line in lines)
    if name not in ("drift", "forecast"):
        assert ["UID", "Notes"] == lines[0].split()[-2:]
    assert ("Seconds" in lines[0].split()) == (
        name not in ("status", "drift", "forecast")
    )


@pytest.mark.parametrize("form", ["csv", "value"])
def test_other_formats_do_not_depend_on_the_screen(form, monkeypatch):
    """All columns, and kinds with their groups, for programs."""
    narrow = shown("status", monkeypatch, "-f", form, columns="20")

    assert narrow == shown("status", monkeypatch, "-f", form)
    assert LONG in "\n".join(narrow)
    assert "MachineDeployment.cluster.x-k8s.io" in "\n".join(narrow)


def test_a_column_is_chosen_among_all(monkeypatch):
    """Also one that a table has only when it is wide."""
    assert "UID" == shown("status", monkeypatch, "-c", "UID")[0]


def test_kinds_of_one_name_have_their_groups(monkeypatch):
    """Where two groups have a kind of one name, the group is shown too."""
    refs = [
        ObjectRef("cluster.x-k8s.io", "Cluster", "default", "a"),
        ObjectRef("postgresql.cnpg.io", "Cluster", "default", "a"),
        ObjectRef("apps", "Deployment", "default", "a"),
    ]
    rows = tuple(
        ObjectResult(ref, Action.MANAGED, Verdict(State.CURRENT, "ready"))
        for ref in refs
    )
    monkeypatch.setitem(
        REPORTS, "status", Report("a", "default", "status", rows)
    )

    lines = shown("status", monkeypatch)

    assert [
        "Cluster.cluster.x-k8s.io",
        "Cluster.postgresql.cnpg.io",
        "Deployment",
    ] == [line.split()[0] for line in lines[1:]]


def test_no_rows_print_no_table(monkeypatch):
    """The header alone is for who asks for it."""
    monkeypatch.setitem(
        REPORTS, "drift", DriftReport("a", "default", "instantiated", (), 3)
    )

    assert [] == shown("drift", monkeypatch)
    assert ["Kind  Namespace  Name  Drift  Details"] == (
        shown("drift", monkeypatch, "--print-empty")
    )


def test_a_terminal_without_the_character_is_not_an_error(monkeypatch):
    """What cannot be written in its encoding is replaced."""
    monkeypatch.setenv("COLUMNS", "80")
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    program = shell.Shell(stdout=out, stderr=io.StringIO())
    factory, _, _ = program.command_manager.find_command(["drift"])
    command = factory(program, None, "drift")

    command.show(command.get_parser("drift").parse_args(["a"]), DRIFTS)

    out.flush()
    assert b"?" in raw.getvalue()
