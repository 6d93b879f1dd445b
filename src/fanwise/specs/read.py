"""Reading a file: a document, or a `BadSpec` that says where it is wrong."""

from __future__ import annotations

import os
from pathlib import Path

from fanwise.errors import BadSpec, Problem
from fanwise.specs.builder import Builder, Wrong
from fanwise.specs.document import Document, field, line_and_column
from fanwise.specs.json_text import build_json
from fanwise.specs.yaml_text import build_yaml

MOST_BYTES = 1 << 20
"""The largest file; data belongs into files of its own, see `inputs`."""


def read(file: str | os.PathLike[str]) -> Document:
    """The file as a document. A name that ends with `.json` is JSON, everything else YAML."""
    path = Path(file)
    name = os.fspath(file)
    return parse(_bytes(path, name), name, path.absolute().parent)


def parse(data: bytes, name: str, folder: Path) -> Document:
    """Parse the content of a file; `name` is for messages, and ends with `.json` for JSON."""
    text = decode(data, name).replace("\r\n", "\n").replace("\r", "\n")
    builder = Builder()
    try:
        (build_json if name.endswith(".json") else build_yaml)(text, builder)
    except Wrong as wrong:
        raise BadSpec(name, [_problem(text, wrong)]) from None
    parsed = builder.parsed
    if parsed is None or parsed.value is None:
        raise whole_file(name, "it is empty")
    if not isinstance(parsed.value, dict):
        line, column = line_and_column(text, 0)
        message = f"a file is a mapping (`key: value`), not a {_kind(parsed.value)}"
        raise BadSpec(name, [Problem(line, column, "", message)])
    return Document(name, folder, parsed.value, text, parsed.place)


def decode(data: bytes, name: str) -> str:
    """UTF-8, or a `BadSpec` that says where it is not."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        line, column = line_and_column(before, len(before))
        problem = Problem(line, column, "", "it is not UTF-8; save it as such")
        raise BadSpec(name, [problem]) from None


def whole_file(name: str, message: str) -> BadSpec:
    """A problem with the file as a whole."""
    return BadSpec(name, [Problem(None, None, "", message)])


def _bytes(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            large = os.fstat(file.fileno()).st_size > MOST_BYTES
            data = b"" if large else file.read(MOST_BYTES + 1)
    except IsADirectoryError:
        raise whole_file(name, "this is a directory; name a file in it") from None
    except (OSError, ValueError) as error:  # a ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or str(error)
        raise whole_file(name, f"cannot be read: {why}") from None
    if large or len(data) > MOST_BYTES:
        raise _too_large(name)
    return data


def _too_large(name: str) -> BadSpec:
    message = f"it has more than {MOST_BYTES >> 20} MB; put data into files that it names (inputs)"
    return whole_file(name, message)


def _problem(text: str, wrong: Wrong) -> Problem:
    line, column = line_and_column(text, wrong.at)
    message = wrong.message
    if wrong.first is not None:
        message += f", and first in line {line_and_column(text, wrong.first)[0]}"
    return Problem(line, column, field(wrong.path), message)


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "single value"
