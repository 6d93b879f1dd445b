"""Rows of JSON lines and CSV files, with the line of each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from fanwise.errors import BadSpec, Problem
from fanwise.specs.read import decode, whole_file


class InputRow(NamedTuple):
    """A row; text alone means `{text: …}`."""

    line: int
    value: Any


def read_rows(path: Path, name: str) -> list[InputRow]:
    """The rows of a file, whose format follows from its name; `name` is for messages."""
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise whole_file(name, f"the name of a file with inputs ends with {' or '.join(READERS)}")
    problems: list[Problem] = []
    rows = list(read(read_text(path, name), problems))
    if problems:
        raise BadSpec(name, problems)
    if not rows:
        raise whole_file(name, "it has no rows")
    return rows


def read_text(path: Path, name: str) -> str:
    """A file as text. `BadSpec`."""
    try:
        return decode(path.read_bytes(), name)
    except OSError as error:
        raise whole_file(name, f"cannot be read: {error.strerror}") from None


def _json_lines(text: str, problems: list[Problem]) -> Iterator[InputRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield InputRow(number, msgspec.json.decode(line))
            except msgspec.DecodeError as error:
                problems.append(_bad_json(number, line, error))


def _bad_json(number: int, line: str, error: Exception) -> Problem:
    try:
        json.loads(line)
    except json.JSONDecodeError as better:
        return Problem(number, better.colno, "", f"this is not JSON: {better.msg}")
    except RecursionError:
        pass
    return Problem(number, 1, "", f"this is not JSON: {error}")


def _csv(text: str, problems: list[Problem]) -> Iterator[InputRow]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        header = next(lines, [])
        problems += _bad_header(header)
        while not problems:
            line = lines.line_num + 1
            cells = next(lines, None)
            if cells is None:
                return
            if len(cells) == len(header):
                yield InputRow(line, dict(zip(header, cells, strict=True)))
            elif cells:  # an empty line is no row
                message = f"{len(cells)} columns, and the header has {len(header)}"
                problems.append(Problem(line, None, "", message))
    except csv.Error as error:
        problems.append(Problem(line, None, "", f"this is not CSV: {error}"))


def _bad_header(header: list[str]) -> list[Problem]:
    twice = sorted({name for name in header if header.count(name) > 1})
    return [Problem(1, None, name, "this column is there twice") for name in twice]


READERS: dict[str, Callable[[str, list[Problem]], Iterator[InputRow]]] = {
    ".jsonl": _json_lines,
    ".csv": _csv,
}
