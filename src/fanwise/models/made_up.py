"""A value that a JSON schema allows, made up: what a simulated model says to one."""

from __future__ import annotations

from random import Random
from typing import Any


def made_up(schema: Any, chance: Random) -> Any:
    """Enough for the schemas that people give to models; others may not match, as in life."""
    if not isinstance(schema, dict):
        return {}
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return chance.choice(schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return made_up(chance.choice(schema[several]), chance)
    kind = schema.get("type", "object")
    return _of_kind(kind[0] if isinstance(kind, list) else kind, schema, chance)


def _of_kind(kind: str, schema: dict[str, Any], chance: Random) -> Any:
    if kind == "object":
        members = schema.get("properties", {})
        return {name: made_up(member, chance) for name, member in members.items()}
    if kind == "array":
        count = max(1, schema.get("minItems", 1))
        return [made_up(schema.get("items", {}), chance) for _ in range(count)]
    if kind in ("integer", "number"):
        least = schema.get("minimum", 0)
        number = chance.randint(int(least), max(int(least), int(schema.get("maximum", least + 10))))
        return number if kind == "integer" else float(number)
    if kind == "boolean":
        return chance.random() < 0.5
    return None if kind == "null" else "simulated".ljust(schema.get("minLength", 0), ".")
