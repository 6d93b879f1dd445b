"""Whether what a candidate changed is Python at all: a look that costs less than the tests.

In a process of its own: there are texts that bring a compiler down.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import msgspec

from fanwise.kernel.confined.ending import ending_of
from fanwise.kernel.confined.running import run_in_workspace, scratch_folder
from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.checking.finding import Finding
from fanwise.workspaces import Workspace

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
    with scratch_folder(workspace) as scratch:
        result = await run_in_workspace(
            workspace, [sys.executable, "-I", "-c", _PROGRAM], settings,
            scratch=scratch, stdin=msgspec.json.encode(names), timeout=_TIMEOUT_S,
        )  # fmt: skip
    if result.ok:
        return ""
    said = result.stdout.text.strip().replace(f"{workspace.root}/", "")
    return ending_of(result, settings, _TIMEOUT_S) or said or "it cannot be compiled"
