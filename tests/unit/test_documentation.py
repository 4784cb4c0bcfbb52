"""What the documentation shows is what there is."""

from __future__ import annotations

from collections.abc import Iterator
import json
import pathlib
import re
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from tacker_k8s_cr.driver import additional_params
from tacker_k8s_cr.driver import schema

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "doc" / "source"

USE_CASES = {
    "management_cluster": "instantiate",
    "workload_cluster": "instantiate",
    "scale": "scale",
    "update": "change",
}
"""By page, the operation that its requests are of."""


def text(page: str) -> str:
    return (SOURCE / f"{page}.rst").read_text("utf-8")


def blocks(page: str) -> Iterator[Any]:
    """The values of a page's JSON blocks."""
    found = re.finditer(
        r"\.\. code-block:: json\n\n((?: +.*\n|\n)+)", text(page)
    )
    for match in found:
        yield json.loads(textwrap.dedent(match[1]))


@pytest.mark.parametrize("page", USE_CASES)
@pytest.mark.requirement("TK-25")
def test_a_use_case_has_its_page(page: str) -> None:
    """It is in the guide, and its requests are read."""
    operation = USE_CASES[page]
    found = list(blocks(f"user/{page}"))

    assert f"   {page}\n" in text("user/index")
    assert found
    for body in found:
        params = body.get("additionalParams")
        assert isinstance(
            additional_params.read(params, operation),
            additional_params.RequestParams,
        )


def test_the_page_of_parameters_has_them_all() -> None:
    """Tacker's own and ours, with their values' keys."""
    page = text("reference/parameters")
    properties = schema.load()["properties"]
    ours = properties[schema.OWN_KEY]["properties"]

    for key in [*properties, *ours, *ours["webhook"]["properties"]]:
        assert f"``{key}``" in page, key


EXAMPLES = (
    "",
    "readiness",
    "prune",
    "expected_kinds",
    "machines_to_delete",
    "transfer_from",
    "on_terminate",
    "",
)
"""Whose value each block of the page is; empty for whole parameters."""


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_of_parameters_are_read(number: int) -> None:
    """Each block is a request, or the value of one parameter of it."""
    value = list(blocks("reference/parameters"))[number]
    key = EXAMPLES[number]
    operation = "scale" if key == "machines_to_delete" else "instantiate"
    if key:
        params = {schema.OWN_KEY: {key: value}}
    else:
        params = value.get("additionalParams", value)

    assert isinstance(
        additional_params.read(params, operation),
        additional_params.RequestParams,
    )


def test_the_sample_of_the_configuration_is_current(
    tmp_path: pathlib.Path,
) -> None:
    """It is what the options generate; ``make sample-config`` renews it."""
    generator = pathlib.Path(sys.executable).parent / "oslo-config-generator"
    made = tmp_path / "made"
    subprocess.run(
        [generator, "--namespace", "tacker_k8s_cr", "--output-file", made],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )

    committed = ROOT / "etc" / "tacker-k8s-cr.conf.sample"
    assert made.read_text() == committed.read_text()


def test_the_page_of_questions_names_files_that_exist() -> None:
    """One file for each of forty questions."""
    found = re.findall(
        r"^     - ``(\S+\.py)``$", text("contributor/where"), re.M
    )

    assert 40 == len(found)
    missing = [p for p in found if not (ROOT / "tacker_k8s_cr" / p).is_file()]
    assert not missing


def test_the_page_of_one_request_names_files_that_exist() -> None:
    """A test on a real API server checks that each is executed."""
    found = re.findall(
        r"^   \* - ``(\S+\.py)``$", text("contributor/request"), re.M
    )

    assert found
    missing = [p for p in found if not (ROOT / "tacker_k8s_cr" / p).is_file()]
    assert not missing
