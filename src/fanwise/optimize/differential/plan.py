"""Which calls will be made on both sides. They are chosen beside the original, once."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import msgspec

from fanwise.errors import FanwiseError
from fanwise.kernel.confined.settings import Settings
from fanwise.kernel.in_thread import in_thread
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.child_program import Where, run_program, site_of
from fanwise.optimize.differential.recording import CallRecording, digest_of

MOST = 320
"""How many calls to add to the recorded ones."""

Level = Literal["strict", "foreign", "opaque", "far", "probe"]


class PlannedCall(msgspec.Struct, frozen=True):
    """A call of the plan, without its arguments."""

    id: int
    group: int
    """Those of one group are made in one process, in this order."""
    label: str
    level: Level
    script: str
    after: str | None = None
    """A digest of what the recorded call did."""
    probe: int | None = None
    """The entry that tells whether the original knows anything of the type of what was changed."""
    like: int | None = None
    """Of a stream in the place of a list: the entry with that list."""
    changed: str = ""
    """Of a variation: the parameter that was changed, such as `n` or `rows[0]`."""
    rebuilt: bool = True
    """Of a method: its object is made by the constructor, and not out of its attributes."""
    size: int = 0
    """How much there is to read, for all of its group."""
    input: str = ""
    """A digest of what is given: entries that differ in their script alone have the same."""


class CallPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A file of planned calls. JSON-able."""

    file: str
    digest: str
    entries: tuple[PlannedCall, ...]

    def intact(self) -> bool:
        """Whether the file is unchanged."""
        return self.digest == digest_of(Path(self.file))


def write_plan(file: Path, lines: bytes) -> CallPlan:
    """Write the planned calls that a child printed."""
    rows = [line for line in lines.splitlines() if line.startswith(b"{")]
    file.write_bytes(b"".join(line + b"\n" for line in rows))
    entries = tuple(msgspec.json.decode(line, type=PlannedCall) for line in rows)
    return CallPlan(file=str(file), digest=digest_of(file), entries=entries)


async def make_plan(
    where: Where,
    target: Target,
    recording: CallRecording,
    settings: Settings,
    *,
    most: int = MOST,
    seed: int = 0,
) -> CallPlan:
    """Make one out of what was recorded, in a checkout that has the original."""
    how: dict[str, Any] = recording.how(site_of(where).root, target.file, target.name)
    result = await run_program(
        where,
        "plan",
        {**how, "most": most, "seed": seed},
        settings,
        python=recording.python,
        readable=(recording.folder,),
    )
    if not result.ok:
        said = result.stderr.text.strip().rpartition("\n")[2]
        raise FanwiseError(f"no calls to compare could be made: {said}")
    file = Path(recording.folder) / "plan.jsonl"
    return await in_thread(write_plan, file, result.stdout.data)


def read_rows(plan: CallPlan, ids: Collection[int]) -> list[dict[str, Any]]:
    """Some entries with their arguments, which are bytes to us, in the order of `ids`."""
    lines = Path(plan.file).read_bytes().splitlines()
    rows = {row["id"]: row for row in map(msgspec.json.decode, lines)}
    return [rows[each] for each in ids]


def rows_to_lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
