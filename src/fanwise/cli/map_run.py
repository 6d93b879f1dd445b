"""Executing a map, new or resumed: the pieces put together.

stdin -> RecordedLines -> fan_out_stream -> OrderedOutput -> stdout
              |                |                |
           journal          journal          Position
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import msgspec

from fanwise.cli.fd_writer import FdWriter
from fanwise.cli.interrupts import Interrupts
from fanwise.cli.map_spec import MapSpec, line_key
from fanwise.cli.ordered_output import OrderedOutput
from fanwise.cli.position import Position
from fanwise.cli.progress_line import ProgressLine
from fanwise.cli.recorded_lines import RecordedLines
from fanwise.cli.resume_hint import how_to_go_on, resume_command, say_how_to_go_on
from fanwise.cli.spill_files import SpillFiles
from fanwise.cli.tally import Tally
from fanwise.core.counts import Counts, many
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
    quiet: bool = False
    """Outputs do not go to stdout."""

    @property
    def from_the_start(self) -> bool:
        """Whether all output is written again: that of before had gaps, or other lines."""
        return self.retry_failed or self.edited

    def resume_command(self, run_id: str, *more: str) -> str:
        """What the person types to go on with it."""
        return resume_command(run_id, self.journal, more)

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
    screen = ProgressLine(progress, run.id)
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
        self.tally = Tally()
        self.files = files
        self.spilled = SpillFiles(files)
        self.broken_pipe = False
        self.halted_by: int | None = None
        """The index of the line whose failure halted it."""

    async def go(self) -> MapEnd:
        lines = self._lines()
        try:
            await self._fan_out(lines)
        finally:
            await lines.finish()
        assert self.run.journal is not None
        self.spilled.remove_forgotten(self.run.journal, self.run.id)
        return self._end(lines)

    def _lines(self) -> RecordedLines:
        def complete(lines: int) -> None:
            self.progress.total = lines

        return RecordedLines(
            self.run,
            self.plan.fd,
            separator=self.plan.spec.separator,
            edited=self.plan.edited,
            on_complete=complete,
        )

    async def _fan_out(self, lines: RecordedLines) -> None:
        spec = self.plan.spec
        output = self._output()
        stream: Stream[CommandResult] = fan_out_stream(
            spec.command(str(self.files)),
            lines.given(),
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
                    if outcome.status == "failed" and spec.halt == "failure":
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
        if self.plan.quiet:
            return None
        assert self.run.record is not None
        position = Position(self.files / "position", self.run.record)
        if self.plan.from_the_start or not self.run.resumed:
            position.move(0, 0)
        to_failure = self.plan.spec.halt == "failure"
        return OrderedOutput(
            FdWriter(1, "stdout"),
            FdWriter(2, "stderr"),
            position,
            self.screen,
            to_failure=to_failure,
        )

    def _end(self, lines: RecordedLines) -> MapEnd:
        assert self.run.journal is not None
        counts = self._counts(lines)
        self.run.conclude(counts)
        status, why = self.run.ending
        told = self.tally.lines(self.run.journal, self.run.id)
        if status != "done":
            command = self.plan.resume_command(self.run.id)
            told += how_to_go_on(status, why, counts, command)
        elif not told and not self.plan.quiet and os.isatty(2):
            self.screen.say(f"run {self.run.id}: {self.tally.counts['done']} done")
        return MapEnd(self.run.id, status, why, self.tally.counts, told, self.broken_pipe)

    def _counts(self, lines: RecordedLines) -> Counts:
        """How many lines are done, and why not all of them."""
        total = lines.count if lines.complete else None
        halted = go_on = ""
        if self.halted_by is not None and self.halted_by + 1 != total:
            halted = f"at line {self.halted_by + 1}: {self._rest(lines)}"
            again = self.plan.resume_command(self.run.id, "--retry-failed")
            go_on = f"{again} (runs line {self.halted_by + 1} again, then the rest)"
        elif total is None and self.run.halting is None:
            halted = f"the input was not read to its end; known: {many(lines.count, 'line')}"
            go_on = f"{self.plan.resume_command(self.run.id)} --input FILE"
        done, failed = self.tally.counts["done"], self.tally.counts["failed"]
        return Counts("line", done, failed, total, halted, go_on)

    def _rest(self, lines: RecordedLines) -> str:
        """What became of the lines after the one that halted it."""
        journal = self.run.journal
        assert journal is not None
        (fan_out,) = journal.fan_outs(self.run.id)
        counts = Counter(journal.counts(fan_out.id))
        ended, told = counts["done"] + counts["failed"], self.tally.counts
        waiting = lines.count - ended - counts["cancelled"] - counts["started"]
        parts = {
            "not started": waiting,
            "cancelled": counts["cancelled"],
            "finished too, not printed": ended - told["done"] - told["failed"],
        }
        text = ", ".join(f"{many(n, 'line')} {what}" for what, n in parts.items() if n > 0)
        return text if lines.complete else f"{text}, and the input was not read to its end"


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
