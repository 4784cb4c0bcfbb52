"""The packages of Tacker's source, packed as its tests and guides do it.

The tree is made of the stand-ins of our own tests for the ETSI types.
"""

from __future__ import annotations

import textwrap

import yaml

from tests.unit.package import csar_builder
from tools import tacker_packages

WRONG = "Hash: of-another-time"


def files(**more):
    """A package whose hashes have not been computed."""
    content = csar_builder.files()
    types = content.pop(csar_builder.TYPES)
    head, *blocks = content[csar_builder.META].decode().split("\n\n")
    listed = [
        "\n".join(
            WRONG if line.startswith("Hash") else line
            for line in block.splitlines()
        )
        for block in blocks
    ]
    meta = "\n\n".join([head, *listed]).encode()
    return types, {**content, csar_builder.META: meta, **more}


def write(folder, content):
    for name, data in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def test_a_package_gets_types_hashes_and_shared_files(tmp_path):
    """As Tacker's tests add them; each flavour is loaded."""
    types, content = files()
    del content[csar_builder.TWO]
    package = tmp_path / "samples/a/contents"
    write(package, content)
    write(
        tmp_path / "samples/b",
        {"two.yaml": csar_builder.manifest("two").encode()},
    )
    write(tmp_path / tacker_packages.TYPES, {"types.yaml": types})

    (found,) = tacker_packages.check_packages(tmp_path)

    assert ("samples/a/contents", "") == (found.path, found.refused)
    assert {"simple": "2 manifests, 1 VDUs"} == found.flavours
    assert 0 == tacker_packages.main([str(tmp_path)])


def test_a_refused_package_is_reported(tmp_path, capsys):
    """With the whole reason; what Tacker refuses too is passed over."""
    types, content = files(**{csar_builder.ONE: b"kind: A\n"})
    write(tmp_path / "samples/a", content)
    write(tmp_path / "samples/tests/x_false_hash", content)
    write(tmp_path / tacker_packages.TYPES, {"types.yaml": types})

    assert 1 == tacker_packages.main([str(tmp_path)])

    out = capsys.readouterr().out
    assert f"REFUSED  samples/a: {csar_builder.ONE}: missing apiVersion" in out
    assert "1 packages, 1 refused" in out


def test_a_guide_shows_a_package_file_by_file(tmp_path):
    """What it lists and does not show is left out of the package."""
    types, content = files()
    shown = {
        f"./deployment/{csar_builder.META}": content[
            csar_builder.META
        ].decode(),
        f"./deployment/{csar_builder.ONE}": content[csar_builder.ONE].decode(),
        "top.yaml": content[csar_builder.TOP].decode(),
        "df.yaml": yaml.safe_dump(
            yaml.safe_load(content[csar_builder.FLAVOUR])
        ),
    }
    blocks = (
        f".. code-block:: console\n\n    $ cat {name}\n"
        + textwrap.indent(text, "    ")
        + "\n\nSome text.\n\n"
        for name, text in shown.items()
    )
    write(
        tmp_path / "doc/source/user",
        {"guide.rst": "".join(blocks).encode() + b".. note::\n\n    x\n"},
    )
    write(tmp_path / tacker_packages.TYPES, {"types.yaml": types})

    (found,) = tacker_packages.check_packages(tmp_path)

    assert ("doc/source/user/guide.rst", "") == (found.path, found.refused)
    assert {"simple": "1 manifests, 1 VDUs"} == found.flavours


def test_a_tree_without_packages_is_an_error(tmp_path):
    """It is probably not Tacker's source."""
    assert 1 == tacker_packages.main([str(tmp_path)])
