"""The words of a server, as the author of a manifest needs them.

The messages are those of a kube-apiserver v1.36.3 to a server-side apply
with strict field validation.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.kube.http import server_messages

TYPED = (
    "failed to create typed patch object (default/web; apps/v1, "
    "Kind=Deployment): "
)
CONVERTED = (
    "failed to convert new object (default/s; /v1, Kind=Secret) to proper "
    "version: unable to convert unstructured object to /v1, Kind=Secret: "
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            f"{TYPED}.spec.foo: field not declared in schema",
            "unknown field spec.foo",
        ),
        (
            f"{TYPED}errors:\n  .metadata.fooo: field not declared in schema"
            "\n  .sepc: field not declared in schema",
            "unknown field metadata.fooo; unknown field sepc",
        ),
        (
            f'{TYPED}.spec.template.spec.containers[name="c"].prots: field '
            "not declared in schema",
            'unknown field spec.template.spec.containers[name="c"].prots',
        ),
        (
            f"{TYPED}.spec.replicas: expected numeric (int or float), got "
            "string",
            "field spec.replicas: expected numeric (int or float), got string",
        ),
        (
            f"{TYPED}.data.a: expected string, got &value.valueUnstructured"
            "{Value:1}",
            "field data.a: expected string; put the value in quotes",
        ),
        (
            f"{TYPED}.data.a: expected string, got &value.valueUnstructured"
            "{Value:map[b:1]}",
            "field data.a: expected string",
        ),
        (
            f"{TYPED}.spec.template: expected map, got &{{x}}",
            "field spec.template: expected map",
        ),
        (
            f"{TYPED}.spec.template.spec.containers: duplicate entries for "
            'key [name="c"]',
            "field spec.template.spec.containers: duplicate entries for key "
            '[name="c"]',
        ),
        (
            f"{CONVERTED}error decoding from json: illegal base64 data at "
            "input byte 0",
            "illegal base64 data at input byte 0",
        ),
        (
            f"{CONVERTED}quantities must match the regular expression 'x'",
            "quantities must match the regular expression 'x'",
        ),
        (
            'Deployment in version "v1" cannot be handled as a Deployment: '
            'strict decoding error: unknown field "spec.foo", unknown field '
            '"spec.bar"',
            "unknown field spec.foo, unknown field spec.bar",
        ),
        (
            'Deployment.apps "web" is invalid: spec.replicas: Invalid value: '
            "-1: must be greater than or equal to 0",
            "spec.replicas: Invalid value: -1: must be greater than or equal "
            "to 0",
        ),
        ('admission webhook "a" denied the request: no', None),
        ("etcdserver: leader changed", None),
    ],
)
def test_the_servers_message_about_a_manifest(said, expected):
    """The field and the reason stay; what the reader has already does not."""
    assert (expected or said) == server_messages.plain_text(said)


@given(st.text())
def test_other_words_are_left_as_they_are(said):
    """A message never becomes empty, and plain words stay as they are."""
    once = server_messages.plain_text(said)

    assert bool(said) == bool(once)


def test_invalid_fields_are_reported_one_by_one():
    """Each with its path and the library's own words."""
    several = (
        f'{TYPED}errors:\n  .spec.containers[name="c"].foo: field not '
        "declared in schema\n  .spec.replicas: expected numeric (int or "
        "float), got string"
    )

    assert (
        (
            '.spec.containers[name="c"].foo',
            "field not declared in schema",
        ),
        (".spec.replicas", "expected numeric (int or float), got string"),
    ) == server_messages.fields(several)
    assert () == server_messages.fields("etcdserver: leader changed")
