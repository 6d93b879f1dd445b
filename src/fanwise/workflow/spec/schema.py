"""The JSON schema of workflow files: which fields a step has depends on its type."""

from __future__ import annotations

from typing import Any

from fanwise.specs.schema import schema_of
from fanwise.workflow.spec.step_types import BUILT_IN
from fanwise.workflow.spec.steps import Nesting, Step, key_of
from fanwise.workflow.spec.workflow_file import FileSpec

STEP = {"$ref": "#/$defs/Step"}
STEPS = {"type": ["array", "null"], "items": STEP}
NESTED: dict[Nesting, Any] = {
    "step": STEP,
    "steps": STEPS,
    "cases": {"type": "object", "additionalProperties": STEPS},
}


def workflow_schema() -> dict[str, Any]:
    """Steps of types that other packages or the project have may hold anything."""
    made = schema_of(FileSpec)
    shared = made["$defs"]
    for name, kind in BUILT_IN.items():
        shared |= _step(name, kind)
    shared["Step"] = {
        "type": "object",
        "required": ["id"],
        "properties": {"type": {"type": "string", "examples": [*BUILT_IN]}},
        "allOf": [
            {
                "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
                "then": {"$ref": f"#/$defs/{name}"},
            }
            for name in BUILT_IN
        ],
    }
    for name in ("steps", "on_end"):
        made["properties"][name] |= {"items": STEP}
    return made


def _step(name: str, kind: type[Step]) -> dict[str, Any]:
    made = schema_of(kind)
    shared: dict[str, Any] = made.pop("$defs")
    del made["$schema"]
    made["properties"]["type"] = {"const": name}
    for field, nesting in kind.nested.items():
        made["properties"][key_of(kind, field)] = NESTED[nesting]
    return {**shared, name: made}
