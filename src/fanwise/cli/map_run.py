"""Executing a map, new or resumed: the pieces put together.

stdin -> Intake -> fan_out_stream -> OrderedOutput -> stdout
           |             |               |
        journal       journal         Position
"""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec

from fanwise.cli.fd_writer import FdWriter
from fanwise.cli.intake import Intake
from fanwise.cli.interrupts import Interrupts
from fanwise.cli.map_spec import MapSpec, line_key
from fanwise.cli.ordered_output import OrderedOutput
from fanwise.cli.position import Position
from fanwise.cli.progress_line import ProgressLine
from fanwise.cli.tally import Tally
from fanwise.core.outcome import Outcome
from fanwise.errors import (
    DuplicateKey,
    ItemsError,
    JournalNotWritable,
    OutputNotWritable,
    UsageError,
)
from fanwise.journal.open import journal_path
from fanwise.kernel.run import Run, open_run
from fanwise.kernel.stream import Stream, fan_out_stream
from fanwise.processes import CommandResult
from fanwise.view.progress import Progress

KIND = "map"


class MapJob(msgspec.Struct, frozen=True):
    """One execution of a map."""

    spec: MapSpec
    run_id: str | None
    journal: str | None
    fd: int | None
    """Where the lines come from; None: from the journal."""
    resume: bool = False
    retry_failed: bool = False
    take_over: bool = False
    new_input: bool = False
    """The input is given again."""
    quiet: bool = False
    """Outputs do not go to stdout."""

    @property
    def from_the_start(self) -> bool:
        """Whether all output is written again: that of before had gaps, or other lines."""
        return self.retry_failed or self.edited

    def resume_command(self, run_id: str) -> str:
        """What the person types to go on with it."""
        where = "" if self.journal is None else f" --journal {shlex.quote(self.journal)}"
        return f"fanwise resume {run_id}{where}"

    @property
    def edited(self) -> bool:
        """Whether the lines may be others than before: then they are known by their keys."""
        return self.new_input and self.spec.key


class MapEnd(msgspec.Struct, frozen=True):
    """How it ended."""

    run_id: str
    status: str
    """done, halted, cancelled or interrupted."""
    counts: dict[str, int]
    lines: list[str]
    """What to say about it."""
    broken_pipe: bool = False


def files_of(journal: str | None, run_id: str) -> Path:
    """The directory of a run's files: long outputs, and how much was written to stdout."""
    path = journal_path(journal)
    # After the whole name: a.db and a.sqlite beside it are two journals.
    files = path.with_name(f"{path.name}.files")
    if files.exists() and not files.is_dir():
        raise UsageError(
            f"{files} is in the way: the files of runs go into a directory of that name",
            "Move it, or name another journal with --journal",
        )
    return files / run_id


async def execute(job: MapJob) -> MapEnd:
    """From the first line to the last."""
    progress = Progress()
    run = open_run(
        job.run_id,
        journal=job.journal,
        resume=job.resume,
        retry_failed=job.retry_failed,
        take_over=job.take_over,
        kind=KIND,
        name=job.spec.title,
        spec=None if job.resume else job.spec.to_json(),
        subscribers=[progress],
    )
    files = files_of(job.journal, run.id)
    try:
        async with run:
            return await _Execution(job, run, files, progress).go()
    except (JournalNotWritable, OutputNotWritable) as error:
        if run.record is not None:
            command = job.resume_command(run.id)
            error.next_step = (
                f"What was recorded is safe; free space or permissions, then: {command}"
            )
        raise


class _Execution:
    def __init__(self, job: MapJob, run: Run, files: Path, progress: Progress) -> None:
        self.job = job
        self.run = run
        self.progress = progress
        self.tally = Tally()
        self.files = files
        self.broken_pipe = False

    async def go(self) -> MapEnd:
        screen = ProgressLine(self.progress, self.run.id)
        intake = self._intake()
        with screen, Interrupts(self.run, lambda: self.progress.in_flight, screen.say) as signals:
            try:
                await self._fan_out(intake, screen)
            finally:
                await intake.finish()
        return self._end(intake, interrupted=signals.came)

    def _intake(self) -> Intake:
        def complete(lines: int) -> None:
            self.progress.total = lines

        return Intake(
            self.run,
            self.job.fd,
            separator=self.job.spec.separator,
            edited=self.job.edited,
            on_complete=complete,
        )

    async def _fan_out(self, intake: Intake, screen: ProgressLine) -> None:
        spec = self.job.spec
        output = self._output(screen)
        stream: Stream[CommandResult] = fan_out_stream(
            spec.command(str(self.files)),
            intake.lines(),
            cap=spec.cap,
            halt=spec.halting,
            retry=spec.retrying,
            timeout=spec.timeout,
            key=line_key if spec.key else None,
            run=self.run,
            name="lines",
        )
        try:
            async with stream:
                async for outcome in stream:
                    self.tally.add(outcome)
                    if output is not None and not self.broken_pipe:
                        await self._write(output, outcome)
        except DuplicateKey as error:
            raise _same_line(error) from error
        except ItemsError as error:  # only the intake can be the cause
            raise error.__cause__ or error from None
        finally:
            if output is not None:
                output.close()

    async def _write(self, output: OrderedOutput, outcome: Outcome[CommandResult]) -> None:
        try:
            await output.add(outcome)
        except BrokenPipeError:  # `| head -1` has seen enough
            self.broken_pipe = True
            self.run.cancel("stdout was closed")

    def _output(self, screen: ProgressLine) -> OrderedOutput | None:
        if self.job.quiet:
            return None
        assert self.run.record is not None
        position = Position(self.files / "position", self.run.record)
        if self.job.from_the_start or not self.run.resumed:
            position.move(0, 0)
        to_failure = self.job.spec.halt == "failure"
        return OrderedOutput(
            FdWriter(1, "stdout"), FdWriter(2, "stderr"), position, screen, to_failure=to_failure
        )

    def _end(self, intake: Intake, *, interrupted: bool) -> MapEnd:
        assert self.run.journal is not None
        status = "interrupted" if interrupted else self.run.halting or "done"
        lines = self.tally.lines(self.run.journal, self.run.id)
        if not intake.complete and self.run.resumed:
            lines += [
                f"the input had not been read to its end: {intake.count} lines are known",
                f"to go on with the rest: {self.job.resume_command(self.run.id)} --input FILE",
            ]
        if status != "done":
            lines.append(f"{status}; to go on: {self.job.resume_command(self.run.id)}")
        return MapEnd(self.run.id, status, self.tally.counts, lines, self.broken_pipe)


def _same_line(error: DuplicateKey) -> UsageError:
    return UsageError(
        f"line {error.index + 1} is the same as an earlier one: {error.key!r}",
        "Leave --key out, or give each line once (sort -u)",
    )
