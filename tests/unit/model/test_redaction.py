"""What a server quotes of an object is shown without its secrets."""

from __future__ import annotations

import base64
import json
from typing import Any

import hypothesis
from hypothesis import strategies as st
import pytest

from tacker_k8s_cr.model import redaction

PLANTED = "planted-value-0815"


def masked(message: str, obj: dict[str, Any]) -> str:
    return redaction.redact(message, obj["kind"], json.dumps(obj).encode())


def pod(**container: Any) -> dict[str, Any]:
    return {"kind": "Pod", "spec": {"containers": [container]}}


@pytest.mark.parametrize(
    "obj",
    [
        {"kind": "Secret", "stringData": {"any": PLANTED}},
        {"kind": "Secret", "data": {"any": PLANTED}},
        {"kind": "Secret", "data": {"any": [PLANTED]}},
        pod(env=[{"name": "DB_PASSWORD", "value": PLANTED}]),
        pod(env=[{"name": "password", "value": PLANTED}]),
        pod(args=["--upstream-token=" + PLANTED]),
        pod(args=["run", "--password", PLANTED]),
        {"kind": "KubeadmConfig", "spec": {"files": [{"content": PLANTED}]}},
        pod(args=["https://user:" + PLANTED + "@proxy.example.org"]),
        {"kind": "Site", "spec": {"kubeconfig": PLANTED}},
        {"kind": "ConfigMap", "data": {"a": f"x=1\n db.password={PLANTED}\n"}},
        {"kind": "ConfigMap", "data": {"a": f"db:\n  token: '{PLANTED}'"}},
        {"kind": "ConfigMap", "data": {"a": f'  "password": "{PLANTED}",'}},
        {"kind": "Site", "spec": {"apiKey": PLANTED, "deep": [[1]]}},
        {"kind": "Site", "spec": {"users": [{"passwd": PLANTED}]}},
        {"kind": "Site", "spec": {"adminPassword": [PLANTED]}},
        {"kind": "KubeadmConfig", "spec": {"discovery": {"token": PLANTED}}},
    ],
)
@pytest.mark.requirement("P23")
def test_a_secret_is_found_by_its_place(obj):
    """By kind, by the name of its field, or of its variable."""
    said = f'spec: Invalid value: "{PLANTED}": too long'

    assert "planted" not in masked(said, obj)
    assert masked(said, obj).endswith("too long")


@pytest.mark.requirement("P23")
def test_a_value_is_masked_in_each_of_its_forms():
    """As it was sent, as it is stored, and quoted."""
    value = 'planted "0815"\nüber'
    packed = base64.b64encode(value.encode()).decode()
    sent = {"kind": "Secret", "stringData": {"a": value}}
    stored = {"kind": "Secret", "data": {"a": packed}}
    forms = [value, packed, json.dumps(value)]
    forms.append(json.dumps(value, ensure_ascii=False))

    for obj in (sent, stored):
        for form in forms:
            assert "planted" not in masked(f"got {form}", obj)
            assert packed not in masked(f"got {form}", obj)


def test_a_value_that_is_cut_is_masked_too():
    """Servers shorten what they quote; other words stay."""
    value = "planted-" + "0123456789" * 5
    obj = {"kind": "Secret", "stringData": {"a": value}}

    assert "got *** ..." == masked(f"got {value[:40]} ...", obj)
    assert "planted but not it" == masked("planted but not it", obj)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "spec.template: Invalid value: core.PodTemplateSpec{ObjectMeta:"
            'v1.ObjectMeta{Name:""}, Env:[]core.EnvVar{core.EnvVar{Name:"A", '
            'Value:"planted-}\\"{"}}}: field is immutable',
            "spec.template: Invalid value: core.PodTemplateSpec{...}: field "
            "is immutable",
        ),
        (
            "pod updates may not change fields\n  core.PodSpec{\n- \t"
            'Value: "planted-old",\n+ \tValue: "planted-new",\n  }\n',
            "pod updates may not change fields\n  core.PodSpec{...}\n",
        ),
        (
            'Invalid value: map[string]interface {}{"a":"planted-1"}: wrong',
            "Invalid value: map[string]interface {}{...}: wrong",
        ),
        ('got core.PodSpec{A:"planted-cut', "got core.PodSpec{..."),
        (
            'spec: Forbidden\n@@ -13,7 +13,7 @@\n   "Env": [\n'
            '-     "Value": "planted-old",\n+     "Value": "planted-new",\n'
            "    ],\n",
            "spec: Forbidden",
        ),
        ("a {b} c\n- d", "a {b} c\n- d"),
    ],
)
def test_a_whole_object_is_not_quoted(said, shown):
    """It would show the former values too, which are unknown here."""
    assert shown == masked(said, {"kind": "Pod"})


def test_a_short_value_is_masked_as_a_whole_word():
    """It may be a part of any word, which then could not be read."""
    said = 'the webhook "policy.example.org" denied "e", 7 and 271828'
    switch = {"kind": "Secret", "stringData": {"on": "e", "x": "web"}}
    number = {"kind": "Site", "spec": {"password": 271828, "token": True}}

    assert said.replace('"e"', '"***"') == masked(said, switch)
    assert said.replace("271828", "***") == masked(said, number)


def test_what_was_last_applied_is_a_manifest():
    """kubectl's annotation holds all of a Secret, in a text."""
    manifest = {"kind": "Secret", "stringData": {"a": PLANTED}}
    obj = {
        "kind": "Secret",
        "metadata": {
            "annotations": {redaction.LAST_APPLIED: json.dumps(manifest)}
        },
    }

    assert "planted" not in masked(f"invalid: {json.dumps(obj)}", obj)


@pytest.mark.parametrize(
    "obj",
    [
        pod(env=[{"name": "PASSWORD_FILE", "value": "/etc/password"}]),
        pod(env=[{"name": "TOKEN", "valueFrom": {"secretKeyRef": {}}}]),
        pod(volumes=[{"secret": {"secretName": "/etc/password"}}]),
        {"kind": "Site", "spec": {"tokenPath": "/etc/password"}},
        {"kind": "ConfigMap", "data": {"a": "/etc/password"}},
        {"kind": "ServiceAccount", "automountServiceAccountToken": False},
    ],
)
def test_what_only_names_a_secret_stays(obj):
    """An operator needs names and paths to find what is wrong."""
    said = "not found: /etc/password; wanted false"

    assert said == masked(said, obj)


@hypothesis.given(
    st.dictionaries(
        st.text(max_size=5),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=6),
    ),
    st.text(),
)
@hypothesis.settings(max_examples=50)
@pytest.mark.requirement("P23", "K5")
def test_no_value_of_a_secret_is_ever_shown(values, words):
    """Whatever it is, and whatever stands around it."""
    hypothesis.assume(
        not any("***" in v or v in "***" for v in values.values())
    )
    said = words.join(["", *values.values(), ""])

    shown = masked(said, {"kind": "Secret", "stringData": values})

    assert not [v for v in values.values() if v in shown and v not in words]
