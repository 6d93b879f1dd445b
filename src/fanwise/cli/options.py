"""Options that several commands have, spelt the same everywhere."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any

import typer

JournalOption = Annotated[
    str | None,
    typer.Option(
        "--journal",
        metavar="URL",
        help="Where runs are recorded: a path or sqlite:///PATH. "
        "Default: $FANWISE_JOURNAL, or .fanwise/journal.db here.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else there.")
]


def _run_ids(incomplete: str) -> list[str]:
    """For the shell's completion, which is better silent than wrong."""
    from fanwise.errors import FanwiseError
    from fanwise.journal.open import journal_path, open_journal

    try:
        if not journal_path(None).exists():
            return []
        with closing(open_journal(None, read_only=True)) as journal:
            return [run.id for run in journal.runs() if run.id.startswith(incomplete)]
    except FanwiseError:
        return []


RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The run's id; `fanwise runs` lists them.",
        autocompletion=_run_ids,
    ),
]
InputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--input", metavar="NAME=VALUE", help="Of a workflow: an input; NAME=@FILE reads a file."
    ),
]
StopAfterOption = Annotated[
    str | None,
    typer.Option("--stop-after", metavar="STEP", help="Of a workflow: pause after this step."),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust-project", help="Of a workflow: import the types of steps in .fanwise/steps."
    ),
]
ApplyOption = Annotated[
    bool,
    typer.Option("--apply", help="Of optimize, plan: write what came of it to the work tree."),
]
BranchOption = Annotated[
    str | None,
    typer.Option(
        "--branch", metavar="NAME", help="Of optimize: commit the winner on a new branch."
    ),
]
BisectOption = Annotated[
    bool,
    typer.Option(
        "--bisect", help="Of a plan: if the check fails, find the sub-plans to leave out."
    ),
]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A YAML or JSON file.")]


def given(**options: Any) -> dict[str, Any]:
    """Those of a system's options that were given, as it takes them: lists as tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in options.items()
        if value or value == ""
    }
