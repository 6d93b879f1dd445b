"""JSON as steps for the builder.

YAML's parser takes most of JSON, but not all: no tabs, no escaped surrogate pairs. So the standard
library checks it first, and what is valid needs no more than being cut into tokens.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fanwise.specs.builder import Builder, Wrong
from fanwise.specs.scalars import plain

TOKEN = re.compile(r'[\s,:]*([{}\[\]"]|[^\s,:{}\[\]"]+)')


STRINGS = json.JSONDecoder()


def build_json(text: str, builder: Builder) -> None:
    """Parse the text and pass what it contains to the builder. `Wrong`."""
    _check(text)
    at = 0
    while found := TOKEN.match(text, at):
        begin, at = found.start(1), found.end()
        token = found[1]
        if token == '"':
            value, at = STRINGS.raw_decode(text, begin)
            builder.scalar(value, value, begin)
        elif token in "{[":
            builder.begin({} if token == "{" else [], begin)
        elif token in "}]":
            builder.end()
        else:
            _word(token, begin, builder)


def _word(token: str, at: int, builder: Builder) -> None:
    if token in ("NaN", "Infinity", "-Infinity"):
        raise Wrong(at, f"{token} is no number in JSON", builder.path)
    try:
        builder.scalar(token, plain(token), at)
    except ValueError as error:
        raise Wrong(at, str(error), builder.path) from None


def _check(text: str) -> None:
    as_text: Any = str  # numbers are read later, where their size is checked
    try:
        json.loads(text, parse_constant=as_text, parse_int=as_text, parse_float=as_text)
    except json.JSONDecodeError as error:
        raise Wrong(error.pos, f"this is not JSON: {error.msg}") from None
    except RecursionError:
        raise Wrong(0, "too many levels, one inside the other") from None
