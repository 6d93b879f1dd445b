"""A command that does the work: an agent of the user's own, a codemod, a script.

It runs in the folder of the plan, in the workspace, and edits the files there. It may say
`{prompt}`, a file with the question in words; `{files}`, the names of its files; `{id}`, `{goal}`;
`{ask}`, a file that has all of it as JSON; `{subplans}`, a file that it may write instead of
editing anything. The same are in the environment: FANWISE_PLAN_PROMPT and so on. Exit code 0 says
that it has done its work; editing nothing is no failure.

It is the user's own program, so it has the user's environment, with the keys in it, and no
sandbox around it. What it says is kept, and so the values of variables that are secrets by their
names are masked in it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from fanwise.core.outcome import Usage
from fanwise.errors import CommandFailed, WorkFailed
from fanwise.kernel.call import call
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.user_call import NOTHING
from fanwise.kernel.virtual_time import outside
from fanwise.plan.work.captured_output import output_of, tail
from fanwise.plan.work.port import LeafWorker, WorkRequest, WorkResult, too_slow
from fanwise.plan.work.subplans import read_subplans
from fanwise.plan.work.words import WORK, check_line, fill
from fanwise.processes import Command, CommandResult, run_command
from fanwise.processes.result import ending_in_words
from fanwise.workspaces import Workspace, environment

KEEP = 1 << 20
"""Bytes of what it writes that stay in memory."""
NOT_STARTED = (126, 127)
"""What a shell exits with if there is no such program, or it cannot be run."""
PREFIX = "FANWISE_PLAN_"
Variables = Mapping[str, str]


class CommandWorker(LeafWorker):
    """Runs a command for each try. `UsageError` for one whose places cannot be filled."""

    def __init__(self, line: str) -> None:
        check_line(line, WORK)
        self._line = line

    @property
    def name(self) -> str:
        return self._line

    @property
    def splitting(self) -> str:
        return (
            "Instead of editing you may hand back parts of it. Write them as JSON to the file that "
            f"the environment variable {PREFIX}SUBPLANS names."
        )

    async def work(self, ask: WorkRequest, workspace: Workspace, scratch: Path) -> WorkResult:
        given = await in_thread(_write, ask, scratch)
        command = self.command(ask, workspace, given)
        try:
            result = await call(
                run_outside,
                command,
                ask.timeout,
                name=self.call_name,
                estimate=NOTHING,
                usage=self.usage,
            )
        except CommandFailed as error:  # it could not be started
            raise WorkFailed(tail(error.message, 500), final=True) from error
        said = self.said(result)
        if result.timed_out:
            raise too_slow(ask.timeout, said)
        if not result.ok:
            final = result.exit_code in NOT_STARTED
            raise WorkFailed(ending_in_words(result), said, final=final)
        returned = await in_thread(read_subplans, Path(given["subplans"]), ask)
        return WorkResult(said=said, subplans=returned)

    @property
    def call_name(self) -> str:
        """What the journal calls it."""
        return "work"

    def command(self, ask: WorkRequest, workspace: Workspace, given: Variables) -> Command:
        line, values = fill(self._line, {**given, "files": ask.here})
        return self.command_of([line, *values], ask, workspace, given, shell=True)

    def command_of(
        self,
        words: Sequence[str],
        ask: WorkRequest,
        workspace: Workspace,
        given: Variables,
        *,
        shell: bool = False,
        stdin: bytes = b"",
    ) -> Command:
        return Command(
            *words,
            shell=shell,
            cwd=str(workspace.path),
            env={**environment(workspace), **_variables(ask, given)},
            stdin=stdin,
            keep=KEEP,
            check=False,
        )

    def said(self, result: CommandResult) -> str:
        return output_of(result)

    def usage(self, result: CommandResult | Exception) -> Usage:
        """What it spent: of a command nobody knows, and it counts as nothing."""
        return NOTHING


def _write(ask: WorkRequest, scratch: Path) -> Variables:
    """Write the files that a command may read, and return what it may name."""
    (scratch / "prompt.md").write_bytes(ask.prompt.encode("utf-8", "surrogateescape"))
    (scratch / "ask.json").write_text(json.dumps(ask.to_json()))
    return {
        "prompt": str(scratch / "prompt.md"),
        "ask": str(scratch / "ask.json"),
        "id": ask.leaf.id,
        "goal": ask.goal,
        "subplans": str(scratch / "subplans.json"),
    }


def _variables(ask: WorkRequest, single: Variables) -> dict[str, str]:
    found = {f"{PREFIX}{name.upper()}": value for name, value in single.items()}
    return {**found, f"{PREFIX}TITLE": ask.leaf.title, f"{PREFIX}TRY": str(len(ask.tries) + 1)}


async def run_outside(command: Command, timeout: float | None) -> CommandResult:
    """Run a command while virtual time, if there is any, stands still.

    Nothing of it stays: the next sub-plan may get the same workspace.
    """
    loop = asyncio.get_running_loop()
    outside(loop, +1)
    try:
        return await run_command(command, timeout=timeout, daemons=False)
    finally:
        outside(loop, -1)
