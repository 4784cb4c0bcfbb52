"""The JSON schemas of what commands print and of what requests contain.

``python -m tools.schemas`` writes them from the code's own words and from
the option table. They are part of the package, so that users have them; a
test compares each with what this writes.
"""

from __future__ import annotations

from collections.abc import Mapping
import enum
import json
import pathlib
from typing import Any

from oslo_upgradecheck.upgradecheck import Code

from tacker_k8s_cr.cli.exit_codes import Exit
from tacker_k8s_cr.driver import request_schema
from tacker_k8s_cr.model.objects import State
from tacker_k8s_cr.model.report import Action
from tacker_k8s_cr.model.retries import DEADLINE
from tacker_k8s_cr.model.retries import STALL
from tacker_k8s_cr.plan.drift import Drift
from tacker_k8s_cr.plan.forecast import ForecastAction
from tacker_k8s_cr.plan.journal import Phase

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tacker_k8s_cr" / "cli" / "schemas"
REQUEST = ROOT / "tacker_k8s_cr" / "driver" / "request.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

OPERATIONS = (
    "instantiate",
    "scale",
    "change",
    "heal",
    "rollback",
    "terminate",
)


def text(description: str) -> Schema:
    return {"type": "string", "description": description}


def number(description: str, kind: str = "number") -> Schema:
    return {"type": kind, "minimum": 0, "description": description}


def flag(description: str) -> Schema:
    return {"type": "boolean", "description": description}


def one_of(values: type[enum.Enum], description: str) -> Schema:
    found = [value.value for value in values]
    return {"enum": found, "description": description}


def listed(items: Schema, description: str) -> Schema:
    return {"type": "array", "items": items, "description": description}


def fields(properties: Mapping[str, Schema], description: str = "") -> Schema:
    """An object with exactly these properties."""
    return {
        "type": "object",
        **({"description": description} if description else {}),
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


REF = {
    "group": text("API group of the object; empty for the core group"),
    "kind": text("kind of the object"),
    "namespace": text("namespace; empty for a cluster-scoped object"),
    "name": text("name of the object"),
}
UID = {"uid": text("UID of the object; empty where it is not known")}
NOTES = {
    "notes": listed(
        {"type": "string"}, "what explains the state, or what was done"
    )
}
VERDICT = {
    "state": one_of(State, "state of the object"),
    "reason": text("the sentence that explains the state"),
}
PHASE = {
    "phase": {
        "enum": [*(phase.value for phase in Phase), ""],
        "description": "phase of the instance; empty where it has no record",
    }
}


def head(operation: str) -> Schema:
    """What all reports begin with."""
    return {
        "instance": text("name of the instance"),
        "namespace": text("namespace of the instance"),
        "operation": {"const": operation, "description": "the command"},
        "seconds": number("duration of the command"),
        "requests": number("requests sent to the API server", "integer"),
    }


def report(operation: str, row: Schema, actions: list[str]) -> Schema:
    done = {"enum": actions, "description": "what was done with the object"}
    return fields(
        {
            **head(operation),
            "record_namespace": text("namespace of the instance's record"),
            **PHASE,
            "warnings": listed(
                {"type": "string"},
                "what the author of the package should know",
            ),
            "objects": listed(
                fields({**REF, **UID, "action": done, **row}),
                "the objects of the instance",
            ),
        },
        f"Report of {operation}",
    )


def of_operation(operation: str) -> Schema:
    waited = {"seconds": number("seconds until the object was current")}
    row = {**VERDICT, **waited, **NOTES}
    return report(operation, row, [action.value for action in Action])


def of_status() -> Schema:
    seen = [a.value for a in (Action.MANAGED, Action.SHARED, Action.DELETED)]
    return report("status", {**VERDICT, **NOTES}, seen)


DIFFERENCES = {
    "differences": listed(
        fields(
            {
                "path": text("path of the field"),
                "before": {
                    "type": ["string", "null"],
                    "description": "value now; null where there is none",
                },
                "after": {
                    "type": ["string", "null"],
                    "description": "value as it would be; null for none",
                },
            }
        ),
        "fields that differ; values of secrets are masked",
    )
}


def of_forecast() -> Schema:
    texts = {"type": "string"}
    rollout = fields(
        {
            "machines": {
                "type": ["integer", "null"],
                "description": "number of machines; null where unknown",
            },
            "parts": listed(texts, "which of them; empty for all"),
            "certain": flag("whether they are replaced in any case"),
            "when_deleted": flag("each is replaced when it is deleted"),
            "causes": listed(texts, "the fields that differ"),
        },
        "machines that are replaced",
    )
    row = {
        **REF,
        "forecast": one_of(ForecastAction, "what the change would do"),
        "reason": text("why, where the package alone does not say it"),
        **DIFFERENCES,
        "rollout": {"anyOf": [{"type": "null"}, rollout]},
        "irreversible": listed(texts, "what cannot be undone"),
    }
    return fields(
        {
            **head("forecast"),
            "objects": listed(fields(row), "the objects of both packages"),
        },
        "Report of forecast",
    )


def of_drift() -> Schema:
    ways = one_of(Drift, "a way in which the object differs")
    row = {
        **REF,
        **UID,
        "drift": listed(ways, "how the object differs"),
        "reason": text("a sentence for each way that has one"),
        **DIFFERENCES,
    }
    return fields(
        {
            **head("drift"),
            **PHASE,
            "looked": number("objects that were compared", "integer"),
            "objects": listed(fields(row), "the objects that have drifted"),
        },
        "Report of drift",
    )


def of_check() -> Schema:
    finding = fields(
        {
            "Level": {
                "enum": [code.name.lower() for code in Code],
                "description": "result of the check",
            },
            "Subject": text("what was examined"),
            "Finding": text("the finding"),
        }
    )
    return {**listed(finding, "Findings, in the order of the examination")}


def of_adopt() -> Schema:
    row = fields(
        {
            "API": text("v1 or v2; empty where the id is not known"),
            "Instance": text("id of the VNF instance"),
            "Name": text("name of the VNF instance"),
            "Result": text(
                "adopted, can be adopted, or refused with the reason"
            ),
        }
    )
    return {**listed(row, "VNF instances of Tacker's own driver")}


def error() -> Schema:
    """What takes the place of a report when a command does not succeed."""
    failures = [int(code) for code in Exit if code.name not in _NO_ERRORS]
    problem = fields(
        {
            "where": text("file and document; empty where unknown"),
            "object": {"anyOf": [{"type": "null"}, fields(REF)]},
            "what": text("the reason"),
        }
    )
    unsettled = {
        **REF,
        **VERDICT,
        "age": number("seconds since the object was written"),
        **NOTES,
    }
    not_written = {
        **REF,
        "reason": text("last response of the server, or what it waits for"),
        "until": {
            "type": ["string", "null"],
            "description": "end of the attempts, in UTC; null where unknown",
        },
        "limit": {
            "enum": [DEADLINE, STALL, None],
            "description": "what ends the attempts; null where unknown",
        },
    }
    return fields(
        {
            "type": text("class of the error, or Interrupted"),
            "exit": {"enum": failures, "description": "exit code"},
            "message": text("the message on standard error"),
            "details": listed(problem, "all faults of a refused request"),
            "written": listed(
                fields(REF), "objects that were written and still exist"
            ),
            "unsettled": listed(
                fields(unsettled), "objects that are not as they should be"
            ),
            "not_written": listed(
                fields(not_written), "objects that were still to be written"
            ),
        },
        "Error",
    )


_NO_ERRORS = ("DONE", "DRIFTED")


def schemas() -> dict[str, Schema]:
    """The schema of each command, by its name."""
    found = {name: of_operation(name) for name in OPERATIONS}
    found |= {
        "status": of_status(),
        "forecast": of_forecast(),
        "drift": of_drift(),
    }
    whole = {
        name: {
            "oneOf": [{"$ref": "#/$defs/report"}, {"$ref": "#/$defs/error"}],
            "$defs": {"report": schema, "error": error()},
        }
        for name, schema in found.items()
    }
    whole["check"] = of_check()
    whole["adopt"] = of_adopt()
    return {
        name: {
            "$schema": DIALECT,
            "title": f"Output of tacker-k8s-cr {name} -f json",
            **schema,
        }
        for name, schema in whole.items()
    }


def written(schema: Schema) -> str:
    """A schema as the text of its file."""
    return f"{json.dumps(schema, indent=2)}\n"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, schema in schemas().items():
        (FOLDER / f"{name}.json").write_text(written(schema), "utf-8")
    REQUEST.write_text(written(request_schema.schema()), "utf-8")


if __name__ == "__main__":
    main()
