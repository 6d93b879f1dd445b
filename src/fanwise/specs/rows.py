"""Rows of data files, by the ending of their names, with the line of each where there are lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from fanwise.errors import BadSpec, Problem
from fanwise.specs.arrow_rows import arrow_rows, data_files
from fanwise.specs.builder import Builder, Wrong
from fanwise.specs.document import line_and_column
from fanwise.specs.places import offset
from fanwise.specs.read import decode, whole_file
from fanwise.specs.yaml_text import build_yaml


class InputRow(NamedTuple):
    """A row; text alone means `{text: …}`."""

    line: int
    """0: unknown."""
    value: Any


def read_rows(path: Path, name: str) -> list[InputRow]:
    """The rows of a file, whose format follows from its name; `name` is for messages.

    A name with `*` stands for several files, and a folder for the dataset that is in it.
    """
    files = data_files(path, name)
    rows = [row for file in files for row in _rows_of(file, name if len(files) == 1 else str(file))]
    if not rows:
        raise whole_file(name, "it has no rows")
    return rows


def read_text(path: Path, name: str) -> str:
    """A file as text. `BadSpec`."""
    try:
        return decode(path.read_bytes(), name)
    except OSError as error:
        raise whole_file(name, f"cannot be read: {error.strerror}") from None


def _rows_of(path: Path, name: str) -> list[InputRow]:
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".arrow"):
        return [InputRow(0, row) for row in arrow_rows(path, name)]
    read = READERS.get(suffix)
    if read is None:
        known = ", ".join([*READERS, ".parquet"])
        raise whole_file(name, f"the name of a file with inputs ends with one of {known}")
    problems: list[Problem] = []
    rows = list(read(read_text(path, name), problems))
    if problems:
        raise BadSpec(name, problems)
    return rows


def _json_lines(text: str, problems: list[Problem]) -> Iterator[InputRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield InputRow(number, msgspec.json.decode(line))
            except msgspec.DecodeError as error:
                problems.append(_bad_json(number, line, error))


def _json(text: str, problems: list[Problem]) -> Iterator[InputRow]:
    if not text.strip():
        return
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        problems.append(_bad_json(1, text, error))
        return
    if not isinstance(found, list):
        problems.append(Problem(1, None, "", NOT_A_LIST))
        return
    yield from (InputRow(0, each) for each in found)


def _bad_json(number: int, text: str, error: Exception) -> Problem:
    """`number`: the line of the file at which the text begins."""
    try:
        json.loads(text)
    except json.JSONDecodeError as better:
        line = number + better.lineno - 1
        return Problem(line, better.colno, "", f"this is not JSON: {better.msg}")
    except RecursionError:
        pass
    return Problem(number, 1, "", f"this is not JSON: {error}")


def _yaml(text: str, problems: list[Problem]) -> Iterator[InputRow]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    builder = Builder()
    try:
        build_yaml(text, builder)
    except Wrong as wrong:
        line, column = line_and_column(text, wrong.at)
        problems.append(Problem(line, column, "", wrong.message))
        return
    parsed: Any = builder.parsed
    if parsed is None or parsed.value is None:
        return
    if not isinstance(parsed.value, list):
        problems.append(Problem(1, None, "", NOT_A_LIST))
        return
    for value, place in zip(parsed.value, parsed.place.inside, strict=True):
        yield InputRow(line_and_column(text, offset(place))[0], value)


def _csv(text: str, problems: list[Problem], delimiter: str = ",") -> Iterator[InputRow]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
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


NOT_A_LIST = "a file with inputs is a list of them"
READERS: dict[str, Callable[[str, list[Problem]], Iterator[InputRow]]] = {
    ".jsonl": _json_lines,
    ".json": _json,
    ".csv": _csv,
    ".tsv": partial(_csv, delimiter="\t"),
    ".yaml": _yaml,
    ".yml": _yaml,
}
