"""Parts of a whole as one bar, for a cell of a table."""

from __future__ import annotations

from collections.abc import Sequence

from fanwise.view.markup import Html, element
from fanwise.view.plots.frame import across

HEIGHT = 10.0


def stacked(parts: Sequence[tuple[float, str]], whole: float) -> Html:
    """Sizes with their colours, beside one another; `whole` is as wide as the cell."""
    marks: list[Html] = []
    at = 0.0
    for size, class_ in parts:
        share = max(0.0, size) / whole if whole > 0 else 0.0
        if share > 0:
            marks.append(
                element("rect", x=across(at), y=0, width=across(share), height=HEIGHT,
                        class_=f"part {class_}")
            )  # fmt: skip
        at += share
    return element("svg", marks, height=HEIGHT, width="100%", class_="strip", aria_hidden="true")
