"""The JSON schema of additionalParams, from the option table.

``make schemas`` writes it to ``request.schema.json``, which the driver reads
and the documentation shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from tacker_k8s_cr.model import option_table
from tacker_k8s_cr.model.option_table.option import YEAR
from tacker_k8s_cr.model.option_table.option import Option
from tacker_k8s_cr.model.option_table.option import Type

Schema = dict[str, Any]

_KIND = r"[A-Z][A-Za-z0-9]*(\.[a-z0-9]([-a-z0-9.]*[a-z0-9])?)?"
_OBJECT = r"/([a-z0-9][-a-z0-9]*/)?[^/\s]+"


def _text(title: str, pattern: str = "") -> Schema:
    form: Schema = {"pattern": pattern} if pattern else {"minLength": 1}
    return {"title": title, "type": "string", **form}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _mapping(properties: Mapping[str, Schema], **more: Any) -> Schema:
    return {
        "title": "a mapping",
        "type": "object",
        "properties": dict(properties),
        **more,
        "additionalProperties": False,
    }


_OBJECTS = _list(
    _text("an object such as ConfigMap/edge/settings", f"^{_KIND}{_OBJECT}$")
)
_RULES = {"$ref": "#/$defs/rules"}
_SUBJECT = {"$ref": "#/$defs/subject"}

_TYPES: Mapping[Type, Schema] = {
    Type.FLAG: {"type": "boolean"},
    Type.SECONDS: {"$ref": "#/$defs/seconds"},
    Type.LIFETIME: {"type": "number", "minimum": 600, "maximum": YEAR},
    Type.URL: {
        "type": "string",
        "pattern": r"^https?://[^/\s@?#]+([/?][^\s#]*)?$",
    },
    Type.ROLE: {
        "type": "string",
        "pattern": "^[A-Za-z0-9]([-A-Za-z0-9.:_]*[A-Za-z0-9])?$",
    },
    Type.NAMESPACE: {
        "type": "string",
        "pattern": "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$",
    },
    Type.FILES: {
        **_list(_text("a name of a file in the package")),
        "minItems": 1,
    },
    Type.EXPECTED_KINDS: {
        "title": "a list of kinds",
        **_list(
            _text(
                "a kind such as Router.example.org, or "
                "Zone.example.org:Cluster where it has no namespaces",
                f"^{_KIND}(:Cluster)?$",
            )
        ),
    },
    Type.OBJECTS: _OBJECTS,
    Type.SUBJECTS: _list(_SUBJECT),
    Type.MACHINES: _list(
        _text("a name of a Machine", "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
    ),
    Type.TRANSFERS: {
        "type": "object",
        "propertyNames": {
            "title": "names of instances",
            "pattern": "^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$",
        },
        "additionalProperties": {"title": "a list of objects", **_OBJECTS},
    },
    Type.READINESS: _list(
        _mapping(
            {
                "of": _SUBJECT,
                "readiness": {
                    "title": "one of status, exists, none",
                    "enum": ["status", "exists", "none"],
                },
                "ready_when": _RULES,
                "failed_when": _RULES,
                "stall_timeout": {"$ref": "#/$defs/seconds"},
            },
            required=["of"],
        )
    ),
    Type.VDUS: {
        "type": "object",
        "additionalProperties": {
            "title": "a mapping with kind and name",
            "type": "object",
            "properties": {
                "kind": _text("a kind", "^[A-Z][A-Za-z0-9]*$"),
                "name": _text("a name of an object"),
            },
            "required": ["kind", "name"],
        },
    },
    Type.ANY: {"title": "true or false"},
}
"""What a value has to be, without its title."""

_DEFINITIONS: Mapping[str, Schema] = {
    "seconds": {
        "title": Type.SECONDS.value,
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": YEAR,
    },
    "rules": {
        "title": "rules such as status.phase=Running or condition=Ready",
        "type": ["string", "array"],
        "minLength": 1,
        "minItems": 1,
        "items": _text("a rule such as status.phase=Running"),
    },
    "subject": _text(
        "a kind such as Deployment.apps, or an object such as "
        "Deployment.apps/edge/web",
        f"^{_KIND}({_OBJECT})?$",
    ),
}


def schema() -> Schema:
    """Return the schema of the additionalParams of all operations."""
    options = option_table.request_options()
    own = _properties([option for option in options if not option.root], "")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a mapping",
        "description": "The additionalParams of a request that tacker-k8s-cr "
        "reads. Other keys are ignored.",
        "type": "object",
        "properties": {
            **{
                option.name: _property(option, ())
                for option in options
                if option.root
            },
            "tacker_k8s_cr": _mapping(
                own, description="The parameters of this project."
            ),
        },
        "$defs": dict(_DEFINITIONS),
    }


def _properties(options: Sequence[Option], parent: str) -> dict[str, Schema]:
    return {
        option.key: _property(option, options)
        for option in options
        if option.parent == parent
    }


def _property(option: Option, options: Sequence[Option]) -> Schema:
    form: Schema
    if option.type is Type.GROUP:
        form = _mapping(_properties(options, option.name))
    elif option.type is Type.CHOICE:
        values = [*option.values]
        form = {"title": f"one of {', '.join(values)}", "enum": values}
    elif option.type is Type.CHOICES:
        one = [*option.values]
        form = {
            "title": f"a list of {', '.join(one)}",
            **_list({"title": f"one of {', '.join(one)}", "enum": one}),
        }
    else:
        form = {**_TYPES[option.type]}
    if "$ref" not in form:
        form = {"title": option.type.value, **form}
    return {
        **form,
        "description": _description(option),
        "x-operations": [*option.request],
    }


def _description(option: Option) -> str:
    sentence = f"{option.help[:1].upper()}{option.help[1:]}."
    meanings = [f"{value}: {text}" for value, text in option.values.items()]
    return " ".join(filter(None, (sentence, *meanings, option.note)))
