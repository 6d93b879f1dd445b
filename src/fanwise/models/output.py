"""The text of a reply as the value that its schema asks for.

Providers that promise to keep to a schema do not always; so every reply is checked here, and a
model that cannot promise it is asked in words and checked all the same.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

import msgspec

from fanwise.errors import UsageError
from fanwise.models.port import Schema

_FENCES = ("```", "~~~")
_FENCE = re.compile(r"(?:```|~~~)[ \t]*(\w*)\s*")
_scan = json.JSONDecoder().raw_decode
_EARLIER_DRAFTS = {"additionalItems", "definitions", "dependencies"}


class Mismatch(Exception):
    """Why a text is not what the schema asks for."""


def parse(text: str, schema: Schema | None) -> Any:
    """The value, or `Mismatch`. Without a schema there is none.

    JSON may stand in a fence with words around it, and an object or a list before other words. Of
    several, the first that matches.
    """
    if schema is None:
        return None
    problem = ""
    try:
        values = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        values, problem = [*_inside(text)], f"not JSON: {error}"
    for number, value in enumerate(values):
        found = _first_problem(value, schema)
        if found is None:
            return value
        problem = problem if number else found
    raise Mismatch(problem)


def _inside(text: str) -> Iterator[Any]:
    """The values in fences, those marked as JSON first, then the one that the text begins with."""
    fences = sorted(_FENCE.finditer(text), key=lambda each: not each[1].lower().startswith("json"))
    for place in (*(each.end() for each in fences), len(text) - len(text.lstrip())):
        try:
            end = _scan(text, place)[1]
            whole = text[place : place + 1] in ("{", "[")
            if whole or text[end:].lstrip().startswith(_FENCES):
                yield msgspec.json.decode(text[place:end])
        except (ValueError, RecursionError):
            continue


def check_schema(schema: Schema | None) -> None:
    """Refuse an invalid schema before anything is paid for."""
    if schema is not None:
        _validator(msgspec.json.encode(schema))


def _refuse_typos(schema: Any, keywords: Iterable[str]) -> None:
    """A schema may have words of its own, which check nothing: `enmu` would accept every answer."""
    known = set(keywords)
    for name in (schema if isinstance(schema, dict) else {}).keys() - known - _EARLIER_DRAFTS:
        close = get_close_matches(name, known, n=1, cutoff=0.75)
        if close:
            raise UsageError(f"the schema has {name!r}", f"Did you mean {close[0]!r}?")


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
    _refuse_typos(schema, Draft202012Validator.VALIDATORS)
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
