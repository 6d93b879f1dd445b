"""`fanwise resume`: go on with a run from its journal."""

from __future__ import annotations

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
from fanwise.errors import UsageError
from fanwise.journal.codec import JSON
from fanwise.journal.port import RunRecord

HELP = """Go on with a run that was paused, interrupted, halted, cancelled or killed.

What is done is not done again. Lines that were being worked on run again, and
are named at the end. The output goes on where it had stopped.

\b
  fanwise resume RUN
  fanwise resume RUN --retry-failed > all.txt    what failed, once more
  fanwise resume RUN --input lines.txt           when the input had not been read to its end

\b
  fanwise resume RUN --answer review=approve     of a workflow that waits at a gate
  fanwise resume RUN --input name=value          of a workflow: what depends on it runs again
  fanwise resume RUN --from STEP                 of a workflow: all from there on runs again
  fanwise resume RUN --apply                     of optimize, plan: write it to the work tree
  fanwise resume RUN --bisect                    of a plan: find whom the check fails with
  fanwise resume RUN --rollback                  of a plan: undo --apply, remove the branch

A `fanwise run` goes on with the file as it was when the run began: it may have
been edited since, or be gone.

Of a `fanwise map`, with --retry-failed all outputs are written again from the
first line on, for those of before had gaps. The same holds for --input (only of
a map) with a run that was started with --key: there the input may have been
edited, and lines are known by content.
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
    """Add the command."""
    app.command("resume", help=HELP)(resume)


def resume(
    run_id: RunArgument,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run what failed once more, too.")
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option("--take-over", help="Also if its owner is on a host that cannot be seen."),
    ] = False,
    input: Annotated[  # noqa: A002 - the name of the option
        list[str] | None,
        typer.Option(
            "--input",
            metavar="FILE|NAME=VALUE",
            help="Of a map: the whole input again; - is stdin. Of a workflow: a changed input.",
        ),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option("--answer", metavar="STEP=CHOICE", help="Of a workflow: to a gate."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="STEP", help="Of a workflow: run all from there on again."),
    ] = None,
    stop_after: StopAfterOption = None,
    trust_project: TrustOption = False,
    apply: ApplyOption = False,
    branch: BranchOption = None,
    bisect: BisectOption = False,
    rollback: Annotated[
        bool,
        typer.Option("--rollback", help="Of a plan: undo --apply, and remove the branch."),
    ] = False,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> int:
    """Go on with a run."""
    from fanwise.cli.map_run import KIND

    with reading(journal, run_id) as (_, run):
        pass
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
