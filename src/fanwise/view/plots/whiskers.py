"""A dot with its interval, for a cell of a table; and the axis below them."""

from __future__ import annotations

from fanwise.view.markup import Html, element
from fanwise.view.plots.frame import across
from fanwise.view.scales import Scale, Tick

HEIGHT = 22.0


def whisker(
    scale: Scale,
    value: float | None,
    low: float | None,
    high: float | None,
    class_: str,
    *,
    zero: float | None = None,
    mark: float | None = None,
) -> Html:
    """`zero`: a value at which a line stands, which the interval may or may not cross.

    `mark`: another one, dashed: what the value should reach.
    """
    middle = HEIGHT / 2
    marks = [_upright(share, "grid") for share, _ in scale.ticks()]
    if zero is not None:
        marks.append(_upright(scale.place(zero), "zero"))
    if mark is not None:
        marks.append(_upright(scale.place(mark), "cap"))
    if low is not None and high is not None:
        ends = {"x1": across(scale.place(low)), "x2": across(scale.place(high))}
        marks.append(element("line", **ends, y1=middle, y2=middle, class_=f"whisker {class_}"))
        marks += [
            element("line", x1=end, x2=end, y1=middle - 4, y2=middle + 4, class_=f"end {class_}")
            for end in ends.values()
        ]
    if value is not None:
        place = across(scale.place(value))
        marks.append(element("circle", cx=place, cy=middle, r=4.5, class_=f"dot {class_}"))
    return element("svg", marks, height=HEIGHT, width="100%", class_="strip", aria_hidden="true")


def axis(scale: Scale) -> Html:
    """The ticks, to stand in the last row of the table."""
    texts = [_text(tick) for tick in scale.ticks()]
    return element("svg", texts, height=16, width="100%", class_="strip", aria_hidden="true")


def _upright(share: float, class_: str) -> Html:
    place = across(share)
    return element("line", x1=place, x2=place, y1=0, y2=HEIGHT, class_=class_)


def _text(tick: Tick) -> Html:
    return element("text", tick[1], x=across(tick[0]), y=12, text_anchor="middle")
