"""Where the time of the target goes, line by line. Needs `fanwise[profile]`.

A profile is no measurement: watching each line costs more than many lines do. It is for people,
and for whoever refines a candidate.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fanwise.errors import BenchFailed, UsageError
from fanwise.kernel.confined.settings import Settings
from fanwise.optimize.benchmark.stopwatch import (
    Bench,
    BenchCommand,
    NoFigure,
    RecordedCalls,
    answer_of,
    how_to,
)
from fanwise.optimize.candidates.target import Target
from fanwise.optimize.differential.child_program import Where, run_program, site_of
from fanwise.optimize.differential.recording import CallRecording


class ProfiledLine(msgspec.Struct, frozen=True):
    number: int
    hits: int
    seconds: float
    share: float
    """Of all the time in the target."""
    text: str


async def profile(
    where: Where, bench: Bench, target: Target, recording: CallRecording, settings: Settings
) -> list[ProfiledLine]:
    """The lines of the target that ran, on what stands in a checkout."""
    if isinstance(bench, BenchCommand):
        raise UsageError("a command cannot be profiled", "Use `bench: {calls: recorded}`")
    site = site_of(where)
    word = secrets.token_hex(8)
    found = recording.how(site.root, target.file, target.name)
    how = {**how_to(bench, where), "target": found, "word": word, "core": None}
    result = await run_program(
        where,
        "profile_lines",
        how,
        settings,
        python=recording.python,
        readable=(recording.folder,) if isinstance(bench, RecordedCalls) else (),
    )
    answer = answer_of(result, word, settings)
    if isinstance(answer, NoFigure):
        raise BenchFailed(f"a profile of {target.name}", answer.reason)
    if "missing" in answer:
        raise UsageError(
            f"a line profile needs line_profiler, which {answer['missing']} does not have",
            "pip install 'fanwise[profile]'",
        )
    source = (Path(site.root) / target.file).read_text(errors="replace").splitlines()
    return lines_of(answer["lines"], answer["unit"], source)


def lines_of(
    lines: Sequence[list[float]], unit: float, source: Sequence[str]
) -> list[ProfiledLine]:
    """Rows of number, hits and ticks, with their text. PURE."""
    whole = sum(ticks for _, _, ticks in lines) or 1
    return [
        ProfiledLine(
            number=int(number),
            hits=int(hits),
            seconds=ticks * unit,
            share=ticks / whole,
            text=source[int(number) - 1] if 0 < number <= len(source) else "",
        )
        for number, hits, ticks in sorted(lines)
    ]


def profile_text(lines: Sequence[ProfiledLine]) -> str:
    """As a table: number, hits, share of the time, the line."""
    rows = [f"{each.number:6} {each.hits:9} {each.share:6.1%}  {each.text}" for each in lines]
    return "\n".join([f"{'line':>6} {'hits':>9} {'time':>6}", *rows]) + "\n"
