"""`fanwise export`: a run as a table for other programs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from fanwise.cli.messages import print_json
from fanwise.cli.options import JournalOption, JsonOption, RunArgument
from fanwise.cli.recorded_run import recorded_version
from fanwise.cli.system_options import GivenOptions
from fanwise.errors import MissingExtra, UsageError
from fanwise.system_names import homes
from fanwise.view.table import Kind, Table
from fanwise.view.text_file import cannot_write, text_file

if TYPE_CHECKING:
    from fanwise.journal.port import Journal, RunRecord
    from fanwise.view.table import Table

HELP = """Write a run as a table.

It has one row for each item, cell, candidate or sub-plan.

\b
  fanwise export RUN                                   JSON lines, on stdout
  fanwise export RUN --format csv --output run.csv
  fanwise export RUN --format parquet -o run.parquet   needs fanwise[parquet]
  fanwise export RUN | jq -r 'select(.status == "failed") | .input'

Every row has every column; what an item does not have is null. In CSV, text that
begins with = + - @, a tab or a carriage return gets an apostrophe before it, so
that a spreadsheet does not run what a model wrote as a formula; --raw leaves it
as it is, for programs.

Items are in item order. Bytes that are not UTF-8 are in base64, as
input_base64, stdout_base64 or stderr_base64. If an output is too long for the
journal, its row has the beginning, the end, and the file with all of it
(stdout_path, stderr_path).

An item that made calls has their number (calls: all attempts), tokens and
dollars (usd). A sum with an unknown part is empty; usd_unknown counts the
attempts whose price is unknown.

Cells are those of the matrix as it is now (RUN@2: as it was in version 2), in its
order: axes, status, text and value of the answer, score_NAME of each scorer
(reason_NAME, scorer_error_NAME), error, times, tokens, dollars, prompt (messages)
and the answers of the steps. Cells that have not run have the status waiting.
With --items, a matrix is written as its items: steps and scores as recorded,
including those from before an edit.

Candidates of optimize are listed below those they were made from, with verdict,
reason, ratio and its interval (low, high), the time of each stage, the smallest
call that differs with its test, and the patch. Candidates that are not judged
yet have the status waiting.

Sub-plans of a plan are in tree order: title, files, state and reason, tries,
changed files, requests and conflicts, whether they are in the result, times,
tokens and dollars.
"""


FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(
    run_id: RunArgument,
    form: Annotated[
        Literal["jsonl", "csv", "parquet"], typer.Option("--format", help="The format of the rows.")
    ] = "jsonl",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file. Default: stdout."),
    ] = None,
    items: Annotated[
        bool, typer.Option("--items", help="Write plain items, whatever the system.")
    ] = False,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Leave CSV cells as they are, even if a spreadsheet would run them as formulas.",
        ),
    ] = False,
    journal: JournalOption = None,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> None:
    if form == "parquet" and output is None:
        raise UsageError("Parquet cannot be written to stdout", "Name a file: --output FILE")
    with recorded_version(journal, run_id) as (found, run, version):
        table = _table(found, run, {**options.of_kind(run.kind), **version}, items=items)
        if as_json and output is None:
            from fanwise.cli.messages import print_document

            print_document({"run": run_id}, table.what, _complete(table))
            return
        number = _write(table, form, output, raw=raw)
    if as_json:
        print_json({"run": run_id, "output": str(output), "format": form, table.what: number})


def _table(journal: Journal, run: RunRecord, given: Mapping[str, Any], *, items: bool) -> Table:
    if not items and homes(run.kind):
        from fanwise.specs import system
        from fanwise.specs.system import ExportingSystem

        found = system(run.kind)
        if isinstance(found, ExportingSystem):
            return found.table(journal, run, **given)
    from fanwise.view.item_rows import item_table
    from fanwise.view.system_text import inputs_of

    return item_table(journal, run.id, inputs=inputs_of(run))


def _write(table: Table, form: str, output: Path | None, *, raw: bool) -> int:
    if form == "parquet" and output is not None:
        return write_parquet(output, table)
    with _target(output) as file:
        return _write_csv(file, table, raw=raw) if form == "csv" else _write_jsonl(file, table)


@contextmanager
def _target(output: Path | None) -> Iterator[IO[str]]:
    if output is None:
        sys.stdout.reconfigure(newline="")  # type: ignore[union-attr]
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        file = text_file(output, str(output), newline="")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from error
    with file:
        yield file


def _write_jsonl(file: IO[str], table: Table) -> int:
    number = 0
    for number, row in enumerate(_complete(table), 1):  # noqa: B007 - the count
        file.write(msgspec.json.encode(row).decode() + "\n")
    return number


def _complete(table: Table) -> Iterator[dict[str, Any]]:
    """Every row with every column: null for what it does not have."""
    empty = dict.fromkeys(table.columns)
    return ({**empty, **row} for row in table.rows)


def _write_csv(file: IO[str], table: Table, *, raw: bool) -> int:
    writer = csv.writer(file)
    writer.writerow(table.columns)
    data = [place for place, kind in enumerate(table.columns.values()) if kind == "json"]
    number = 0
    for number, row in enumerate(table.rows, 1):  # noqa: B007
        cells = [*map(row.get, table.columns)]
        for place in data:
            cells[place] = _cell(cells[place])
        writer.writerow(cells if raw else map(_safe, cells))
    return number


def _safe(value: object) -> object:
    """Text that a spreadsheet would take for a formula, with an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _cell(value: object) -> object:
    if value is None or isinstance(value, str | int | float):
        return value
    return msgspec.json.encode(value).decode()


ROWS_AT_ONCE = 1_000


def write_parquet(output: Path, table: Table) -> int:
    """Write the table and return its number of rows; needs `fanwise[parquet]`.

    JSON becomes text, times have a time zone.
    """
    pyarrow, parquet = _pyarrow()
    schema = pyarrow.schema([(name, _type(pyarrow, kind)) for name, kind in table.columns.items()])
    rows, number = iter(table.rows), 0
    try:
        with parquet.ParquetWriter(output, schema, compression="zstd") as writer:
            while page := list(islice(rows, ROWS_AT_ONCE)):
                columns = {
                    name: [_value(row.get(name), kind) for row in page]
                    for name, kind in table.columns.items()
                }
                writer.write_table(pyarrow.table(columns, schema=schema))
                number += len(page)
    except OSError as error:
        raise cannot_write(str(output), error) from error
    return number


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra("Parquet", "parquet") from error
    return pyarrow, parquet


def _type(pyarrow: Any, kind: Kind) -> Any:
    types = {
        "text": pyarrow.string(),
        "json": pyarrow.string(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "moment": pyarrow.timestamp("ms", tz="UTC"),
    }
    return types[kind]


def _value(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind == "json":
        return msgspec.json.encode(value).decode()
    if kind == "moment":
        return datetime.fromisoformat(value)
    if kind == "text":
        # Lone surrogates cannot be encoded as UTF-8.
        return value.encode("utf-8", "backslashreplace").decode()
    return int(value) if kind == "integer" else value
