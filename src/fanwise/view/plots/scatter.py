"""What is got against what it costs: a dot for each group, and the line of those none beats."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fanwise.view.markup import Child, Html, element
from fanwise.view.plots.frame import PATH_WIDTH, across, down, frame, path, stretched
from fanwise.view.scales import Scale, spanning, spanning_log

HEIGHT = 260.0
WIDTH = 460.0
LETTER = 6.2

Spot = tuple[float, float]
"""Across from 0 to 1, down in pixels."""
Side = tuple[float, float]
"""How far from its dot a name begins (or, to the left, ends)."""
Box = tuple[float, float, float, float]
SIDES: tuple[Side, ...] = ((7, -5), (-7, -5), (7, 13), (-7, 13), (7, -17), (-7, -17), (7, 25))


class Point(msgspec.Struct, frozen=True):
    """One group."""

    name: str
    class_: str
    cost: float
    value: float
    low: float | None = None
    high: float | None = None


def scatter(points: Sequence[Point], *, x_title: str, label: str) -> Html:
    """Cost to the right (logarithmic), value upwards, with its interval."""
    x = spanning_log(point.cost for point in points)
    ends = [end for p in points for end in (p.value, p.low, p.high) if end is not None]
    y = spanning(ends, at_least=(0.0, 1.0))
    best = [(x.place(p.cost) * PATH_WIDTH, down(y.place(p.value), HEIGHT)) for p in front(points)]
    line = stretched(path(best, "front"), HEIGHT) if len(best) > 1 else None
    spots = [(x.place(p.cost), down(y.place(p.value), HEIGHT)) for p in points]
    sides = label_sides(spots, [len(point.name) for point in points])
    marks: list[Child] = [line]
    marks += [_mark(point, spot, y) for point, spot in zip(points, spots, strict=True)]
    marks += [
        _name(point.name, spot, side)
        for point, spot, side in zip(points, spots, sides, strict=True)
    ]
    return frame(marks, height=HEIGHT, x=x.ticks(), y=y.ticks(), x_title=x_title, label=label)


def front(points: Sequence[Point]) -> list[Point]:
    """Those that none beats in both, from the cheapest on."""
    found: list[Point] = []
    for point in sorted(points, key=lambda each: (each.cost, -each.value)):
        if not found or point.value > found[-1].value:
            found.append(point)
    return found


def label_sides(spots: Sequence[Spot], lengths: Sequence[int]) -> list[Side]:
    """Where each name goes so that it covers no other and no dot, as far as that can be.

    The width of the plot is not known; this takes it to be `WIDTH`, and letters to be `LETTER`.
    """
    taken = [(x * WIDTH - 5, y - 5, x * WIDTH + 5, y + 5) for x, y in spots]
    sides: list[Side] = []
    for spot, length in zip(spots, lengths, strict=True):
        boxes = [(side, _box(spot, side, length)) for side in SIDES]
        side, box = min(boxes, key=lambda each: sum(_overlap(each[1], other) for other in taken))
        taken.append(box)
        sides.append(side)
    return sides


def _box(spot: Spot, side: Side, length: int) -> Box:
    x, y, wide = spot[0] * WIDTH + side[0], spot[1] + side[1], length * LETTER
    left = x if side[0] > 0 else x - wide
    return left, y - 9, left + wide, y + 2


def _overlap(one: Box, two: Box) -> float:
    wide = min(one[2], two[2]) - max(one[0], two[0])
    high = min(one[3], two[3]) - max(one[1], two[1])
    out = max(0.0, one[2] - WIDTH) + max(0.0, -one[0])
    return max(0.0, wide) * max(0.0, high) + out


def _mark(point: Point, spot: Spot, y: Scale) -> Html:
    place, height = across(spot[0]), spot[1]
    marks: list[Html] = []
    if point.low is not None and point.high is not None:
        ends = (down(y.place(end), HEIGHT) for end in (point.low, point.high))
        marks.append(element("line", x1=place, x2=place, y1=next(ends), y2=next(ends),
                             class_=f"whisker {point.class_}"))  # fmt: skip
    marks.append(element("circle", cx=place, cy=height, r=5, class_=f"dot {point.class_}"))
    return element("g", element("title", f"{point.name}: {point.value:.3f}"), marks)


def _name(name: str, spot: Spot, side: Side) -> Html:
    anchor = "start" if side[0] > 0 else "end"
    return element("text", name, x=across(spot[0]), y=spot[1] + side[1], dx=side[0],
                   text_anchor=anchor, class_="name")  # fmt: skip
