"""Numbers, times and long texts as people read them, on pages and on terminals."""

from __future__ import annotations

from datetime import datetime

from fanwise.view.calls import dollars
from fanwise.view.run_summary import duration
from fanwise.view.times import moment

DASH = "–"  # noqa: RUF001
"""Shown where there is no value, and between the ends of a range."""
MOST = 20_000
"""Characters of one text in a list: a page with two hundred patches must still open."""


def duration_text(seconds: float) -> str:
    """Like `duration`, with milli-, micro- and nanoseconds for short ones."""
    if seconds >= 10:
        return duration(seconds)
    if seconds >= 0.1 or seconds <= 0:
        return f"{seconds:.2f} s"
    unit, size = next(each for each in UNITS if seconds >= each[1] or not each[1])
    return f"{seconds / (size or 1e-9):.3g} {unit}"


UNITS = (("ms", 1e-3), ("µs", 1e-6), ("ns", 0.0))


def money(usd: float) -> str:
    """Dollars, with enough digits for a cheap call."""
    return f"${usd:,.2f}" if usd >= 1 or usd == 0 else f"${dollars(float(f'{usd:.2g}'))}"


def utc_text(at: float) -> str:
    """A moment, in UTC."""
    return datetime.fromisoformat(moment(at) or "").strftime("%Y-%m-%d %H:%M:%S UTC")


def bounded(text: str, most: int = MOST) -> str:
    """The start of a text, with a note on how much is missing."""
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters"


def cut(text: str, most: int) -> str:
    """The start of a text, in at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
