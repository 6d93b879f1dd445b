"""The progress line at the bottom of the terminal: how far, how fast, how much longer.

One line instead of a panel, because the outputs of commands scroll by above it. It is erased
before anything is written to the same terminal, and drawn again afterwards, but never behind an
output that has not ended its line. Without a terminal on stderr there is none. If the runnable has
a drawing of its own, that is drawn above the line, at most as high as the terminal. Only what has
changed is written again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from fanwise.cli.streams import draw_stderr, write_stderr
from fanwise.core.counts import many
from fanwise.view.progress import Progress
from fanwise.view.terminal_text import terminal_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from fanwise.specs.system import Drawing, Piece

EVERY_S = 0.2
ERASE_LINE = "\x1b[2K"
ERASE_BELOW = "\x1b[J"
Rendered = tuple[str, int]
"""A line with escape sequences, and its width."""
SPARE = 2
"""Rows that a drawing leaves free: the progress line and the last message."""


def is_shown() -> bool:
    """Whether there is a terminal to draw on."""
    return os.isatty(2) and os.environ.get("TERM") != "dumb"


class ProgressLine:
    """Draws `progress`, below the runnable's own `drawing`, while its context is entered."""

    def __init__(
        self,
        progress: Progress,
        run_id: str,
        *,
        wanted: bool = True,
        drawing: Drawing | None = None,
    ) -> None:
        self._progress = progress
        self._run_id = run_id
        self._drawing = drawing
        self._on = wanted and is_shown()
        self._loop = asyncio.get_running_loop()
        self._console: Console | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._drawn: list[str] = []
        """The lines on the screen, with escape sequences."""
        self._widths: list[int] = []
        self._known: dict[tuple[int, tuple[Piece, ...]], Rendered] = {}
        self._in_a_line = False

    def __enter__(self) -> ProgressLine:
        if self._on:
            from rich.console import Console

            self._console = Console(stderr=True, highlight=False)
            self._tick()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._erase()
        write_stderr("\n" if self._in_a_line else "")
        self._on = self._in_a_line = False

    def say(self, text: str) -> None:
        """Write a message to stderr, above the progress line."""
        self._erase()
        write_stderr("\n" if self._in_a_line else "")
        write_stderr(f"fanwise: {text}\n")
        self._in_a_line = False

    def expect(self, total: int) -> None:
        """The number of items, which was not known at the start."""
        self._progress.total = total

    def make_room(self, fd: int) -> None:
        """Something will be written to this descriptor."""
        if self._drawn and os.isatty(fd):
            self._erase()

    def wrote(self, fd: int, data: bytes) -> None:
        if self._on and os.isatty(fd):
            self._in_a_line = not data.endswith(b"\n")

    def _tick(self) -> None:
        self._draw()
        self._timer = self._loop.call_later(EVERY_S, self._tick)

    def _draw(self) -> None:
        if self._progress.asks:
            self._drawn = []  # the question has erased it
            return
        if self._console is None or self._in_a_line:
            return
        shown = self._shown(self._console)
        lines = [line for line, _ in shown]
        if lines == self._drawn:
            return
        body = "\n".join(ERASE_LINE + line for line in lines)
        draw_stderr(f"{self._back()}{body}{ERASE_BELOW if self._drawn[len(lines) :] else ''}")
        self._drawn, self._widths = lines, [width for _, width in shown]

    def _shown(self, console: Console) -> list[Rendered]:
        now = self._loop.time()
        columns, height = _size(console)
        rows, width = max(0, height - SPARE), max(1, columns - 1)
        above = [] if self._drawing is None else self._drawing.lines(now, rows, width)[:rows]
        before, self._known = self._known, {}
        for pieces in map(tuple, above):  # most lines stay the same from tick to tick
            key = (width, pieces)
            self._known[key] = before.get(key) or _rendered(console, _text_of(pieces), width)
        shown = [self._known[width, tuple(pieces)] for pieces in above]
        last = progress_pieces(self._progress, self._run_id, now, width)
        return [*shown, _rendered(console, _text_of(last), width)]

    def _back(self) -> str:
        """Move to the start of what is drawn. A terminal that became narrower has wrapped it."""
        if not self._drawn or self._console is None:
            return "\r"
        width = max(1, _size(self._console)[0])
        rows = sum(max(1, -(-cells // width)) for cells in self._widths)
        return f"\r\x1b[{rows - 1}A" if rows > 1 else "\r"

    def _erase(self) -> None:
        if self._drawn:
            below = ERASE_BELOW if len(self._drawn) > 1 else ""
            draw_stderr(f"{self._back()}{ERASE_LINE}{below}")
            self._drawn = []


def _size(console: Console) -> tuple[int, int]:
    """Columns and rows of the terminal itself; COLUMNS and LINES may say something else."""
    with suppress(OSError):
        size = os.get_terminal_size(2)
        if size.columns > 0 and size.lines > 0:
            return size
    return console.size


def _text_of(pieces: Sequence[Piece]) -> Text:
    from rich.text import Text

    text = Text()
    for words, style in pieces:
        text.append(terminal_line(" ".join(words.splitlines()).replace("\t", " ")), style or None)
    return text


def _rendered(console: Console, text: Text, width: int) -> Rendered:
    text.truncate(width, overflow="ellipsis")
    with console.capture() as drawing:
        console.print(text, end="", soft_wrap=True)
    return drawing.get(), text.cell_len


Part = tuple[int, list[tuple[str, str]]]
"""The importance of a part of the line, and its pieces: text and style."""


def progress_pieces(progress: Progress, run_id: str, now: float, width: int) -> list[Piece]:
    """The line; on a narrow terminal, without its least important parts."""
    parts = [part for part in _parts(progress, run_id, now) if part[1]]
    while len(parts) > 1 and _width(parts) > width:
        parts.remove(min(parts, key=lambda part: part[0]))
    pieces: list[Piece] = []
    for _, words in parts:
        pieces += [*([("  ", "")] if pieces else []), *words]
    return pieces


def _width(parts: list[Part]) -> int:
    from rich.cells import cell_len

    texts = ["".join(terminal_line(words) for words, _ in pieces) for _, pieces in parts]
    return sum(map(cell_len, texts)) + 2 * (len(texts) - 1)


def _parts(progress: Progress, run_id: str, now: float) -> list[Part]:
    """All parts, from left to right."""
    failed = [(f"{progress.failed:,} failed", "red")] if progress.failed else []
    rate, left = progress.rate(now), progress.seconds_left(now)
    return [
        (3, [(run_id, "bold")]),
        (2, _bar(progress)),
        (8, [(_ended(progress), "green" if progress.done else "")]),
        (7, failed),
        (5, [(_in_flight(progress), "")]),
        (4, [(f"on {many(len(progress.workers), 'worker')}", "")] if progress.workers else []),
        (1, [(f"{rate:,.1f}/s", "")] if rate is not None else []),
        (6, [(f"{_clock(left)} left", "")] if left is not None else []),
    ]


def _ended(progress: Progress) -> str:
    total = "" if progress.total is None else f" of {progress.total:,}"
    unit = f" {progress.unit}s" if progress.unit else ""
    return f"{progress.done:,}{total}{unit} done"


def _in_flight(progress: Progress) -> str:
    """By the user's caps where there are any, since an item may only be waiting for one."""
    used = [
        f"{name} {held}" + (f" of {limit}" if limit is not None else "")
        for name, (held, limit) in progress.in_use.items()
    ]
    if used:
        return "  ".join(used)
    cap = "" if progress.cap is None else f" of {progress.cap}"
    return f"{progress.in_flight}{cap} in flight"


def _bar(progress: Progress, width: int = 20) -> list[Piece]:
    if not progress.total:
        return []
    full = min(width, round(width * progress.ended / progress.total))
    return [("━" * full, "green"), ("━" * (width - full), "dim")]


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
