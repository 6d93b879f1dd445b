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
from fanwise.specs.builder import Builder, Wrong
from fanwise.specs.document import line_and_column, offset
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


def data_files(path: Path, name: str) -> list[Path]:
    """The files that a name stands for: itself, those that match its `*`, or those of a dataset.

    A dataset that Hugging Face wrote to disk is a folder: of Parquet files if it was downloaded
    from the hub, of Arrow files with a `state.json` beside them if `save_to_disk` wrote it, or of
    one folder for each split.
    """
    if path.is_dir():
        return _of_dataset(path, name)
    if "*" not in path.name or path.exists():
        return [path]
    found = sorted(path.parent.glob(path.name))
    if not found:
        raise whole_file(name, "no file matches")
    return found


def _of_dataset(folder: Path, name: str) -> list[Path]:
    if (folder / "state.json").exists():
        return _saved(folder, name)
    splits = sorted(each.parent.name for each in folder.glob("*/state.json"))
    if splits:
        raise whole_file(
            name, f"it has several splits: give one of {', '.join(splits)}, as PATH/{splits[0]}"
        )
    found = sorted(folder.rglob("*.parquet"))
    if not found:
        message = "it is a folder without Parquet files; `folder: …` makes an input of each file"
        raise whole_file(name, message)
    splits = sorted({each.name.partition("-")[0] for each in found})
    if len(splits) > 1:
        example = found[0].relative_to(folder).with_name(f"{splits[0]}-*.parquet")
        raise whole_file(name, f"it has {', '.join(splits)}: give one of them, as PATH/{example}")
    return found


def _saved(folder: Path, name: str) -> list[Path]:
    try:
        state = msgspec.json.decode((folder / "state.json").read_bytes())
        files = [folder / Path(each["filename"]).name for each in state["_data_files"]]
    except (OSError, msgspec.DecodeError, LookupError, TypeError):
        raise whole_file(name, "its state.json cannot be read") from None
    if state.get("_indices_files"):
        raise whole_file(
            name, "only some of its rows were chosen: call flatten_indices() before saving it"
        )
    return files


def arrow_rows(path: Path, name: str) -> Iterator[dict[str, Any]]:
    """The rows as plain data: times as text, bytes as base64. `BadSpec`."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        message = "reading it needs pyarrow: pip install 'fanwise[parquet]'"
        raise whole_file(name, message) from None
    try:
        if path.suffix.lower() == ".parquet":
            with parquet.ParquetFile(path) as file:
                table = file.read()
        else:
            with pyarrow.OSFile(str(path)) as source:
                table = ipc.open_stream(source).read_all()
    except (OSError, pyarrow.ArrowException) as error:
        raise whole_file(name, f"cannot be read: {error}") from None
    for batch in table.to_batches():
        for row in batch.to_pylist():
            yield msgspec.to_builtins(row)
