"""Options that several commands share."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any

import typer

JournalOption = Annotated[
    str | None,
    typer.Option(
        "--journal",
        metavar="URL",
        help="The journal to use: a path or sqlite:///PATH. "
        "Default: $FANWISE_JOURNAL, or .fanwise/journal.db.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")
]


def _run_ids(incomplete: str) -> list[str]:
    """For shell completion, which shows nothing rather than an error."""
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
        help="The run's id, see `fanwise runs`.",
        autocompletion=_run_ids,
    ),
]
InputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--input", metavar="NAME=VALUE", help="workflow: set an input; NAME=@FILE reads a file."
    ),
]
StopAfterOption = Annotated[
    str | None,
    typer.Option("--stop-after", metavar="STEP", help="workflow: pause after this step."),
]
TrustOption = Annotated[
    bool,
    typer.Option("--trust-project", help="workflow: import custom step types from .fanwise/steps."),
]
ApplyOption = Annotated[
    bool,
    typer.Option("--apply", help="optimize, plan: write the result to the work tree."),
]
BranchOption = Annotated[
    str | None,
    typer.Option("--branch", metavar="NAME", help="optimize: commit the winner on a new branch."),
]
BisectOption = Annotated[
    bool,
    typer.Option("--bisect", help="plan: if the check fails, find the sub-plans to leave out."),
]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A YAML or JSON file.")]


def given(**options: Any) -> dict[str, Any]:
    """The options that were given, with lists as tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in options.items()
        if value or value == ""
    }
