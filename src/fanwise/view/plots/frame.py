"""What a plot stands in: its axes, grid and titles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fanwise.view.markup import Child, Html, element, number
from fanwise.view.scales import Tick

COLOURS = 8
PATH_WIDTH = 1000.0
"""Of the inner drawing that paths are in: it is stretched to the plot's width."""


def colour(place: int | None) -> str:
    """The class of a series; None: of what belongs to none."""
    return "c-none" if place is None else f"c{place % COLOURS}"


def across(share: float) -> str:
    """A horizontal place as an attribute."""
    return f"{number(share * 100)}%"


def frame(
    marks: Child,
    *,
    height: float,
    x: Sequence[Tick],
    y: Sequence[Tick],
    x_title: str,
    label: str,
) -> Html:
    """Marks with a grid behind them; `label` says in words what the plot shows."""
    grid = [
        element("line", x1="0%", x2="100%", y1=down(share, height), y2=down(share, height),
                class_="grid")
        for share, _ in y
    ]  # fmt: skip
    texts = [
        element("text", text, x=-8, y=down(share, height) + 4, text_anchor="end")
        for share, text in y
    ]
    texts += [
        element("text", text, x=across(share), y=height + 18, text_anchor=_anchor(share))
        for share, text in x
    ]
    ticks = [
        element("line", x1=across(share), x2=across(share), y1=height, y2=height + 4, class_="axis")
        for share, _ in x
    ]
    axis = element("line", x1="0%", x2="100%", y1=height, y2=height, class_="axis")
    title = element("text", x_title, x="100%", y=height + 36, text_anchor="end", class_="title")
    drawing = element(
        "svg", grid, ticks, axis, texts, title, marks, height=height + 42, width="100%",
        role="img", aria_label=label,
    )  # fmt: skip
    return element("div", drawing, class_="plot")


def down(share: float, height: float) -> float:
    """A vertical place: 0 is at the bottom."""
    return round((1 - share) * height, 2)


def stretched(paths: Child, height: float) -> Html:
    """Paths, drawn `PATH_WIDTH` wide, stretched to the width of the plot."""
    return element(
        "svg", paths, x="0", y="0", width="100%", height=height,
        viewBox=f"0 0 {number(PATH_WIDTH)} {number(height)}", preserveAspectRatio="none",
    )  # fmt: skip


def path(points: Iterable[tuple[float, float]], class_: str, *, closed: bool = False) -> Html:
    """A line through points."""
    text = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return element(
        "path",
        d=f"M{text}{'Z' if closed else ''}",
        class_=class_,
        vector_effect="non-scaling-stroke",
    )


def legend(names: Iterable[tuple[str, str]]) -> Html:
    """Names with the colours that they have in the plot."""
    return element(
        "ul",
        [
            element("li", element("i", class_=class_, aria_hidden="true"), name)
            for name, class_ in names
        ],
        class_="legend",
    )


def _anchor(share: float) -> str:
    return "start" if share < 0.02 else "end" if share > 0.98 else "middle"
