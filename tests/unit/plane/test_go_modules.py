"""What the Go module files say, and what follows for the build."""

from __future__ import annotations

import dataclasses

import pytest

from tools.plane import binaries
from tools.plane import build
from tools.plane import golang
from tools.plane import module_files
from tools.plane import modules
from tools.plane.binaries import Binary

GO_MOD = """module example.org/a

go 1.26.0

require one.example.org/b v1.2.3

require (
\ttwo.example.org/c v0.4.0-rc.1 // indirect
)

replace two.example.org/d => two.example.org/c v9.9.9

tool one.example.org/b/cmd/x
"""


def test_the_go_line_is_read():
    """A module states how old Go may be."""
    assert (1, 26, 0) == modules.go_line(GO_MOD)


def test_without_a_go_line_nothing_is_guessed():
    """A go.mod without the line is refused."""
    with pytest.raises(ValueError, match="go line"):
        modules.go_line("module a\n")


@pytest.mark.parametrize(
    ("path", "version"),
    [("one.example.org/b", "v1.2.3"), ("two.example.org/c", "v0.4.0-rc.1")],
)
def test_a_requirement_is_found_alone_and_in_a_block(path, version):
    """Both forms of require say a module's version."""
    assert version == modules.required(GO_MOD, path)


def test_a_replacement_is_not_a_requirement():
    """Only what is required has a version."""
    with pytest.raises(ValueError, match=r"two\.example\.org/d"):
        modules.required(GO_MOD, "two.example.org/d")


def test_versions_compare_as_numbers():
    """1.9 is older than 1.26."""
    assert modules.numbers("1.9") < modules.numbers("1.26.8")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26, 8)),
        ("go version go1.27rc1 linux/arm64", (1, 27)),
        ("sh: go: not found", None),
        ("", None),
    ],
)
def test_the_version_of_go_is_read(text, version):
    """The version is found in go's own words, or nothing is."""
    assert version == golang.parse_version(text)


@pytest.mark.parametrize("binary", binaries.ALL.values(), ids=str)
def test_a_binary_is_a_tool_of_its_module(binary):
    """A build with -mod=readonly needs the package among the tools."""
    assert binary.package in modules.text(binary.module).split()


@pytest.mark.parametrize("source", module_files.SOURCES, ids=str)
def test_a_source_of_manifests_is_required_by_its_module(source):
    """Manifests and binaries are of one version."""
    assert modules.required(modules.text(source.module), source.path)


@pytest.mark.parametrize("name", ["kube-apiserver", "capi-core"])
def test_the_stamp_is_the_version_of_the_module(name):
    """Cluster API refuses a server that calls itself v0.0.0."""
    binary = binaries.ALL[name]
    path = binary.package.split("/cmd/")[0].removesuffix("/core")
    version = modules.required(modules.text(binary.module), path)

    assert f"gitVersion={version}" in binary.stamp


ONE = Binary("one", "kube", "example.org/one", 10)
TWO = Binary("two", "kube", "example.org/two", 20)
THREE = Binary("three", "kwok", "example.org/three", 5)
FILES = [("kube/go.mod", b"a"), ("kube/go.sum", b"b")]


def test_the_key_does_not_depend_on_an_order():
    """The same modules have their binaries in the same folder."""
    assert binaries.key(FILES, [ONE, TWO]) == binaries.key(
        FILES[::-1], [TWO, ONE]
    )


@pytest.mark.parametrize(
    ("files", "table"),
    [
        ([FILES[0], ("kube/go.sum", b"c")], [ONE]),
        ([("kube/go.mod", b"ab"), ("kube/go.sum", b"")], [ONE]),
        (FILES, [dataclasses.replace(ONE, stamp="-s")]),
        (FILES, [dataclasses.replace(ONE, package="example.org/two")]),
        (FILES, [ONE, TWO]),
    ],
)
def test_the_key_changes_with_all_that_is_built_from(files, table):
    """Module files, flags and packages decide where binaries lie."""
    assert binaries.key(FILES, [ONE]) != binaries.key(files, table)


def test_an_estimate_is_not_part_of_the_key():
    """A better guess of the time rebuilds nothing."""
    patient = dataclasses.replace(ONE, estimate=99)

    assert binaries.key(FILES, [ONE]) == binaries.key(FILES, [patient])


def test_binaries_lie_in_the_cache_of_the_user():
    """XDG_CACHE_HOME is honoured."""
    assert "/there/tacker-k8s-cr/plane" == str(
        binaries.cache({"XDG_CACHE_HOME": "/there"})
    )


def test_binaries_of_one_module_are_built_one_after_the_other():
    """They share packages; the longest line begins first."""
    assert ((ONE, TWO), (THREE,)) == build.lanes([THREE, ONE, TWO])


@pytest.mark.parametrize(
    ("cores", "gigabytes", "wide"),
    [(1, 64, 1), (2, 24, 2), (16, 64, 4), (16, 6, 2), (4, 1, 1)],
)
def test_builds_side_by_side_need_cores_and_memory(cores, gigabytes, wide):
    """As many as the machine carries, and at least one."""
    assert wide == build.width(cores, gigabytes * 2**30)


def test_the_measured_time_wins_over_an_estimate():
    """What this machine did last time is the better forecast."""
    assert "12 s last time" == build.forecast(ONE, {"one": 12.3})
    assert "about 10 s when nothing is cached" == build.forecast(ONE, {})
