"""The checks that run none of the candidate's code: it applies, and what it changed compiles.

Compiling happens in a process of its own: some source texts crash the compiler.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from fanwise.errors import CandidateUnfit
from fanwise.kernel.confined.ending import ending_of
from fanwise.kernel.confined.running import run_in_workspace, scratch_folder
from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.candidates.placement import Placement, place
from fanwise.optimize.candidates.target import Target
from fanwise.workspaces import Workspace

Stage = Literal["apply", "compile", "test", "differential"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of correctness, passed or not. JSON-able."""

    stage: Stage
    ok: bool
    reason: str = ""
    """One line, may be empty."""
    detail: str = ""
    """What a person, or whoever repairs it, needs to see; bounded."""
    seconds: float = 0.0
    differs: tuple[str, ...] = ()
    """Differences in calls that nobody makes: told, and not held against it."""
    allowed: tuple[str, ...] = ()
    """Differences that a waiver allows."""
    calls: int | None = None
    """In how many calls it was compared with the original; None: in none."""


def check_applies(
    workspace: Workspace,
    candidate: Candidate,
    target: Target | None,
    *,
    judges: Collection[str] = (),
) -> tuple[Finding, Placement | None]:
    """Put it there, and say whether that could be done. Sync: it runs git."""
    began = time.perf_counter()
    placed, ok, reason = None, True, ""
    try:
        placed = place(workspace, candidate, target, judges=judges)
    except CandidateUnfit as error:
        ok, reason = False, error.reason
    else:
        if placed.left_out:
            files = ", ".join(placed.left_out)
            reason = f"its changes to {files} are left out: a candidate cannot change its tests"
    return Finding(stage="apply", ok=ok, reason=reason, seconds=time.perf_counter() - began), placed


_PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
for name in json.load(sys.stdin):
    try:
        with open(name, "rb") as file:
            compile(file.read(), name, "exec", dont_inherit=True)
    except FileNotFoundError:
        pass
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        print(name + (":%d" % line if line else "") + ": " + getattr(error, "msg", str(error)))
        sys.exit(1)
"""
_TIMEOUT_S = 60.0


async def check_compiles(workspace: Workspace, files: Sequence[str], settings: Settings) -> Finding:
    """Whether all changed files that are Python compile; `files` are relative to the top."""
    began = time.perf_counter()
    python = [name for name in files if name.endswith(".py")]
    reason = await _problem(workspace, python, settings) if python else ""
    seconds = time.perf_counter() - began
    return Finding(stage="compile", ok=not reason, reason=reason, seconds=seconds)


async def _problem(workspace: Workspace, files: Sequence[str], settings: Settings) -> str:
    names = [str(workspace.root / name) for name in files]
    async with scratch_folder(workspace) as scratch:
        result = await run_in_workspace(
            workspace, [sys.executable, "-I", "-c", _PROGRAM], settings,
            scratch=scratch, stdin=msgspec.json.encode(names), timeout=_TIMEOUT_S,
        )  # fmt: skip
    if result.ok:
        return ""
    said = result.stdout.text.strip().replace(f"{workspace.root}/", "")
    return ending_of(result, settings, _TIMEOUT_S) or said or "it cannot be compiled"
