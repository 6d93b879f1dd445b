"""Verifies what a leaf did, with the user's own command, in its workspace.

`{tests}` are the test files among its files and those that import them; `{files}` are its files
and the new ones that exist. If the line names one of them and there is none, nothing is run, and
the result says so. Tests run code that an agent wrote, so they are confined like all such code: see
`kernel/confined`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from fanwise.errors import CommandFailed
from fanwise.kernel.call import call
from fanwise.kernel.confined import Settings, ending_of, hint_of, scratch_folder
from fanwise.kernel.confined.running import command_in_workspace
from fanwise.kernel.user_call import FREE
from fanwise.plan.split.patterns import Patterns
from fanwise.plan.work.by_command import run_outside
from fanwise.plan.work.captured_output import output_of, tail
from fanwise.plan.work.names import Names
from fanwise.plan.work.words import VERIFY, Value, fill, places_in
from fanwise.processes import PLAIN, CommandResult, Limits
from fanwise.workspaces import Workspace

TESTS = (
    "test_*.py", "*_test.py", "tests.py",
    *(f"*.{kind}.{end}" for kind in ("test", "spec") for end in ("js", "jsx", "ts", "tsx", "mjs")),
    "*_test.go", "*_test.rb", "*_spec.rb", "*Test.java", "*Test.kt", "**/tests/*.rs", "*_test.exs",
)  # fmt: skip
"""What test files are called, by the customs of each language."""
LONGEST_S = 24 * 3600.0
LIMITS = Limits(processes=1024, file_size=4 << 30, output=64 << 20)
"""Limits that no verification should reach, and a runaway process soon would."""

Verified = Literal["passed", "no tests", "not asked"]


class NotVerified(Exception):
    def __init__(self, reason: str, said: str = "") -> None:
        self.reason = reason
        self.said = said
        super().__init__(reason)


def judging_tests(
    files: Iterable[str], imports: Mapping[str, Sequence[str]], patterns: Sequence[str] = ()
) -> tuple[str, ...]:
    """The test files of a leaf: its own, and those that import its files."""
    own = set(files)
    wanted = Patterns(patterns or TESTS)
    importers = (path for path, used in imports.items() if not own.isdisjoint(used))
    return tuple(sorted(path for path in {*own, *importers} if wanted.match(path)))


async def verify(
    workspace: Workspace,
    line: str,
    *,
    tests: Sequence[str],
    files: Sequence[str],
    leaf: str,
    names: Names,
    settings: Settings,
) -> Verified:
    """Run it. `NotVerified` with the end of what it wrote."""
    values: dict[str, Value] = {
        "tests": _there(workspace, tests, names),
        "files": _there(workspace, files, names),
        "id": leaf,
    }
    if any(not values[name] for name in places_in(line, VERIFY)):
        return "no tests"
    filled_line, given = fill(line, values)
    async with scratch_folder(workspace) as scratch:
        command = command_in_workspace(
            workspace, filled_line, settings, scratch=scratch, values=given
        )
        try:
            result = await call(run_outside, command, settings.timeout_s, name="verify", **FREE)
        except CommandFailed as error:  # it could not be started
            raise NotVerified(tail(error.message, 500)) from error
    said = output_of(result)
    if result.ok and not ending_of(result, settings):
        return "passed"
    raise NotVerified(_reason(result, settings, said), said)


def settings_for(timeout: float | None, env: Iterable[str], *, sandbox: bool) -> Settings:
    return Settings(
        timeout_s=timeout or LONGEST_S, limits=LIMITS, sandbox=sandbox, inherit=(*PLAIN, *env)
    )


def _there(workspace: Workspace, paths: Sequence[str], names: Names) -> list[str]:
    return [names.here(path) for path in paths if (workspace.root / path).is_file()]


def _reason(result: CommandResult, settings: Settings, said: str) -> str:
    ended = ending_of(result, settings) or f"it exited with code {result.exit_code}"
    hint = hint_of(said)
    return f"{ended}: {hint}" if hint else ended
