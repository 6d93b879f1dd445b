"""As much of a file as a question may hold: its beginning, and what stands around the target.

The beginning has the imports and constants, what is near are the helpers and the class. What is
left out is marked, so that nobody takes the rest for all.
"""

from __future__ import annotations

from collections.abc import Iterable

BYTES_A_TOKEN = 2
"""As in the estimates of what a call may cost: most texts have more."""
BEGINNING = 0.3
"""The share that the beginning of the file may take."""


def surroundings(file: str, source: str, most_tokens: int) -> str:
    """The text of a file, cut to that size at line ends."""
    room = most_tokens * BYTES_A_TOKEN
    if _size(file) <= room:
        return file
    lines = file.splitlines(keepends=True)
    first = file[: max(file.find(source), 0)].count("\n") if source else 0
    last = first + source.count("\n") + 1 if source else 0
    kept = set(_while_room(range(min(first, len(lines))), lines, int(room * BEGINNING)))
    room -= sum(_size(lines[number]) for number in kept)
    near = sorted(set(range(len(lines))) - kept, key=lambda number: _distance(number, first, last))
    kept.update(_while_room(near, lines, room))
    return _marked(lines, sorted(kept))


def bounded(text: str, most: int) -> str:
    """The head and the tail of a long text."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def _while_room(numbers: Iterable[int], lines: list[str], room: int) -> Iterable[int]:
    for number in numbers:
        room -= _size(lines[number])
        if room < 0:
            return
        yield number


def _distance(number: int, first: int, last: int) -> int:
    return first - number if number < first else max(0, number - last + 1)


def _marked(lines: list[str], kept: list[int]) -> str:
    found: list[str] = []
    before = -1
    for number in [*kept, len(lines)]:
        if number > before + 1:
            found.append(f"# … {number - before - 1} lines left out …\n")
        if number < len(lines):
            found.append(lines[number])
        before = number
    return "".join(found)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
