"""What sdist and wheel hold."""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Files that pbr makes from the history of git; they take time, and a test
# should not leave them in the checkout.
NOT_GENERATED = (
    "SKIP_GENERATE_AUTHORS",
    "SKIP_GENERATE_RENO",
    "SKIP_WRITE_GIT_CHANGELOG",
)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="module")
def dists(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[tarfile.TarFile, zipfile.ZipFile]:
    """The sdist, and the wheel that was built from it."""
    if not (ROOT / ".git").exists():
        pytest.skip("the sdist holds what git lists, and this is not a clone")
    where = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation"]
    subprocess.run(
        [*command, "--outdir", str(where), str(ROOT)],
        check=True,
        capture_output=True,
        env=os.environ | dict.fromkeys(NOT_GENERATED, "1"),
    )
    return (
        tarfile.open(next(where.glob("*.tar.gz"))),
        zipfile.ZipFile(next(where.glob("*.whl"))),
    )


@pytest.mark.parametrize(
    "name",
    [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "mgmt_drivers").glob("*"))
        if path.is_file()
    ],
)
def test_a_management_driver_has_one_hash(dists, name):
    """Checkout, sdist and wheel hold the same bytes of a management driver.

    Tacker compares the installed file with the copy in a VNF package.
    """
    sdist, wheel = dists
    top = sdist.getnames()[0].partition("/")[0]
    expected = _sha256((ROOT / name).read_bytes())

    assert expected == _sha256(sdist.extractfile(f"{top}/{name}").read())
    assert expected == _sha256(wheel.read(name))


@pytest.mark.requirement("TK-20")
def test_the_sdist_holds_the_sample_packages(dists):
    """All files of each, those for Cluster API among them."""
    sdist, _ = dists
    names = sdist.getnames()
    top = names[0].partition("/")[0]
    listed = subprocess.run(
        ["git", "ls-files", "samples/vnf_packages"],
        check=True,
        capture_output=True,
        cwd=ROOT,
        text=True,
    ).stdout.split()

    assert {"capi_management_cluster", "capi_workload_cluster"} <= {
        name.split("/")[2] for name in listed
    }
    assert {f"{top}/{name}" for name in listed} <= set(names)


def test_the_wheel_holds_the_packages_and_nothing_else(dists):
    """The wheel has every module of both packages, and the mark of types."""
    _, wheel = dists
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in ("tacker_k8s_cr", "mgmt_drivers")
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".yaml", ".json", ".typed", ".sh")
    }

    assert expected == {
        name for name in wheel.namelist() if ".dist-info/" not in name
    }
    assert "tacker_k8s_cr/py.typed" in wheel.namelist()
