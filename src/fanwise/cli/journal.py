"""`fanwise journal copy`: move runs between journals."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from fanwise.cli.messages import print_json, say
from fanwise.cli.options import JsonOption
from fanwise.errors import UsageError

HELP = """Copy runs from one journal to another, and verify the copy.

\b
  fanwise journal copy .fanwise/journal.db postgresql://me@host/db
  fanwise journal copy postgresql://me@host/db backup.db nightly-1 nightly-2

Both may be SQLite files or PostgreSQL servers. Without names all runs are copied,
oldest first. A run that is being executed, or whose id is taken in the target, is
refused before anything is copied. Nothing is removed. Files of runs, such as
patches, are not copied.
"""


def journal(
    action: Annotated[str, typer.Argument(metavar="copy", help="What to do: copy.")],
    source: Annotated[str, typer.Argument(metavar="FROM", help="The journal to read.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The journal to write to.")],
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]…", help="Default: all runs.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    if action != "copy":
        raise UsageError(f"{action!r} is not known", "Use: fanwise journal copy FROM TO")
    from fanwise.journal.copy_runs import copy_run, refuse_taken
    from fanwise.journal.open import journal_is_there, open_journal, shown_location

    if not journal_is_there(source):
        raise UsageError(f"there is no journal at {shown_location(source)}", "Check the path")
    with closing(open_journal(source, read_only=True)) as reading:
        chosen = [reading.run(each) for each in runs or ()] or reading.runs()[::-1]
        with closing(open_journal(target)) as writing:
            refuse_taken(writing, chosen)
            for run in chosen:
                copy_run(reading, writing, run)
                if not as_json:
                    say(f"{run.id}: copied and verified")
    if as_json:
        print_json({"copied": [run.id for run in chosen]})
    else:
        say(f"{len(chosen)} {'run' if len(chosen) == 1 else 'runs'} in {shown_location(target)}")
