"""Executing a map, new or resumed: the pieces put together.

stdin -> RecordedLines -> fan_out_stream -> OrderedOutput -> stdout
              |                |                |
           journal          journal          Position
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from fanwise.cli.fd_writer import FdWriter
from fanwise.cli.interrupts import Interrupts
from fanwise.cli.map_counts import MapState, counts_of
from fanwise.cli.map_halt import HaltAfter
from fanwise.cli.map_joblog import JobLog
from fanwise.cli.map_spec import MapSpec, line_key
from fanwise.cli.map_work import LineWork
from fanwise.cli.ordered_output import OrderedOutput
from fanwise.cli.position import Position
from fanwise.cli.progress_line import ProgressLine
from fanwise.cli.recorded_lines import RecordedLines
from fanwise.cli.resume_hint import how_to_go_on, resume_command, say_how_to_go_on
from fanwise.cli.spill_files import SpillFiles
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
from fanwise.journal.take_first import take
from fanwise.kernel.run import Run, open_run
from fanwise.kernel.stream import Stream, fan_out_stream
from fanwise.processes import CommandResult
from fanwise.view.progress import Progress
from fanwise.view.terminal_text import terminal_line

KIND = "map"


class MapPlan(msgspec.Struct, frozen=True):
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
    as_json: bool = False
    """Outputs do not go to stdout."""
    quiet: bool = False
    """No line of progress, and no list of failures."""

    @property
    def from_the_start(self) -> bool:
        """Whether all output is written again: that of before had gaps, or other lines."""
        return self.retry_failed or self.edited

    @property
    def edited(self) -> bool:
        """Whether the lines may be others than before: then they are known by their keys."""
        return self.new_input and self.spec.key


class MapEnd(msgspec.Struct, frozen=True):
    """How it ended."""

    run_id: str
    status: str
    """As the journal has it: done, halted or cancelled."""
    why: str | None
    """Why it did less than it was asked."""
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


async def execute(plan: MapPlan) -> MapEnd:
    """From the first line to the last."""
    progress = Progress()
    run = open_run(
        plan.run_id,
        journal=plan.journal,
        resume=plan.resume,
        retry_failed=plan.retry_failed,
        take_over=plan.take_over,
        kind=KIND,
        name=plan.spec.title,
        spec=None if plan.resume else plan.spec.to_json(),
        subscribers=[progress],
    )
    files = files_of(plan.journal, run.id)
    screen = ProgressLine(progress, run.id, wanted=not plan.quiet)
    try:
        # Signals first: from the moment at which there is a run, a Ctrl-C halts it and tells how
        # to go on with it.
        with screen, Interrupts(run, lambda: progress.in_flight, screen.say):
            async with run:
                return await _Execution(plan, run, files, progress, screen).go()
    except (JournalNotWritable, OutputNotWritable) as error:
        say_how_to_go_on(error, run, plan.journal)
        raise


class _Execution:
    def __init__(
        self,
        plan: MapPlan,
        run: Run,
        files: Path,
        progress: Progress,
        screen: ProgressLine,
    ) -> None:
        self.screen = screen
        self.plan = plan
        self.run = run
        self.progress = progress
        self.tally = Tally(plan.spec.lines)
        self.files = files
        self.spilled = SpillFiles(files)
        self.broken_pipe = False
        self.halt_after = HaltAfter(plan.spec.halting, run)
        self.halted_by: int | None = None
        """The item whose failure halted it."""

    async def go(self) -> MapEnd:
        lines = self._lines()
        try:
            with self._listeners():
                await self._fan_out(lines)
        finally:
            await lines.finish()
        assert self.run.journal is not None
        self.spilled.remove_forgotten(self.run.journal, self.run.id)
        return self._end(lines)

    @contextmanager
    def _listeners(self) -> Iterator[None]:
        """What is told of each event, while lines are worked on."""
        self.run.subscribers.append(self.halt_after)
        spec, loop = self.plan.spec, asyncio.get_running_loop()
        if spec.joblog is None:
            yield
            return
        log = JobLog(
            spec,
            Path(spec.joblog),
            self._line,
            lambda at: self.run.wall() - (loop.time() - at),
            resumed=self.run.resumed,
        )
        self.run.subscribers.append(log)
        with closing(log):
            yield
        if log.problem is not None:
            raise log.problem

    def _line(self, index: int) -> bytes:
        """The input of an item."""
        assert self.run.journal is not None
        (record,) = take(self.run.journal.inputs(self.run.id, index), 1)
        return record.data

    def _tag(self, index: int) -> bytes:
        """What `--tag` puts before each line; nothing of it breaks lines or steers a terminal."""
        words = [
            each.decode("utf-8", "replace") for each in self.plan.spec.split(self._line(index))
        ]
        return f"{terminal_line(' '.join(words))}\t".encode()

    def _lines(self) -> RecordedLines:
        def complete(lines: int) -> None:
            self.progress.total = lines

        return RecordedLines(
            self.run,
            self.plan.fd,
            separator=self.plan.spec.separator,
            together=self.plan.spec.lines,
            edited=self.plan.edited,
            on_complete=complete,
        )

    async def _fan_out(self, lines: RecordedLines) -> None:
        spec = self.plan.spec
        output = self._output()
        stream: Stream[CommandResult] = fan_out_stream(
            LineWork(spec, str(self.files)),
            lines.given(),
            cap=spec.cap,
            halt=spec.halting.kernel,
            retry=spec.retrying,
            key=(lambda line: line_key(line.data)) if spec.key else None,
            run=self.run,
            name="lines",
        )
        try:
            async with stream:
                async for outcome in stream:
                    self.tally.add(outcome)
                    if outcome.status == "failed" and spec.halting.in_order:
                        self.halted_by = outcome.index
                    self.spilled.add(outcome)
                    if output is not None and not self.broken_pipe:
                        await self._write(output, outcome)
        except DuplicateKey as error:
            raise _same_line(error, self.run) from error
        except ItemsError as error:  # only the input can be the cause
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

    def _output(self) -> OrderedOutput | None:
        if self.plan.as_json:
            return None
        assert self.run.record is not None
        position = Position(self.files / "position", self.run.record)
        if self.plan.from_the_start or not self.run.resumed:
            position.move(0, 0)
        return OrderedOutput(
            FdWriter(1, "stdout"),
            FdWriter(2, "stderr"),
            position,
            self.screen,
            to_failure=self.plan.spec.halting.in_order,
            tag=self._tag if self.plan.spec.tag else None,
        )

    def _end(self, lines: RecordedLines) -> MapEnd:
        run, plan, journal = self.run, self.plan, self.run.journal
        assert journal is not None
        state = MapState(
            known=lines.count,
            complete=lines.complete,
            told=self.tally.counts,
            halted_by=self.halted_by,
            halted_after=self.halt_after.came,
            from_outside=run.halting is not None,
        )
        counts = counts_of(plan.spec, state, journal, run.id, plan.journal)
        run.conclude(counts)
        status, why = run.ending
        told = [] if plan.quiet else self.tally.lines(journal, run.id)
        if status != "done":
            told += how_to_go_on(status, why, counts, resume_command(run.id, plan.journal))
        elif not told and not plan.quiet and not plan.as_json and os.isatty(2):
            self.screen.say(f"run {run.id}: {self.tally.counts['done']} done")
        return MapEnd(run.id, status, why, self.tally.counts, told, self.broken_pipe)


def _same_line(error: DuplicateKey, run: Run) -> UsageError:
    assert run.journal is not None
    earlier = "an earlier one"
    for record in run.journal.inputs(run.id):
        if line_key(record.data) == error.key and record.index < error.index:
            earlier = f"line {record.index + 1}"
            break
    return UsageError(
        f"line {error.index + 1} is the same as {earlier}: {error.key!r}",
        "Leave --key out, or give each line once (sort -u)",
    )
