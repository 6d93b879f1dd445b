"""Options that several commands share."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from fanwise.core.run_id import check_run_id

JournalOption = Annotated[
    str | None,
    typer.Option(
        "--journal",
        metavar="URL",
        help="The journal to use: a path, sqlite:///PATH or postgresql://…. "
        "Default: $FANWISE_JOURNAL, or .fanwise/journal.db.",
    ),
]
OnOption = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Where model calls and commands run: `ray` (a Ray of this machine's cores), "
        "`ray://HOST:PORT`, `auto` (a Ray that is there), or `here`. "
        "Default: what the file says, else here.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")
]


def _checked(run_id: str | None) -> str | None:
    if run_id is not None:
        check_run_id(run_id)
    return run_id


RunIdOption = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="ID", callback=_checked, help="The run's id. Default: a new one."
    ),
]


def _run_ids(incomplete: str) -> list[str]:
    """For shell completion, where an error would only be in the way."""
    from fanwise.errors import FanwiseError
    from fanwise.journal.open import journal_is_there, open_journal

    try:
        if not journal_is_there():
            return []
        with closing(open_journal(None, read_only=True)) as journal:
            return [run.id for run in journal.runs() if run.id.startswith(incomplete)]
    except FanwiseError:
        return []


RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="The run's id, see `fanwise runs`.", autocompletion=_run_ids
    ),
]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A YAML or JSON file.")]
