"""`fanwise resume`: go on with a run from its journal."""

from __future__ import annotations

import os
from typing import Annotated, Any

import msgspec
import typer

from fanwise.cli.options import (
    ApplyOption,
    BisectOption,
    BranchOption,
    JournalOption,
    JsonOption,
    RunArgument,
    StopAfterOption,
    TrustOption,
    given,
)
from fanwise.cli.reading import reading
from fanwise.cli.say import say
from fanwise.errors import UsageError
from fanwise.journal.codec import JSON
from fanwise.journal.port import Journal, RunRecord

HELP = """Continue a run that was paused, interrupted, halted, cancelled or killed.

Finished items do not run again. Items that were in flight run again, and are
named at the end. Output continues where it stopped.

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


class Resume(msgspec.Struct, frozen=True):
    """What was asked for."""

    journal: str | None
    retry_failed: bool
    take_over: bool
    input: tuple[str, ...]
    as_json: bool
    options: dict[str, Any] = {}
    """Those that only some systems take."""


def register(app: typer.Typer) -> None:
    app.command("resume", help=HELP)(resume)


def resume(
    run_id: RunArgument,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed items again, too.")
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option("--take-over", help="Resume even if another machine may still own the run."),
    ] = False,
    input: Annotated[  # noqa: A002 - the name of the option
        list[str] | None,
        typer.Option(
            "--input",
            metavar="FILE|NAME=VALUE",
            help="map: the whole input again, - is stdin; workflow: a changed input.",
        ),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option("--answer", metavar="STEP=CHOICE", help="workflow: answer a gate."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="STEP", help="workflow: run again from this step on."),
    ] = None,
    stop_after: StopAfterOption = None,
    trust_project: TrustOption = False,
    apply: ApplyOption = False,
    branch: BranchOption = None,
    bisect: BisectOption = False,
    rollback: Annotated[
        bool,
        typer.Option("--rollback", help="plan: undo --apply and remove the branch."),
    ] = False,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> int:
    """Go on with a run."""
    from fanwise.cli.map_run import KIND

    with reading(journal, run_id) as (found, run):
        if os.isatty(2) and not as_json:
            say(what_it_will_do(found, run, retry_failed=retry_failed))
    options = given(
        answer=answer,
        start=start,
        stop_after=stop_after,
        trust_project=trust_project,
        apply=apply,
        branch=branch,
        bisect=bisect,
        rollback=rollback,
    )
    asked = Resume(journal, retry_failed, take_over, tuple(input or ()), as_json, options)
    return resume_map(run, asked) if run.kind == KIND else resume_system(run, asked)


def what_it_will_do(journal: Journal, run: RunRecord, *, retry_failed: bool) -> str:
    """In a line, for whoever waits for it."""
    from fanwise.cli.system_text import count_now
    from fanwise.core.counts import many
    from fanwise.view.run_summary import run_summary, status_text

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


def resume_system(run: RunRecord, asked: Resume) -> int:
    """Go on with a `fanwise run`, from what the journal kept of its file."""
    from fanwise.cli.execution import Execution, run_to_its_end
    from fanwise.specs import names, runnable_again, system

    if run.kind not in names():
        step = f"Run that program again: with open_run({run.id!r}) it goes on"
        raise UsageError(f"run {run.id!r} was made by a program ({run.kind})", step)
    found = system(run.kind)
    if asked.input and "input" not in getattr(found, "options", ()):
        raise UsageError(f"run {run.id!r} has no lines ({run.kind})", "Leave --input out")
    options = {**asked.options, **given(input=asked.input)}
    plan = runnable_again(found, JSON.decode(run.spec), options)
    return run_to_its_end(
        Execution(
            run.kind,
            plan,
            run.id,
            asked.journal,
            resume=True,
            retry_failed=asked.retry_failed,
            take_over=asked.take_over,
            as_json=asked.as_json,
        )
    )


def resume_map(run: RunRecord, asked: Resume) -> int:
    """Go on with a `fanwise map`."""
    import asyncio

    from fanwise.cli.input_file import open_input
    from fanwise.cli.map_end import exit_code, tell
    from fanwise.cli.map_run import MapPlan, execute
    from fanwise.cli.map_spec import MapSpec

    spec = MapSpec.from_json(run.spec)
    if asked.options:
        names = ", ".join(f"--{name}" for name in asked.options)
        raise UsageError(f"run {run.id!r} is a map, and takes no {names}", "Leave it out")
    if len(asked.input) > 1:
        raise UsageError("--input is there twice", "Name one file")
    lines = next(iter(asked.input), None)
    plan = MapPlan(
        spec,
        run.id,
        asked.journal,
        fd=None if lines is None else open_input(lines),
        resume=True,
        retry_failed=asked.retry_failed,
        take_over=asked.take_over,
        new_input=lines is not None,
        as_json=asked.as_json,
    )
    end = asyncio.run(execute(plan))
    tell(end, asked.journal, as_json=asked.as_json)
    return exit_code(end)
