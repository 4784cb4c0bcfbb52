"""Which package a command reads: of a CSAR, and from standard input."""

from __future__ import annotations

import pytest

from tests.fakes.cluster import FakeCluster
from tests.unit.cli.run_program import run
from tests.unit.package import csar_builder

BIG = "Definitions/big.yaml"


@pytest.fixture
def csar(tmp_path):
    """A CSAR of two flavours and two definition files."""
    flavours = {
        csar_builder.TOP: csar_builder.top_definitions("df.yaml", "big.yaml"),
        BIG: csar_builder.flavour("big"),
    }
    web = csar_builder.manifest("web", "Deployment").replace(
        "v1", "apps/v1", 1
    )
    artifacts = {
        csar_builder.TWO: f"{csar_builder.manifest('two')}---\n{web}",
        csar_builder.ONE: (
            f"{csar_builder.manifest('one')}---\n{web}spec: {{}}\n"
        ),
    }
    content = csar_builder.files(flavours, artifacts)
    return str(csar_builder.write_archive(tmp_path / "p.zip", content))


def refused(command, *argv):
    """The sentence with which a command refuses its package."""
    code, out, err = run(
        command, "a", *argv, connect=lambda *a, **k: FakeCluster()
    )

    assert (2, "") == (code, out)
    reason, *written, step = err.splitlines()
    writes = command != "forecast"
    assert ["No object was written or deleted."] * writes == written
    assert step.startswith("Correct the ")
    return f"{reason}\n"


@pytest.mark.parametrize("command", ["instantiate", "change", "forecast"])
def test_every_command_with_a_package_takes_a_flavour(command, csar):
    """An unknown one is refused with those that exist."""
    several = refused(command, csar)
    unknown = refused(command, csar, "--flavour", "huge")

    choose = "choose one of: big, simple\n"
    assert f"the package has several flavours; {choose}" == several
    assert f"the package has no flavour huge; {choose}" == unknown


@pytest.mark.parametrize("command", ["instantiate", "change", "forecast"])
def test_every_command_with_a_package_takes_definition_files(command, csar):
    """An unknown one is refused with those that exist."""
    said = refused(command, csar, "--flavour", "big", "--def-file", "x.yaml")

    assert (
        "the definition file x.yaml is not an artifact of the package, whose "
        f"manifests are: {csar_builder.TWO}, {csar_builder.ONE}\n"
    ) == said


def test_the_chosen_files_are_read_in_their_order(csar):
    """Both name one object: the first that is named is the first one."""
    chosen = ("--flavour", "big", "--def-file", csar_builder.ONE)

    assert f"is there twice; the first is in {csar_builder.ONE}" in refused(
        "instantiate", csar, *chosen, "--def-file", csar_builder.TWO
    )


def test_a_flavour_is_chosen_for_a_csar_only(tmp_path):
    """Files have none."""
    path = tmp_path / "a.yaml"
    path.write_text(csar_builder.manifest("a"))

    assert "flavours to choose from" in refused(
        "instantiate", str(path), "--flavour", "big"
    )


def test_a_level_is_chosen_for_a_package_with_a_vnfd_only(tmp_path):
    """Manifests alone have no levels."""
    path = tmp_path / "a.yaml"
    path.write_text(csar_builder.manifest("a"))

    assert "--level 3: the package has no VNFD, so no levels\n" == refused(
        "instantiate", str(path), "--level", "3"
    )


def test_manifests_come_from_standard_input():
    """Any number of documents, such as another program has written."""
    cluster = FakeCluster()
    text = f"{csar_builder.manifest('one')}---\n{csar_builder.manifest('two')}"
    life = {"connect": lambda *args, **how: cluster}

    code, out, err = run(
        *("instantiate", "a", "-", "-f", "value", "-c", "Name"),
        stdin=text.encode(),
        **life,
    )

    assert (0, "one\ntwo\n") == (code, out), err


def test_empty_standard_input_changes_nothing():
    """The program before the pipe failed: that is not an empty package."""
    cluster = FakeCluster()
    life = {"connect": lambda *args, **how: cluster}
    run(
        "instantiate",
        "a",
        "-",
        stdin=csar_builder.manifest("one").encode(),
        **life,
    )

    code, out, err = run("change", "a", "-", **life)

    assert (2, "") == (code, out)
    assert [
        "standard input: has no manifests",
        "No object was written or deleted.",
    ] == err.splitlines()[:2]


def test_without_a_kubeconfig_the_error_lists_how_to_set_one(
    tmp_path, monkeypatch
):
    """No path of a pod: most who forget it are not in one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)

    code, out, err = run("status", "a")

    assert (2, "") == (code, out)
    assert err.startswith("no kubeconfig: use --kubeconfig or set KUBECONFIG")
    assert "/var/run" not in err
