"""`fanwise export`: a run as a table for other programs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Literal

import msgspec
import typer

from fanwise.cli.options import JournalOption, JsonOption, RunArgument
from fanwise.cli.reading import reading
from fanwise.cli.say import print_json
from fanwise.cli.streams import text_file
from fanwise.errors import UsageError
from fanwise.view.item_rows import COLUMNS, Row, item_rows

HELP = """Write one row for each item of a run, in item order.

\b
  fanwise export RUN                                   JSON lines, on stdout
  fanwise export RUN --format csv --output run.csv
  fanwise export RUN | jq -r 'select(.status == "failed") | .input'

Bytes that are not UTF-8 are in base64, under input_base64, stdout_base64 or
stderr_base64. Of an output that is too long for the journal a row has the
beginning, the end, and the file that has it all (stdout_path, stderr_path).

An item that made calls has their number (calls: all attempts), tokens and
dollars (usd). A sum is empty if a part of it is unknown; usd_unknown says of
how many attempts the price is.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export", help=HELP)(export)


def export(
    run_id: RunArgument,
    form: Annotated[Literal["jsonl", "csv"], typer.Option("--format", help="Of the rows.")] = (
        "jsonl"
    ),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: stdout.")
    ] = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a run's items."""
    with reading(journal, run_id) as (found, _):
        rows = item_rows(found, run_id)
        if as_json and output is None:
            from fanwise.cli.json_stream import print_document

            print_document({"run": run_id}, "items", rows)
            return
        with _target(output) as file:
            number = (_write_csv if form == "csv" else _write_jsonl)(file, rows)
    if as_json:
        print_json({"run": run_id, "output": str(output), "format": form, "items": number})


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


def _write_jsonl(file: IO[str], rows: Iterable[Row]) -> int:
    number = 0
    for number, row in enumerate(rows, 1):  # noqa: B007 - the count
        file.write(msgspec.json.encode(row).decode() + "\n")
    return number


def _write_csv(file: IO[str], rows: Iterable[Row]) -> int:
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    number = 0
    for number, row in enumerate(rows, 1):  # noqa: B007
        writer.writerow([_cell(row.get(column)) for column in COLUMNS])
    return number


def _cell(value: object) -> object:
    if value is None or isinstance(value, str | int | float):
        return value
    return msgspec.json.encode(value).decode()
