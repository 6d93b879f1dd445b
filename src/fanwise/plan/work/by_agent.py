"""An agent's command line that does the work: `each: {agent: claude}`.

How each agent is called is data (`specs/agents.py`), so that a user adds one in a file. It runs
like any command of the user's: see `by_command`. An agent that reads its prompt on stdin gets it
there. For others the prompt is an argument, and one that is too long for that is left in a file
that the agent is told to read.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from fanwise.core.outcome import Usage
from fanwise.errors import UsageError
from fanwise.kernel.user_call import NOTHING
from fanwise.plan.work.by_command import CommandWorker, Variables
from fanwise.plan.work.captured_output import tail
from fanwise.plan.work.port import WorkRequest
from fanwise.processes import Command, CommandResult
from fanwise.specs.agents import Integration, argv, read_report
from fanwise.workspaces import Workspace

LONGEST = 100_000
"""Bytes of one argument: Linux allows 131,072."""
UNKNOWN = Usage(usd=None)


class AgentWorker(CommandWorker):
    """Runs an agent for each try; `args` are further words of its command line."""

    def __init__(self, name: str, agent: Integration, args: Sequence[str] = ()) -> None:
        super().__init__("")
        self._name = name
        self._agent = agent
        self._args = tuple(args)
        if shutil.which(agent.argv[0]) is None:
            raise UsageError(
                f"the agent {name!r} needs the program {agent.argv[0]!r}, which is not installed",
                "Install it, or put it on the PATH",
            )

    @property
    def name(self) -> str:
        return self._name

    @property
    def call_name(self) -> str:
        return "agent"

    def command(self, ask: WorkRequest, workspace: Workspace, given: Variables) -> Command:
        prompt = ask.prompt.encode("utf-8", "replace").decode()
        report = () if self._agent.report is None else self._agent.report.args
        more = [*self._agent.edits, *report, *self._args]
        if self._agent.stdin:
            words = [*self._agent.stdin, *more]
            return self.command_of(words, ask, workspace, given, stdin=prompt.encode())
        if len(prompt.encode()) > LONGEST:
            prompt = f"Read the file {given['prompt']} and do what it says."
        return self.command_of([*argv(self._agent, prompt), *more], ask, workspace, given)

    def said(self, result: CommandResult) -> str:
        """What the agent said, where it reports that; else all that it wrote."""
        report, output = self._agent.report, super().said(result)
        text = None if report is None else read_report(report, result.stdout.text)[0]
        return output if text is None else tail(text)

    def usage(self, result: CommandResult | Exception) -> Usage:
        report = self._agent.report
        if isinstance(result, Exception):  # it was not started
            return NOTHING
        return UNKNOWN if report is None else read_report(report, result.stdout.text)[1]
