"""`fanwise score`: score the answers of a run again, without asking for them again."""

from __future__ import annotations

from typing import Annotated

import typer

from fanwise.cli.options import JournalOption, JsonOption, RunArgument
from fanwise.cli.recorded_run import installed, recorded_run
from fanwise.cli.system_options import GivenOptions
from fanwise.errors import UsageError
from fanwise.journal.codec import JSON

HELP = """Score the answers of a matrix again.

The models are not asked again; only judges cost money.

\b
  fanwise score RUN                     retry scores that failed
  fanwise score RUN --file matrix.yaml  use the scorers in the file as it is now

Existing scores are kept. A scorer whose text, code or judge was edited counts
as new and scores all answers.
"""


def score(
    run_id: RunArgument,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="FILE", help="Use the scorers of this file."),
    ] = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> int:
    from fanwise.cli.execution import Execution, run_and_report
    from fanwise.specs import read
    from fanwise.specs.system import ScoringSystem

    with recorded_run(journal, run_id) as (_, run):
        pass
    found = installed(run.kind)
    if not isinstance(found, ScoringSystem):
        raise UsageError(f"run {run_id!r} has no scores ({run.kind})", "Give a run of a matrix")
    document = None if file is None else read(file)
    runnable = found.scoring(JSON.decode(run.spec), document, **options.of_kind(run.kind))
    resume = True if file is None else None
    return run_and_report(Execution(run.kind, runnable, run_id, journal, resume, as_json=as_json))
