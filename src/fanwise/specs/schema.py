"""JSON schemas of files, so that editors complete and check them: `fanwise schema matrix`.

They are made from the models that check the files. Where such a model also takes a shorter form
(text for a mapping, one thing for a list), the schema takes any plain value there. So it knows less
than `fanwise check`, and never calls a good file wrong.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from fanwise.specs.model import SpecModel

DIALECT = "https://json-schema.org/draft/2020-12/schema"
CHECKS = {"_note_known_keys", "_old_words"}
"""Functions of models that look at what was given, and take no shorter form."""


def schema_of(kind: type[SpecModel], key: str | None = None) -> dict[str, Any]:
    """The schema of a file: of a mapping like this, or of one under this key."""
    made = kind.model_json_schema(schema_generator=_FileSchema)
    shared = made.pop("$defs", {})
    if key is not None:
        shared |= {kind.__name__: made}
        made = {
            "type": "object",
            "properties": {key: {"$ref": f"#/$defs/{kind.__name__}"}},
            "required": [key],
        }
    return {"$schema": DIALECT, **made, "$defs": shared}


class _FileSchema(GenerateJsonSchema):
    """Schemas with the docstrings of fields, and with room for shorter forms."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def model_schema(self, schema: Any) -> dict[str, Any]:
        made = super().model_schema(schema)
        properties = made.get("properties", {})
        for name, text in _field_docstrings(schema["cls"]).items():
            field = schema["cls"].model_fields.get(name)
            key = name if field is None else field.alias or name
            if key in properties:
                properties[key] = {**properties[key], "description": text}
        return _with_short_forms(made, self.resolve_ref_schema) if _is_wide(schema) else made

    def function_before_schema(self, schema: Any) -> dict[str, Any]:
        made = super().function_before_schema(schema)
        if _inside(schema)[-1]["type"] == "model-fields":  # then the model's own schema is widened
            return made
        return _with_short_forms(made, self.resolve_ref_schema)

    def resolve_ref_schema(self, made: dict[str, Any]) -> dict[str, Any]:
        """What a schema refers to, perhaps itself."""
        while "$ref" in made:
            made = self.get_schema_from_definitions(made["$ref"]) or {}
        return made


def _inside(schema: Any) -> list[Any]:
    """The functions around a schema, from the outside in, and the schema itself."""
    found = [schema]
    while found[-1]["type"].startswith("function-"):
        found.append(found[-1]["schema"])
    return found


def _is_wide(model: Any) -> bool:
    """Whether a function of the model sees what was given before its fields do."""
    before = [each for each in _inside(model["schema"]) if each["type"] == "function-before"]
    names = {getattr(each["function"]["function"], "__name__", "") for each in before}
    return bool(names - CHECKS)


def _with_short_forms(made: dict[str, Any], resolve: Any) -> dict[str, Any]:
    kind = resolve(made).get("type")
    if kind == "object":
        values = made.get("additionalProperties")
        if isinstance(values, dict):
            made = {**made, "additionalProperties": {"anyOf": [values, {"type": "string"}]}}
        return {"anyOf": [made, {"type": ["string", "number", "array"]}]}
    if kind == "array":
        each = [made["items"]] if made.get("items") else []
        return {"anyOf": [made, *each, {"type": "string"}]}
    return {"anyOf": [made, {"type": ["string", "number", "array"]}]}


def _field_docstrings(kind: type) -> dict[str, str]:
    """The text under each field of a class and of those that it is made from."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each in (SpecModel, object) or not issubclass(each, SpecModel):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(tree, ast.ClassDef)
        for part, after in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                match after:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        found[part.target.id] = inspect.cleandoc(text).replace("\n", " ")
    return found
