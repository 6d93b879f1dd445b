"""One live line at the bottom of the terminal: how far, how fast, how long still.

One line and not a panel, because the outputs of the commands scroll by above it: it is erased
before something is written to the same terminal and drawn again afterwards, but never behind an
output that has not ended its line. Without a terminal on stderr there is none.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from fanwise.cli.streams import write_stderr
from fanwise.view.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

EVERY_S = 0.2
ERASE = "\r\x1b[2K"


class ProgressLine:
    """Draws `progress` while it is entered."""

    def __init__(self, progress: Progress, run_id: str, *, wanted: bool = True) -> None:
        self._progress = progress
        self._run_id = run_id
        self._on = wanted and os.isatty(2) and os.environ.get("TERM") != "dumb"
        self._loop = asyncio.get_running_loop()
        self._console: Console | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._drawn = False
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
        self._on = False

    def say(self, text: str) -> None:
        """Write a line of our own to stderr."""
        self._erase()
        write_stderr("\n" if self._in_a_line else "")
        write_stderr(f"fanwise: {text}\n")
        self._in_a_line = False

    def make_room(self, fd: int) -> None:
        """Something will be written to this descriptor."""
        if self._drawn and os.isatty(fd):
            self._erase()

    def wrote(self, fd: int, data: bytes) -> None:
        """This was written to it."""
        if self._on and os.isatty(fd):
            self._in_a_line = not data.endswith(b"\n")

    def _tick(self) -> None:
        self._draw()
        self._timer = self._loop.call_later(EVERY_S, self._tick)

    def _draw(self) -> None:
        if self._progress.asks:
            self._drawn = False  # the question began by erasing it
            return
        if self._console is None or self._in_a_line:
            return
        with self._console.capture() as drawing:
            width = max(1, self._console.width - 1)
            text = progress_text(self._progress, self._run_id, self._loop.time())
            text.truncate(width, overflow="ellipsis")
            self._console.print(text, end="", soft_wrap=True)
        write_stderr(ERASE + drawing.get())
        self._drawn = True

    def _erase(self) -> None:
        if self._drawn:
            write_stderr(ERASE)
            self._drawn = False


def progress_text(progress: Progress, run_id: str, now: float) -> Text:
    """What the line says."""
    from rich.text import Text

    parts: list[Text] = [Text(run_id, style="bold"), _bar(progress), _ended(progress)]
    if progress.failed:
        parts.append(Text(f"{progress.failed} failed", style="red"))
    parts.append(Text(f"{progress.in_flight} of {progress.cap} in flight"))
    for name, number in sorted(progress.in_flight_by_cap.items()):
        parts.append(Text(f"{name} {number}"))
    rate = progress.rate(now)
    if rate is not None:
        parts.append(Text(f"{rate:.1f}/s"))
    left = progress.seconds_left(now)
    if left is not None:
        parts.append(Text(f"{_clock(left)} left"))
    return Text("  ").join(part for part in parts if part)


def _ended(progress: Progress) -> Text:
    from rich.text import Text

    total = "" if progress.total is None else f" of {progress.total}"
    return Text(f"{progress.done}{total} done", style="green" if progress.done else "")


def _bar(progress: Progress, width: int = 20) -> Text:
    from rich.text import Text

    if not progress.total:
        return Text()
    full = round(width * progress.ended / progress.total)
    return Text("━" * full, style="green") + Text("━" * (width - full), style="dim")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
