"""Runs the tests on the original and on a candidate, and finds out what became of each."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import Any

import msgspec

from fanwise.kernel.confined.ending import ending_of, hint_of
from fanwise.kernel.confined.running import run_in_workspace, scratch_folder
from fanwise.kernel.confined.settings import Settings
from fanwise.kernel.in_thread import in_thread
from fanwise.optimize.checking.report import TestReport, difference, settled
from fanwise.optimize.checking.static_checks import Finding
from fanwise.processes import CommandResult
from fanwise.workspaces import Workspace, environment

INJECTED = Path(__file__).parent / "injected"
_PLUGIN = "fanwise_report"
_OUTPUT = 4000
_DETAIL = 6000
_TIMES, _AND_S = 10.0, 10.0
"""A candidate may take so many times as long as the original, and so many seconds more."""


class _PluginReport(msgspec.Struct, frozen=True):
    word: str
    tests: dict[str, str]
    details: dict[str, str]
    status: int


async def test_report(
    workspace: Workspace,
    command: str,
    settings: Settings,
    *,
    hash_seed: int = 0,  # noqa: PT028 - it is no test
    timeout: float | None = None,  # noqa: PT028
) -> TestReport:
    """Run the tests in a workspace."""
    word = secrets.token_hex(16)
    began = time.perf_counter()
    async with scratch_folder(workspace) as scratch:
        await in_thread((scratch / "report").mkdir)
        result = await run_in_workspace(
            workspace, command, settings,
            scratch=scratch, env=_environment(workspace, scratch, word, hash_seed, settings),
            readable=(str(INJECTED),), timeout=timeout,
        )  # fmt: skip
        written, problem = await in_thread(_read, scratch / "report", word)
    seconds = time.perf_counter() - began
    problem = ending_of(result, settings, timeout) or problem or _disagreement(result, written)
    return TestReport(
        tests=_merged([each.tests for each in written]) if written else None,
        exit_code=result.exit_code,
        problem=problem,
        details={test: text for each in written for test, text in each.details.items()},
        output=_end(result),
        seconds=seconds,
    )


test_report.__test__ = False  # type: ignore[attr-defined]


async def baseline_report(workspace: Workspace, command: str, settings: Settings) -> TestReport:
    """Run the tests of the original twice, with other orders of sets, and keep what is settled.

    `unusable` says whether anything can be judged by it.
    """
    first = await test_report(workspace, command, settings)
    if first.problem:
        return first
    return settled(first, await test_report(workspace, command, settings, hash_seed=1))


async def check_tests(
    workspace: Workspace,
    command: str,
    baseline: TestReport,
    settings: Settings,
) -> Finding:
    """Whether the same tests run as on the original, and come out the same."""
    patience = min(settings.timeout_s, baseline.seconds * _TIMES + _AND_S)
    report = await test_report(workspace, command, settings, timeout=patience)
    reason, detail = difference(baseline, report)
    hint = hint_of(detail) if reason else ""
    return Finding(
        stage="test",
        ok=not reason,
        reason=f"{reason}: {hint}" if hint else reason,
        detail=detail[-_DETAIL:],
        seconds=report.seconds,
    )


def _environment(
    workspace: Workspace, scratch: Path, word: str, hash_seed: int, settings: Settings
) -> dict[str, str]:
    others = settings.env.get("PYTEST_PLUGINS", "")
    paths = [str(INJECTED), environment(workspace)["PYTHONPATH"]]
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTEST_PLUGINS": ",".join(filter(None, [_PLUGIN, others])),
        "FANWISE_REPORT_FOLDER": str(scratch / "report"),
        "FANWISE_REPORT_WORD": word,
        "FANWISE_REPORT_OTHERS": others,
        "PYTHONHASHSEED": str(hash_seed),
    }


def _read(folder: Path, word: str) -> tuple[list[_PluginReport], str]:
    """What the plugin wrote, each file of one pytest; anything else there was put by others."""
    found = []
    for path in sorted(folder.iterdir()):
        try:
            written = msgspec.json.decode(path.read_bytes(), type=_PluginReport)
        except (OSError, msgspec.MsgspecError):
            return [], "its tests ended before their report was written"
        if written.word != word or path.is_symlink():
            return [], "it wrote a test report of its own"
        found.append(written)
    return found, ""


def _disagreement(result: CommandResult, written: list[_PluginReport]) -> str:
    """A single pytest that is the command says what the command exits with."""
    if len(written) == 1 and written[0].status != result.exit_code and result.exit_code == 0:
        return "its exit code says success, but its test report does not"
    return ""


def _merged(all_tests: list[dict[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for tests in all_tests:
        for test, outcome in tests.items():
            found[test] = f"{found[test]}, {outcome}" if test in found else outcome
    return found


def _end(result: CommandResult) -> str:
    parts: list[Any] = [stream.text[-_OUTPUT:].strip() for stream in (result.stdout, result.stderr)]
    return "\n".join(filter(None, parts))
