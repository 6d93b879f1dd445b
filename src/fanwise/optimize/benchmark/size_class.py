"""Calls by the size of their arguments: a gain for large ones can hide a loss for small ones. PURE.

Which calls belong together is found once, beside the original, and holds for both sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

SLOWER = 0.95
"""An interval that ends below this is a loss that counts; less is nothing that anybody notices."""
NOTICED_S = 1e-6
"""A loss of less in all calls of a size counts only if it is overwhelming; the verdict tells it.
Nobody turns away what is 26 times as fast because an empty list takes 50 ns instead of 40."""
MADE = "making and using it"
"""The class of a function that returns a function: its main figure is that of using it alone."""


class CallClass(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of about the same size, as they are timed together."""

    calls: tuple[int, ...]
    """By their places among the recorded ones."""
    least: int
    most: int
    loops: int

    @property
    def name(self) -> str:
        """`size 1 to 3`: elements, characters, or the whole number that is given."""
        least, most = _short(self.least), _short(self.most)
        return f"size {least}" if least == most else f"size {least} to {most}"


class SizeClass(msgspec.Struct, frozen=True, kw_only=True):
    """How many times as fast one class of calls is, with its interval. JSON-able."""

    name: str
    ratio: float
    low: float
    high: float

    def text(self) -> str:
        return f"{self.ratio:.3g} times at {self.name}"


def class_names(classes: Sequence[CallClass], *, makes: bool) -> tuple[str, ...]:
    """What is told apart, in the order of its figures; nothing if all calls are of one size."""
    if len(classes) < 2 and not makes:
        return ()
    return (*(each.name for each in classes), *((MADE,) if makes else ()))


def _short(number: int) -> str:
    return str(number) if number < 10**6 else f"{min(number, 10**300):.1e}"
