"""Reads the corpus of traps: `traps/*.txt`.

Each is a small module with its tests, and versions of it that are all faster and all pass those
tests; `wrong` ones do something else, `right` ones do not. Data, not modules: they are written
as people write who know neither our rules nor our linters.

The first line names the target in `mod.py`. `### original`, `### test` (a script), `### bench`
(`run(f)`: a call that shows the gain of a right one; without it the recorded calls are timed),
`### file: name` (of the project, beside `mod.py`), `### wrong: why`, `### right: why`.

Two more kinds: `### slow: why` does the same as the original and must not be accepted all the same
(it gains on repeated calls only, or loses on small ones); `### differs: why` differs only where
nobody calls it, so it may be accepted, but not without saying so.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "traps"


class Version(NamedTuple):
    """Another version of the module."""

    name: str
    source: str


class Trap(NamedTuple):
    """One case of the corpus."""

    name: str
    target: str
    original: str
    test: str
    bench: str
    wrong: tuple[Version, ...]
    right: tuple[Version, ...]
    slow: tuple[Version, ...] = ()
    differs: tuple[Version, ...] = ()
    files: tuple[Version, ...] = ()
    """Of the project, each with its path as its name."""


def read_traps() -> list[Trap]:
    """All of them, by name."""
    return [_read(file) for file in sorted(FOLDER.glob("*.txt"))]


def _read(file: Path) -> Trap:
    head, *sections = file.read_text().split("### ")
    parts = [tuple(section.split("\n", 1)) for section in sections]
    plain = {title: source for title, source in parts if ": " not in title}

    def versions(kind: str) -> tuple[Version, ...]:
        named = [(*title.split(": ", 1), source) for title, source in parts if ": " in title]
        return tuple(Version(name, source) for word, name, source in named if word == kind)

    return Trap(
        name=file.stem,
        target=head.strip().removeprefix("target: "),
        original=plain["original"],
        test=plain["test"],
        bench=plain.get("bench", ""),
        wrong=versions("wrong"),
        right=versions("right"),
        slow=versions("slow"),
        differs=versions("differs"),
        files=versions("file"),
    )
