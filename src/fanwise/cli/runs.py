"""`fanwise runs`: list the runs in the journal."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from fanwise.cli.messages import print_json, say
from fanwise.cli.options import JournalOption, JsonOption
from fanwise.cli.recorded_run import installed

if TYPE_CHECKING:
    from fanwise.journal.port import Journal
    from fanwise.view.table import Table

HELP = """List the runs in the journal, newest first.

\b
  fanwise runs
  fanwise runs --name sentiment     the versions of a matrix, with scores over time
  fanwise runs --json | jq '.runs[] | select(.status == "interrupted") | .id'

A run is `interrupted` if the process that executed it is gone. Continue it with
`fanwise resume RUN`.
"""


def runs(
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Only runs of this name, and their versions."),
    ] = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> None:
    from fanwise.journal.open import journal_is_there, open_journal, shown_location
    from fanwise.view.run_summary import run_summaries
    from fanwise.view.system_text import count_now

    if not journal_is_there(journal):
        found, tables = [], {}
    else:
        with closing(open_journal(journal, read_only=True)) as opened:
            found = [
                each for each in run_summaries(opened, count_now)
                if name is None or name in (each["id"], each["name"])
            ]  # fmt: skip
            tables = {each["id"]: _versions(opened, each["id"]) for each in found if name}
    if as_json:
        more = {"versions": {id_: [*table.rows] for id_, table in tables.items() if table}}
        print_json({"runs": found, **(more if name else {})})
    elif not found:
        where = shown_location(journal)
        say(f"no runs yet in {where}" if name is None else f"no run is called {name!r} in {where}")
    else:
        _print_table(found)
        for table in filter(None, tables.values()):
            _print_versions(table)


def _versions(journal: Journal, run_id: str) -> Table | None:
    from fanwise.specs.system import VersionedSystem

    run = journal.run(run_id)
    found = installed(run.kind)
    return found.versions(journal, run) if isinstance(found, VersionedSystem) else None


def _print_versions(table: Table) -> None:
    from fanwise.cli.tables import print_table

    rows = [tuple(_text(row.get(name)) for name in table.columns) for row in table.rows]
    print_table(tuple(name.upper() for name in table.columns), rows)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "" if value is None else str(value)


def _print_table(found: list[dict[str, object]]) -> None:
    from fanwise.cli.tables import print_table
    from fanwise.view.run_summary import table_row

    print_table(("RUN", "KIND", "WHAT", "STATUS", "DONE", "FAILED", "OF", "STARTED", "TOOK"),
                [table_row(each) for each in found], right=(4, 5, 6, 8))  # fmt: skip
