"""The project's own functions by the time that a faster version of each could save.

That is its own time, and the time in built-in and library code that it calls. Time in another
function of the project is that function's.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath

import msgspec

from fanwise.errors import BadTarget, FanwiseError, UsageError
from fanwise.kernel.confined.ending import ending_of
from fanwise.kernel.confined.running import scratch_folder
from fanwise.kernel.confined.settings import Settings
from fanwise.kernel.in_thread import in_thread
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.child_program import run_line
from fanwise.workspaces import Workspace

_TESTS = (
    "test", "tests", "testing", "test.py", "tests.py", "conftest.py", "setup.py", "docs",
    "examples",
)  # fmt: skip


class HotFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function of the project, and what the profile says of it."""

    target: str
    calls: int
    seconds: float
    """Of its own, with the built-in and library code that it calls."""
    share: float
    """Of the time of all functions of the project."""


async def rank_functions(workspace: Workspace, line: str, settings: Settings) -> list[HotFunction]:
    """Profile a command in a workspace. `UsageError` if nothing of the project ran."""
    async with scratch_folder(workspace) as folder:
        how = msgspec.json.encode({"root": str(workspace.root), "folder": str(folder)}).decode()
        result = await run_line(workspace, line, {"FANWISE_PROFILE": how}, settings, str(folder))
        found = await in_thread(_read, folder)
    ranked = await in_thread(rank, found, workspace.root)
    if not ranked:
        why = ending_of(result, settings) or f"it exited with code {result.exit_code}"
        said = (result.stderr.text or result.stdout.text).strip().rpartition("\n")[2][:200]
        raise UsageError(
            f"`{line}` ran no function of the project: {why}" + (f" ({said})" if said else ""),
            "Run it in a clean checkout; give --test or --run a command that uses the code",
        )
    return ranked


def _read(folder: Path) -> list[tuple[str, str, int, float]]:
    """What each process of the command has written. It is data of untrusted code: checked."""
    rows: list[tuple[str, str, int, float]] = []
    for path in sorted(folder.glob("*.json")):
        try:
            found = msgspec.json.decode(path.read_bytes(), type=list[tuple[str, str, int, float]])
        except (OSError, msgspec.MsgspecError):
            continue
        rows += [row for row in found if row[2] >= 0 and 0 <= row[3] < 1e9]
    return rows


def rank(rows: Iterable[tuple[str, str, int, float]], root: Path) -> list[HotFunction]:
    """Those that can be a target, the most costly first. Tests are not the project's code."""
    merged: dict[tuple[str, str], tuple[int, float]] = {}
    for file, name, calls, seconds in rows:
        before = merged.get((file, name), (0, 0.0))
        merged[file, name] = before[0] + calls, before[1] + seconds
    own = {key: row for key, row in merged.items() if not _is_test(key[0])}
    total = sum(seconds for _, seconds in own.values())
    found = [
        HotFunction(
            target=f"{file}::{name}", calls=calls, seconds=seconds,
            share=seconds / total if total > 0 else 0.0,
        )
        for (file, name), (calls, seconds) in own.items()
        if _is_target(f"{file}::{name}", root)
    ]  # fmt: skip
    return sorted(found, key=lambda each: (-each.seconds, each.target))


def _is_test(file: str) -> bool:
    parts = PurePath(file).parts
    is_file = parts[-1].startswith("test_") or parts[-1].endswith("_test.py")
    return is_file or any(part in _TESTS for part in parts)


def _is_target(text: str, root: Path) -> bool:
    if "<" in text:
        return False
    try:
        target = Target.parse(text, inside="")
        target.find(target.read(root).text)
    except (BadTarget, FanwiseError, OSError, ValueError):
        return False
    return True
