"""The build, with a small script in place of go."""

from __future__ import annotations

import os

import pytest

from tools.plane import build
from tools.plane import golang
from tools.plane import module_files
from tools.plane.binaries import Binary
from tools.plane.binaries import Store
from tools.plane.errors import PlaneError

ONE = Binary("one", "kube", "example.org/one", 1)
TWO = Binary("two", "kube", "example.org/two", 1)
BROKEN = Binary("broken", "kube", "example.org/broken", 1)

GO = """\
#!/bin/sh
if [ "$1" = version ]; then echo "go version go1.99.0 linux/amd64"; exit; fi
for last; do :; done
echo "$last" >> {log}
case $last in
  */broken) echo "undefined: Broken" >&2; exit 1 ;;
esac
while [ "$1" != -o ]; do shift; done
echo built > "$2"; chmod +x "$2"
"""


@pytest.fixture
def built(tmp_path, monkeypatch):
    """The packages that the script was asked to build, so far."""
    log = tmp_path / "built"
    log.touch()
    go = tmp_path / "go"
    go.write_text(GO.format(log=log))
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return lambda: log.read_text().split()


@pytest.fixture
def store(tmp_path):
    """A folder for binaries; the modules' manifests already exist."""
    found = Store(tmp_path / "cache" / "key")
    for source in module_files.SOURCES:
        (found.manifests / source.name).mkdir(parents=True)
    return found


def test_a_build_resumes_where_it_stopped(store, built):
    """What is there is kept; what failed is begun again."""
    with pytest.raises(PlaneError):
        build.build(store, [ONE, BROKEN, TWO], print)
    assert ["example.org/one", "example.org/broken"] == built()

    build.build(store, [ONE, TWO], print)

    assert ["example.org/one", "example.org/broken", "example.org/two"] == (
        built()
    )
    assert () == store.missing([ONE, TWO])


def test_a_failed_build_shows_the_compilers_output(store, built):
    """Name, command and the compiler's words; no half binary is there."""
    with pytest.raises(PlaneError, match=r"(?s)broken: .*undefined: Broken"):
        build.build(store, [BROKEN], print)

    assert (BROKEN,) == store.missing([BROKEN])


def test_an_existing_binary_is_not_built_again(store, built):
    """Not even go is looked for."""
    build.build(store, [ONE], print)
    said = []

    build.build(store, [ONE], said.append)

    assert [] == said
    assert ["example.org/one"] == built()


def test_each_binary_has_a_line_with_its_time(store, built):
    """First the estimate; at the next time what it took."""
    said = []
    build.build(store, [ONE], said.append)
    assert any(
        "one: about 1 s when nothing is cached" in line for line in said
    )
    store.path("one").unlink()

    said.clear()
    build.build(store, [ONE], said.append)

    assert any("one: 0 s last time" in line for line in said)


def test_a_go_on_path_that_is_new_enough_is_used(built, tmp_path):
    """Nothing is installed."""
    said = []

    assert tmp_path / "go" == golang.find((1, 98), said.append)
    assert [] == said
