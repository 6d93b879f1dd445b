"""Types as schemas, and values as these types: pydantic, dataclasses, msgspec, TypedDict.

pydantic knows most of them. msgspec's own structs it does not know, and the standard library's
TypedDict it refuses before Python 3.12: those two go to msgspec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, is_typeddict

import msgspec

from fanwise.errors import UsageError
from fanwise.models.output import check_schema
from fanwise.models.port import Schema


class WrongValue(Exception):
    """Why a value is not of a type."""


def schema_of(given: Any) -> tuple[Schema, Any]:
    """A JSON schema, and the type that it was made from, if any."""
    if isinstance(given, Mapping):
        check_schema(dict(given))
        return dict(given), None
    try:
        return (_by_msgspec(given) if _is_msgspec(given) else _by_pydantic(given)), given
    except Exception as error:
        wanted = "Give a JSON schema or a type that pydantic or msgspec supports"
        raise UsageError(f"{given!r} is not a schema: {error}", wanted) from error


def as_type(type_: Any, value: Any) -> Any:
    """The value as this type; `WrongValue` if it is none, for instance by a validator."""
    if _is_msgspec(type_):
        try:
            return msgspec.convert(value, type_)
        except msgspec.ValidationError as error:
            raise WrongValue(str(error)) from None
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(type_).validate_json(msgspec.json.encode(value))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise WrongValue(f"{where}: {first['msg']}" if where else str(first["msg"])) from None


def _is_msgspec(given: Any) -> bool:
    return is_typeddict(given) or (isinstance(given, type) and issubclass(given, msgspec.Struct))


def _by_msgspec(given: Any) -> Schema:
    """With the type itself at the top, where providers want an object."""
    schema = msgspec.json.schema(given)
    definitions = schema.get("$defs", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    top = definitions.pop(name) if name else schema
    return {**top, "$defs": definitions} if definitions else dict(top)


def _by_pydantic(given: Any) -> Schema:
    from pydantic import TypeAdapter

    return TypeAdapter(given).json_schema()
