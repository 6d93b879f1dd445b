"""Executing a run and printing its result, for every command that starts or resumes one."""

from __future__ import annotations

import asyncio
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import msgspec

from fanwise.cli.exit_codes import BROKEN_PIPE, DONE, INTERRUPTED
from fanwise.cli.interrupts import Interrupts
from fanwise.cli.messages import print_document, print_json, say_lines
from fanwise.cli.progress_line import ProgressLine, is_shown
from fanwise.cli.recorded_run import recorded_run
from fanwise.core.counts import Counts, many
from fanwise.errors import FanwiseError, JournalNotWritable, OutputNotWritable
from fanwise.kernel.run import Run, open_run
from fanwise.kernel.run_files import check_kept_files
from fanwise.specs.place import place_of
from fanwise.specs.run_file import execute_runnable
from fanwise.specs.system import Drawing, Opening, StreamingRunnable
from fanwise.view.progress import Progress
from fanwise.view.resume_command import resume_command
from fanwise.view.run_summary import status_text

if TYPE_CHECKING:
    from fanwise.specs import End, Runnable


class Execution(msgspec.Struct, frozen=True):
    """What to run, and how."""

    kind: str
    runnable: Runnable
    run_id: str | None
    journal: str | None
    resume: bool | None = None
    """None: resume the run if it exists and has the same spec."""
    retry_failed: bool = False
    take_over: bool = False
    as_json: bool = False
    on: str | None = None
    """Where attempts run, as written after `--on`; None: where the file says, or here."""


class ExecutionResult(msgspec.Struct, frozen=True):
    """How the execution ended."""

    run_id: str
    status: str
    """done, paused, halted, cancelled or failed, as in the journal; or the system's own word."""
    why: str | None
    """Why it did less than asked."""
    end: End
    exit_code: int


def run_and_report(execution: Execution) -> int:
    """Execute it, print the result, and return the exit code."""
    result = asyncio.run(execute(execution))
    if execution.as_json:
        _print_document(execution, result)
    else:
        _print_result(execution, result)
    return result.exit_code


async def execute(execution: Execution) -> ExecutionResult:
    """Execute it in a run, with progress and signals."""
    runnable = execution.runnable
    opening: Opening = getattr(runnable, "opening", Opening())
    drawing: Drawing | None = getattr(runnable, "drawing", None) if is_shown() else None
    check_kept_files(execution.journal)
    progress = Progress(runnable.total, runnable.caps)
    progress.estimates = not getattr(drawing, "tells_time_left", False)
    run = open_run(
        execution.run_id or opening.run_id,
        journal=execution.journal,
        resume=execution.resume,
        retry_failed=execution.retry_failed or opening.retry_failed,
        take_over=execution.take_over,
        may_change=opening.may_change,
        kind=execution.kind,
        name=runnable.title,
        spec=None if execution.resume else runnable.spec,
        caps=runnable.caps,
        budget=runnable.budget,
        subscribers=[progress] if drawing is None else [progress, drawing],
        on=place_of(execution.on, execution.kind, runnable),
    )
    quiet: bool = getattr(runnable, "quiet", False)
    screen = ProgressLine(progress, run.id, wanted=not quiet, drawing=drawing)
    if isinstance(runnable, StreamingRunnable):
        runnable.use(screen, stdout=not execution.as_json)
    try:
        with (
            screen,
            _warnings_as_messages(screen.say),
            Interrupts(run, lambda: progress.in_flight, screen.say),
        ):
            async with run:
                return _result_of(run, await execute_runnable(runnable, run))
    except FanwiseError as error:
        add_resume_hint(error, run, _resume_command(execution, run.id))
        raise


@contextmanager
def _warnings_as_messages(say: Callable[[str], None]) -> Iterator[None]:
    """Show warnings as plain messages, without file and line."""
    with warnings.catch_warnings():
        before = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, RuntimeWarning):
                say(str(message))
            else:
                before(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def _result_of(run: Run, end: End) -> ExecutionResult:
    status, why = run.ending
    if status in ("halted", "cancelled"):
        return ExecutionResult(run.id, status, why, end, max(INTERRUPTED, end.exit_code))
    return ExecutionResult(run.id, end.status or status, None, end, end.exit_code)


def _print_document(execution: Execution, result: ExecutionResult) -> None:
    document = {
        "run": result.run_id,
        "kind": execution.kind,
        "status": result.status,
        "exit_code": result.exit_code,
        "halted": result.why,
        "counts": result.end.counts,
        "notes": list(result.end.notes),
        "result": result.end.document,
        **result.end.facts,
    }
    if result.end.table is None:
        print_json(document)
        return
    with recorded_run(execution.journal, result.run_id) as (journal, _):
        table = result.end.table(journal)
        print_document(document, table.what, table.rows)


def _done(counts: Counts | None) -> str:
    return "done" if counts is None else f"{many(counts.done, counts.unit)} done"


def _print_result(execution: Execution, result: ExecutionResult) -> None:
    if result.exit_code == BROKEN_PIPE:
        return  # nobody reads
    for line in result.end.output:
        sys.stdout.write(f"{line}\n")  # made safe on a terminal, unchanged elsewhere
    lines = list(result.end.notes)
    if result.status != "done":
        command = _resume_command(execution, result.run_id, result.end.resume_with)
        more = resume_lines(result.status, result.why, result.end.counts, command)
        lines += [line for line in more if line not in lines]  # it may be in the notes
    elif not lines and result.exit_code == DONE and os.isatty(2):
        quiet: bool = getattr(execution.runnable, "quiet", False)
        lines += [] if quiet else [f"run {result.run_id}: {_done(result.end.counts)}"]
    say_lines(lines)


NOTHING_STARTED = "Nothing was started; check free space and permissions, or use another --journal"


def resume_lines(status: str, why: str | None, counts: Counts | None, command: str) -> list[str]:
    """The status of an unfinished run, and how to continue it."""
    step = f"to continue: {(why and counts and counts.go_on) or command}"
    return [status_text(status, why), f"  {step}"] if why else [f"{status}; {step}"]


def _resume_command(execution: Execution, run_id: str, more: Sequence[str] = ()) -> str:
    where = () if execution.on is None else ("--on", execution.on)
    return resume_command(run_id, execution.journal, [*where, *more])


def add_resume_hint(error: FanwiseError, run: Run, command: str) -> None:
    """Add the command that continues the run to the error that ended it."""
    if isinstance(error, JournalNotWritable | OutputNotWritable):
        error.next_step = (
            NOTHING_STARTED
            if run.record is None
            else f"What was recorded is safe; check free space and permissions, then: {command}"
        )
    elif run.record is not None:
        error.add_note(f"to continue: {command}")
