"""Executing a map, new or resumed:

input -> RecordedLines -> fan_out_stream -> OrderedOutput -> stdout
               |                |                |
            journal          journal          Position
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from fanwise.core.outcome import Outcome
from fanwise.errors import DuplicateKey, ItemsError, UsageError
from fanwise.journal.port import Journal
from fanwise.journal.take_first import take
from fanwise.kernel.run import Run
from fanwise.kernel.run_files import files_of
from fanwise.kernel.scope import item_of
from fanwise.kernel.stream import Stream, fan_out_stream
from fanwise.kernel.workers import WorkPlace
from fanwise.lines.output.fd_writer import FdWriter
from fanwise.lines.output.ordered_output import OrderedOutput
from fanwise.lines.output.position import Position
from fanwise.lines.run.joblog import JobLog
from fanwise.lines.run.recorded_lines import RecordedLines
from fanwise.lines.run.spill_files import SpillFiles
from fanwise.lines.run.work import HaltAfter, LineWork
from fanwise.lines.spec.map_spec import MapSpec, open_input
from fanwise.lines.state.counts import KnownLines, MapEnd, Tally, final_counts, lines_are
from fanwise.lines.views.text import end_lines
from fanwise.processes import CommandResult
from fanwise.specs import End
from fanwise.specs.place import PlaceSpec
from fanwise.specs.system import Screen
from fanwise.view.item_rows import item_rows
from fanwise.view.items import Inputs, input_key
from fanwise.view.table import Table
from fanwise.view.terminal_text import terminal_line

BROKEN_PIPE = 141
"""The exit code if nobody reads the output any more."""


class RunnableLines:
    """A map that can be run.

    The lines come from a descriptor, from a file, or, on a resume without an input, from the
    journal.
    """

    caps = None
    budget = None

    def __init__(
        self,
        spec: MapSpec,
        *,
        fd: int | None = None,
        file: Path | None = None,
        quiet: bool = False,
    ) -> None:
        self.map_spec = spec
        self.quiet = quiet
        self.total: int | None = None
        self.screen: Screen | None = None
        self.writes = False
        self._fd = fd
        self._file = file

    @property
    def title(self) -> str:
        return self.map_spec.title

    @property
    def spec(self) -> dict[str, Any]:
        """The command and the options; the lines are in the journal."""
        return self.map_spec.to_json()

    @property
    def on(self) -> WorkPlace | None:
        named = self.map_spec.on
        return None if named is None else PlaceSpec.model_validate(named).place()

    def describe(self) -> Sequence[str]:
        """What would run."""
        lines = "each line" if self.map_spec.lines == 1 else f"every {self.map_spec.lines} lines"
        return [f"command {self.title}", f"for     {lines} of {self._file or 'the input'}"]

    def use(self, screen: Screen, *, stdout: bool) -> None:
        """Write outputs while it runs, if stdout is free for that."""
        self.screen, self.writes = screen, stdout

    async def execute(self, run: Run) -> End:
        """Run the command for all lines."""
        if run.journal is None or item_of(run) is not None:
            raise UsageError(
                "a map needs a run of its own in a journal, which keeps its lines",
                "Pass run='an-id', or use fan_out with a Command",
            )
        async with files_of(run) as folder:
            with self._input() as fd:
                return await _Execution(self, run, run.journal, folder, fd).execute()

    @contextmanager
    def _input(self) -> Iterator[int | None]:
        if self._file is None:
            yield self._fd
            return
        fd = open_input(str(self._file))
        try:
            yield fd
        finally:
            os.close(fd)


class _Execution:
    def __init__(
        self, runnable: RunnableLines, run: Run, journal: Journal, folder: Path, fd: int | None
    ) -> None:
        self.runnable = runnable
        self.spec = runnable.map_spec
        self.run = run
        self.journal = journal
        self.folder = folder
        self.fd = fd
        self.edited = run.resumed and fd is not None and self.spec.key
        """Whether the lines may have changed since the run began: they are known by key."""
        self.tally = Tally()
        self.spilled = SpillFiles(folder)
        self.work = LineWork(self.spec, str(folder))
        self.halt_after = HaltAfter(self.spec.halting, run)
        self.halted_by: int | None = None
        """The item whose failure halted it."""
        self.broken_pipe = False

    async def execute(self) -> End:
        lines = RecordedLines(
            self.run,
            self.fd,
            separator=self.spec.separator,
            together=self.spec.lines,
            edited=self.edited,
            on_complete=self._expect,
        )
        try:
            with self._listeners():
                await self._fan_out(lines)
        finally:
            await lines.finish()
        if lines.other_input is not None:  # also if a recorded halt ended it before that line
            raise lines.other_input
        self.spilled.remove_forgotten(self.journal, self.run.id)
        return self._end(lines)

    def _expect(self, total: int) -> None:
        if self.runnable.screen is not None:
            self.runnable.screen.expect(total)

    @contextmanager
    def _listeners(self) -> Iterator[None]:
        """Subscribe to events: for `--halt`, and for `--joblog`."""
        self.run.subscribers.append(self.halt_after)
        if self.spec.joblog is None:
            yield
            return
        loop = asyncio.get_running_loop()
        log = JobLog(
            self.spec,
            Path(self.spec.joblog),
            self._line,
            lambda at: self.run.wall() - (loop.time() - at),
            self.work.slots,
            resumed=self.run.resumed,
        )
        self.run.subscribers.append(log)
        with closing(log):
            yield
        if log.problem is not None:
            raise log.problem

    def _line(self, index: int) -> bytes:
        """The input of an item."""
        (record,) = take(self.journal.inputs(self.run.id, index), 1)
        return record.data

    async def _fan_out(self, lines: RecordedLines) -> None:
        output = self._output()
        stream: Stream[CommandResult] = fan_out_stream(
            self.work,
            lines.given(),
            cap=self.spec.cap,
            halt=self.spec.halting.kernel,
            retry=self.spec.retrying,
            key=(lambda line: input_key(line.data)) if self.spec.key else None,
            run=self.run,
            name="lines",
        )
        try:
            async with stream:
                async for outcome in stream:
                    await self._take(outcome, output)
        except DuplicateKey as error:
            raise _same_line(error, self.journal, self.run.id, self.spec.lines) from error
        except ItemsError as error:  # only the input can be the cause
            raise error.__cause__ or error from None
        finally:
            if output is not None:
                output.close()

    async def _take(self, outcome: Outcome[CommandResult], output: OrderedOutput | None) -> None:
        self.tally.add(outcome)
        self.spilled.add(outcome)
        if outcome.status == "failed" and self.spec.halting.in_order:
            later = self.halted_by is not None and self.halted_by < outcome.index
            self.halted_by = self.halted_by if later else outcome.index
        if output is None or self.broken_pipe:
            return
        try:
            await output.add(outcome)
        except BrokenPipeError:  # `| head -1` has seen enough
            self.broken_pipe = True
            self.run.cancel("stdout was closed")

    def _output(self) -> OrderedOutput | None:
        screen, record = self.runnable.screen, self.run.record
        if screen is None or record is None or not self.runnable.writes:
            return None
        position = Position(self.folder / "position", record)
        # With --retry-failed the earlier output had gaps; of an edited input it had other lines.
        if self.run.retries_failed or self.edited or not self.run.resumed:
            position.move(0, 0)
        return OrderedOutput(
            FdWriter(1, "stdout"),
            FdWriter(2, "stderr"),
            position,
            screen,
            to_failure=self.spec.halting.in_order,
            tag=self._tag if self.spec.tag else None,
        )

    def _tag(self, index: int) -> bytes:
        """What `--tag` puts before each line, safe for a terminal and without line breaks."""
        words = [each.decode("utf-8", "replace") for each in self.spec.split(self._line(index))]
        return f"{terminal_line(' '.join(words))}\t".encode()

    def _end(self, lines: RecordedLines) -> End:
        if self.halted_by is not None:
            self.tally.end_at(self.halted_by)
        end = MapEnd(
            inputs=KnownLines(lines.count, lines.complete),
            outcomes=self.tally.counts,
            together=self.spec.lines,
            halted_by=self.halted_by,
            halted_after=self.spec.halting.words if self.halt_after.halted else "",
            wanted=self.spec.halting.what != "fail",
            from_outside=self.run.halting is not None,
        )
        given = self.run.given_journal
        where = None if given is None else os.fspath(given)
        failed = end_lines(self.tally, self.journal, self.run.id, self.spec.lines)
        return End(
            notes=[] if self.runnable.quiet else failed,
            exit_code=BROKEN_PIPE if self.broken_pipe else int(self.tally.counts["failed"] > 0),
            counts=final_counts(end, self.journal, self.run.id, where),
            facts={"counts": self.tally.counts},
            table=_outcomes(self.run.id, "by key" if self.spec.key else "by index"),
            failures=failed,
        )


def _outcomes(run_id: str, inputs: Inputs) -> Callable[[Journal], Table]:
    return lambda journal: Table("outcomes", {}, item_rows(journal, run_id, inputs=inputs))


def _same_line(error: DuplicateKey, journal: Journal, run_id: str, together: int) -> UsageError:
    earlier = "an earlier one"
    for record in journal.inputs(run_id):
        if input_key(record.data) == error.key and record.index < error.index:
            earlier = lines_are(record.index, together).rpartition(" ")[0]
            break
    return UsageError(
        f"{lines_are(error.index, together)} the same as {earlier}: {error.key!r}",
        "Leave --key out, or give each line once (sort -u)",
    )
