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
from collections.abc import Mapping
from pathlib import Path

from fanwise.errors import CommandFailed, WorkFailed
from fanwise.kernel.call import call
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.user_call import FREE
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
        subplans = scratch / "subplans.json"
        command = await in_thread(self._command, ask, workspace, scratch, subplans)
        try:
            result = await call(_run, command, ask.timeout, name="work", **FREE)
        except CommandFailed as error:  # it could not be started
            raise WorkFailed(tail(error.message, 500), final=True) from error
        said = output_of(result)
        if result.timed_out:
            raise too_slow(ask.timeout, said)
        if not result.ok:
            final = result.exit_code in NOT_STARTED
            raise WorkFailed(ending_in_words(result), said, final=final)
        return WorkResult(said=said, subplans=await in_thread(read_subplans, subplans, ask))

    def _command(
        self, ask: WorkRequest, workspace: Workspace, scratch: Path, subplans: Path
    ) -> Command:
        (scratch / "prompt.md").write_bytes(ask.prompt.encode("utf-8", "surrogateescape"))
        (scratch / "ask.json").write_text(json.dumps(ask.to_json()))
        single = {
            "prompt": str(scratch / "prompt.md"),
            "ask": str(scratch / "ask.json"),
            "id": ask.leaf.id,
            "goal": ask.goal,
            "subplans": str(subplans),
        }
        line, values = fill(self._line, {**single, "files": ask.here})
        return Command(
            line,
            *values,
            shell=True,
            cwd=str(workspace.path),
            env={**environment(workspace), **_variables(ask, single)},
            stdin=b"",
            keep=KEEP,
            check=False,
        )


def _variables(ask: WorkRequest, single: Mapping[str, str]) -> dict[str, str]:
    found = {f"{PREFIX}{name.upper()}": value for name, value in single.items()}
    return {**found, f"{PREFIX}TITLE": ask.leaf.title, f"{PREFIX}TRY": str(len(ask.tries) + 1)}


async def _run(command: Command, timeout: float | None) -> CommandResult:
    loop = asyncio.get_running_loop()
    outside(loop, +1)
    try:
        return await run_command(command, timeout=timeout)
    finally:
        outside(loop, -1)
