"""`fanwise resume`: continue a run from its journal."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from fanwise.cli.messages import say
from fanwise.cli.options import JournalOption, JsonOption, OnOption, RunArgument
from fanwise.cli.recorded_run import recorded_run
from fanwise.cli.system_options import GivenOptions
from fanwise.errors import UsageError
from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal, RunRecord

HELP = """Continue a run that has not finished.

It may have been paused, interrupted, halted, cancelled or killed. Finished
items do not run again. Items that were in flight run again, and are named at
the end. Output continues where it stopped.

\b
  fanwise resume RUN
  fanwise resume RUN --retry-failed > all.txt    run failed items again, too
  fanwise resume RUN --input lines.txt           map: if the input was not fully read
  fanwise resume RUN --answer review=approve     workflow: answer a gate
  fanwise resume RUN --input name=value          workflow: change an input
  fanwise resume RUN --from STEP                 workflow: run again from this step
  fanwise resume RUN --apply                     optimize, plan: write to the work tree
  fanwise resume RUN --bisect                    plan: find what makes the check fail
  fanwise resume RUN --rollback                  plan: undo --apply, remove the branch

A run continues with its file as it was at the start; the file may have been
edited or deleted since.

For `fanwise map` with --retry-failed, all output is written again from the
first line, because the earlier output had gaps. The same holds for --input with
a run that was started with --key: the input may have been edited, and lines are
matched by content.
"""


def resume(
    run_id: RunArgument,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed items again, too.")
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option("--take-over", help="Resume even if another machine may still own the run."),
    ] = False,
    journal: JournalOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> int:
    from fanwise.cli.execution import Execution, run_and_report
    from fanwise.specs import names, runnable_again, system

    with recorded_run(journal, run_id) as (found, run):
        if os.isatty(2) and not as_json:
            say(what_it_will_do(found, run, retry_failed=retry_failed))
    given = options.of_kind(run.kind)
    if run.kind not in names():
        step = f"Run that program again: with open_run({run.id!r}) it continues"
        raise UsageError(f"run {run.id!r} was made by a program ({run.kind})", step)
    runnable = runnable_again(system(run.kind), JSON.decode(run.spec), given)
    return run_and_report(
        Execution(
            run.kind,
            runnable,
            run.id,
            journal,
            resume=True,
            retry_failed=retry_failed,
            take_over=take_over,
            as_json=as_json,
            on=on,
        )
    )


def what_it_will_do(journal: Journal, run: RunRecord, *, retry_failed: bool) -> str:
    """What a resume will do, in one line."""
    from fanwise.core.counts import many
    from fanwise.view.run_summary import run_summary, status_text
    from fanwise.view.system_text import count_now

    found = run_summary(journal, run, count_now)
    if "--retry-failed" in (found["go_on"] or "") and not retry_failed:
        told = status_text(found["status"], found["error"])
        return f"{run.id}: {told}; without --retry-failed it halts there again"
    done, failed, total = found["done"], found["failed"], found["total"]
    again = "to run again" if retry_failed else "not run again without --retry-failed"
    parts = [f"{many(done, found['unit'])} done"]
    parts += [f"{failed:,} failed ({again})"] if failed else []
    parts += [] if total is None else [f"{max(0, total - done - failed):,} to run"]
    return f"{run.id}: {', '.join(parts)}"
