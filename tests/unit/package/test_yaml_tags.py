"""Tags of YAML mean what they mean to Kubernetes."""

import pytest

from tacker_k8s_cr.package import yaml_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: ! 12", "12"),
        ("a: &x ! 12", "12"),
        ("a: ! &x 12", "12"),
        ("é: ! yes", "yes"),
        ("a: 12", 12),
        ("a: !!str 12", "12"),
    ],
)
def test_a_bare_tag_makes_a_text(text, value):
    """As for kubectl; PyYAML itself resolves the scalar as if untagged."""
    (found,) = yaml_text.read(text)[0].values()

    assert (type(value), value) == (type(found), found)
