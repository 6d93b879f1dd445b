"""A command as a proposer: an agent of the user's own, a script, anything that prints code.

It gets the ask as one JSON document on stdin, or in a file where a word of it says `{ask}`. What
it prints is read as a model's answer is, and bare code is taken too; or it is JSON, which says
what it means: `{"function": "…"}`, `{"patch": "…"}`, `{"file": "…", "path": "…"}`, each with a
`name` if it likes, one or a list of them.

It is the user's own program, so it runs in the folder of the repository and has the user's
environment, with the keys in it. What it proposes is not, and has neither.
"""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from fanwise.kernel.call import call
from fanwise.kernel.virtual_time import outside
from fanwise.optimize.candidates.candidate import Candidate, Kind
from fanwise.optimize.propose.answers import MOST, NoCandidate, read_answer
from fanwise.optimize.propose.port import ProposalRequest, Proposals, Unusable
from fanwise.optimize.propose.prompt import bounded, prompt
from fanwise.processes import Command, CommandResult, Limits, require_success, run_command

PLACE = "{ask}"
"""In a word of the command: the file that has the ask."""
KEEP = 8 * MOST
MOST_KEPT = 2_000
MOST_CANDIDATES = 100
_CONTENT: tuple[Kind, ...] = ("function", "patch", "file")


class CommandProposer:
    """Runs a command for each ask; `cwd` is the folder it runs in."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        timeout: float | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._argv = tuple(argv)
        self._cwd = cwd
        self._timeout = timeout
        self._limits = limits

    @property
    def name(self) -> str:
        return shlex.join(self._argv)

    async def propose(self, ask: ProposalRequest) -> Proposals:
        """What it printed. `CommandFailed` if it failed, or took too long."""
        document = msgspec.json.encode(document_of(ask))
        with tempfile.TemporaryDirectory(prefix="fanwise-") as folder:
            result = await call(self._run, document, Path(folder), name="propose")
        if result.stdout.truncated:
            said = f"it printed {result.stdout.size:,} bytes, and {KEEP:,} is the most"
            return Proposals(unusable=(_unusable(ask.name, said, result.stdout.text),))
        return read_output(result.stdout.text, ask)

    async def _run(self, document: bytes, folder: Path) -> CommandResult:
        by_file = any(PLACE in word for word in self._argv)
        if by_file:
            (folder / "ask.json").write_bytes(document)
        command = Command(
            *(word.replace(PLACE, str(folder / "ask.json")) for word in self._argv),
            stdin=b"" if by_file else document,
            cwd=self._cwd,
            keep=KEEP,
            limits=self._limits,
        )
        loop = asyncio.get_running_loop()
        outside(loop, +1)
        try:
            return require_success(await run_command(command, timeout=self._timeout))
        finally:
            outside(loop, -1)


def document_of(ask: ProposalRequest) -> dict[str, Any]:
    """What the command is given: the ask, and the same as a question in words."""
    return {**msgspec.to_builtins(ask), "how": ask.how, "name": ask.name, "prompt": prompt(ask)}


def read_output(text: str, ask: ProposalRequest) -> Proposals:
    """The candidates in a command's output, and why others are unusable."""
    found = _as_json(text)
    if found is None:
        try:
            read = read_answer(text, ask.function, bare=True)
        except NoCandidate as problem:
            return Proposals(unusable=(_unusable(ask.name, str(problem), text),))
        return Proposals(candidates=(ask.candidate(read.kind, read.content),))
    return _each(found, ask)


def _as_json(text: str) -> list[Any] | None:
    """The output as a list, if it is a JSON object or list; code and patches are neither."""
    try:
        found = msgspec.json.decode(text.strip())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    if isinstance(found, dict):
        return [found]
    return found if isinstance(found, list) else None


def _each(rows: list[Any], ask: ProposalRequest) -> Proposals:
    candidates: list[Candidate] = []
    unusable: list[Unusable] = []
    if not rows:
        unusable.append(_unusable(ask.name, "it printed an empty list", "[]"))
    for number, row in enumerate(rows[:MOST_CANDIDATES]):
        name = ask.name if len(rows) == 1 else f"{ask.name}.{number + 1}"
        try:
            candidates.append(_candidate(row, name, ask))
        except NoCandidate as problem:
            shown = msgspec.json.encode(row).decode()
            unusable.append(_unusable(name, str(problem), shown))
    if len(rows) > MOST_CANDIDATES:
        more = f"it gave {len(rows)} candidates, and {MOST_CANDIDATES} is the most"
        unusable.append(_unusable(ask.name, more, ""))
    return Proposals(candidates=tuple(candidates), unusable=tuple(unusable))


def _candidate(row: Any, name: str, ask: ProposalRequest) -> Candidate:
    if not isinstance(row, dict) or not all(isinstance(value, str) for value in row.values()):
        raise NoCandidate("it is no object of texts")
    kinds = [key for key in _CONTENT if key in row]
    if len(kinds) != 1:
        raise NoCandidate(f"it needs exactly one of {', '.join(_CONTENT)}")
    kind = kinds[0]
    known = {kind, "name", *(["path"] if kind == "file" else [])}
    if odd := sorted(set(row) - known):
        raise NoCandidate(f"{odd[0]!r} means nothing beside {kind!r}")
    if len(row[kind]) > MOST or "\0" in row[kind]:
        raise NoCandidate(f"its {kind} is longer than {MOST:,} characters, or has a NUL in it")
    if kind == "function" and not ask.target:
        raise NoCandidate("there is no target that a function could replace")
    title = " ".join(row.get("name", "").split())
    shown = f"{name}: {bounded(title, 80)}" if title else name
    return ask.candidate(kind, row[kind], name=shown, path=_path(row, ask, kind))


def _path(row: dict[str, str], ask: ProposalRequest, kind: Kind) -> str | None:
    if kind != "file":
        return None
    path = row.get("path") or ask.target.partition("::")[0]
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or parts[0] == ".git" or "\0" in path:
        raise NoCandidate(f"{path!r} is no file of the repository")
    return path


def _unusable(name: str, why: str, text: str) -> Unusable:
    return Unusable(name=name, reason=why, answer=bounded(text, MOST_KEPT))
