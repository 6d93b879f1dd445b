"""Make the calls of a plan on whatever code stands in a checkout, and read what was seen.

What comes back is text that the code may have had a hand in: it is JSON, it is counted, each line
has to carry a word that only the two programs know, and nothing in it is ever run.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.child_program import Where, run_program, site_of
from fanwise.optimize.differential.plan import CallPlan
from fanwise.optimize.differential.recording import CallRecording
from fanwise.processes import CommandResult

SECONDS_EACH = 1.0
"""What a call may take on the original, if its recorded calls are quick."""
_TIMES = 5.0
"""As many times as long as the slowest of them, else."""
IMPORT_S = 20.0
MEMORY = 1 << 30
"""Bytes that calls may take, beyond what the imports took."""


class ObservedCall(msgspec.Struct, frozen=True):
    """What was seen of one entry: its steps as JSON, or how the process ended in it."""

    steps: msgspec.Raw = msgspec.Raw(b"[]")
    ended: str = ""
    seconds: float = 0.0

    def read(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = msgspec.json.decode(self.steps)
        return found

    def first(self) -> dict[str, Any] | None:
        return next(iter(self.read()), None)


class Observations(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed in one pass over a plan. JSON-able."""

    seen: Mapping[int, ObservedCall]
    names: tuple[str, ...] = ()
    """Global names whose values are compared."""
    broken: str = ""
    """Why nothing could be observed."""
    cut: str = ""
    """Why the answers ended before the last one: then what is missing was not observed."""
    hash_seed: int = 0


class _Line(msgspec.Struct):
    word: str
    id: int = 0
    steps: msgspec.Raw = msgspec.Raw(b"[]")
    ended: str = ""
    broken: str = ""
    names: tuple[str, ...] = ()
    over: bool = False


class _Timed(msgspec.Struct):
    seconds: float = 0.0


async def observe(
    where: Where,
    target: Target,
    recording: CallRecording,
    plan: CallPlan,
    settings: Settings,
    *,
    hash_seed: int = 0,
    only: Collection[int] | None = None,
    seconds: Mapping[int, float] | None = None,
    ends: int = 40,
    budget_s: float = 60.0,
    readable: tuple[str, ...] = (),
    names: Collection[str] | None = None,
) -> Observations:
    """Make the calls, and tell what was seen. `seconds` says what an entry may take.

    `names`: the global names to watch. A candidate may have large tables of its own, and they are
    not compared with anything; None: all.

    After `ends` entries in which the process did not survive, and after `budget_s`, the rest is
    left out. If the program did not come to its end, `cut` says why.
    """
    word = secrets.token_hex(16)
    how = recording.how(site_of(where).root, target.file, target.name)
    how |= {"plan": plan.file, "word": word, "ends": ends, "budget": budget_s, "memory": MEMORY}
    how |= {"seconds": {str(key): value for key, value in (seconds or {}).items()}}
    each = max(SECONDS_EACH, _TIMES * recording.slowest_s)
    how |= {"seconds_each": each, "import_s": IMPORT_S}
    how |= {"names": None if names is None else list(names)}
    how |= {"only": None if only is None else list(only)}
    result = await run_program(
        where, "observe", how, settings, python=recording.python, hash_seed=hash_seed,
        readable=(recording.folder, *readable), timeout=budget_s + IMPORT_S + 30.0,
    )  # fmt: skip
    known = {entry.id for entry in plan.entries}
    return read_observations(result, word, known, hash_seed)


def read_observations(
    result: CommandResult, word: str, known: Collection[int], hash_seed: int
) -> Observations:
    """Read what the program printed; what is not its own is left out."""
    seen: dict[int, ObservedCall] = {}
    names: tuple[str, ...] = ()
    broken, over = "", False
    for line in map(_line, result.stdout.data.splitlines()):
        if line is None or line.word != word:
            continue
        broken, over = broken or line.broken, over or line.over
        names = names or line.names
        if line.id in known and line.id not in seen and not line.broken:
            seen[line.id] = ObservedCall(line.steps, line.ended, _seconds(line.steps))
    cut = "" if over or broken else f"the check ended early: {_ending(result)}"
    return Observations(seen=seen, names=names, broken=broken, cut=cut, hash_seed=hash_seed)


def _line(data: bytes) -> _Line | None:
    try:
        return msgspec.json.decode(data, type=_Line)
    except msgspec.DecodeError:
        return None


def _seconds(steps: msgspec.Raw) -> float:
    try:
        return 0.0 + sum(each.seconds for each in msgspec.json.decode(steps, type=list[_Timed]))
    except msgspec.DecodeError:
        return 0.0


def _ending(result: CommandResult) -> str:
    said = result.stderr.text.strip().rpartition("\n")[2][:300]
    ending = result.exceeded or result.ending
    return f"{ending}: {said}" if said else str(ending)
