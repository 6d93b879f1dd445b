"""The text of a reply as the value that its schema asks for.

Providers that promise to keep to a schema do not always; so every reply is checked here, and a
model that cannot promise it is asked in words and checked all the same.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from fanwise.errors import UsageError
from fanwise.models.port import Schema

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)
_scan = json.JSONDecoder().raw_decode


class Mismatch(Exception):
    """Why a text is not what the schema asks for."""


def parse(text: str, schema: Schema | None) -> Any:
    """The value, or `Mismatch`. Without a schema there is none.

    JSON may stand in a fence with words around it, and an object or a list before other words.
    """
    if schema is None:
        return None
    try:
        value = _decoded(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise Mismatch(f"not JSON: {error}") from None
    problem = _first_problem(value, schema)
    if problem is not None:
        raise Mismatch(problem)
    return value


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        fenced = _FENCE.search(text)
        if fenced is not None:
            return msgspec.json.decode(fenced[1])
        if not text.lstrip().startswith(("{", "[")):
            raise
        try:
            return _scan(text.lstrip())[0]
        except (ValueError, RecursionError):
            pass
        raise


def check_schema(schema: Schema | None) -> None:
    """Refuse an invalid schema before anything is paid for."""
    if schema is not None:
        _validator(msgspec.json.encode(schema))


def _first_problem(value: Any, schema: Schema) -> str | None:
    from jsonschema.exceptions import best_match

    error = best_match(_validator(msgspec.json.encode(schema)).iter_errors(value))
    return None if error is None else f"{error.json_path}: {error.message}"


@functools.lru_cache(maxsize=256)
def _validator(encoded: bytes) -> Any:
    """Checked and compiled once per schema, because that costs more CPU than a call."""
    from jsonschema import Draft202012Validator, SchemaError

    schema = msgspec.json.decode(encoded)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise UsageError(f"not a JSON schema: {error.message}", "Fix the schema") from None
    found: Any = Draft202012Validator(schema)
    for reference in _references(schema):
        try:
            found._resolver.lookup(reference)
        except Exception as error:  # nothing is fetched: only what the schema itself has
            step = "References must point into the schema itself"
            raise UsageError(f"the schema refers to {reference!r}: {error}", step) from None
    return found


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict) and isinstance(part.get("$ref"), str):
        yield part["$ref"]
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for each in inner:
        yield from _references(each)
