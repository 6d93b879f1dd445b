"""Where the marks of a plot go. Pure: `templates/plots.html` draws what these functions return.

Plots have no fixed width: a horizontal place is a share of the page's width, a vertical one is in
pixels. Text keeps its size on a phone and on a wide screen, and nothing has to be drawn again.
Colours are classes (`c0` to `c7`), which the style sheet defines for light and for dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fanwise.view.in_flight import BusyClock, Flight
from fanwise.view.run_summary import duration
from fanwise.view.scales import Linear, Scale, Tick, spanning_log

COLOURS = 8
PATH_WIDTH = 1000.0
"""Width of the drawing that paths are in; it is stretched to the plot's width."""

Spot = tuple[float, float]
"""Across from 0 to 1, down in pixels."""


class Line(NamedTuple):
    """A line through points, as the `d` of a path."""

    path: str
    class_: str


class Plot(NamedTuple):
    """Lines over two axes."""

    height: float
    x: Sequence[Tick]
    y: Sequence[Tick]
    lines: Sequence[Line]


def colour(place: int | None) -> str:
    """The class of a series; None: it belongs to no series."""
    return "c-none" if place is None else f"c{place % COLOURS}"


def number(value: float) -> str:
    """As short as a drawing needs it."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def down(share: float, height: float) -> float:
    """A vertical place in pixels; 0 is at the bottom."""
    return round((1 - share) * height, 2)


def path(points: Iterable[Spot], *, closed: bool = False) -> str:
    """A line through points."""
    text = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return f"M{text}{'Z' if closed else ''}"


# -- how many took at most how long ---------------------------------------------------------------

ECDF_HEIGHT = 220.0
MOST_POINTS = 160
"""In one line: more than a screen shows."""
SHARES = [(0.0, "0 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")]


def ecdf(series: Mapping[str, Sequence[float]]) -> Plot:
    """One rising line for each series of values above 0, by class, on a logarithmic axis.

    A histogram needs bins, and two of them cannot be laid over one another; on these lines every
    percentile can be read.
    """
    scale = spanning_log(value for values in series.values() for value in values)
    lines = [Line(path(_rise(sorted(v), scale)), f"line {c}") for c, v in series.items() if v]
    return Plot(ECDF_HEIGHT, scale.ticks(), SHARES, lines)


def _rise(ordered: Sequence[float], scale: Scale) -> list[Spot]:
    count = len(ordered)
    taken = sorted({round(n * (count - 1) / MOST_POINTS) for n in range(MOST_POINTS + 1)})
    points, height = [(0.0, ECDF_HEIGHT)], ECDF_HEIGHT
    for place in taken:
        x = scale.place(ordered[place]) * PATH_WIDTH
        points.append((x, height))
        height = down((place + 1) / count, ECDF_HEIGHT)
        points.append((x, height))
    return [*points, (PATH_WIDTH, height)]


# -- what was in flight over time -----------------------------------------------------------------

LANE_HEIGHT = 56.0
TIME_UNITS = ((7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


class Lane(NamedTuple):
    """The mean in flight as an area, the most as a line."""

    name: str
    about: str
    class_: str
    top: int
    area: str
    line: str
    cap: str
    """A line where the cap is, or was at each time; empty: it has none."""
    pauses: Sequence[float]
    """Where long pauses were cut out, from 0 to 1."""
    failures: Sequence[float]
    """Where failures were, from 0 to 1; each is `part` wide."""
    part: float


def lane(
    name: str,
    about: str,
    class_: str,
    flight: Flight,
    cap: int | Sequence[float] | None,
    pauses: Sequence[float] = (),
) -> Lane:
    """What was in flight under one cap. `cap`: its limit, or that of each part of the time."""
    parts = len(flight.failed)
    limits = [] if cap is None else [cap] * parts if isinstance(cap, int) else cap
    top = int(max(flight.peak, *limits, 1))
    area = [(0.0, LANE_HEIGHT), *_steps(flight.mean, top), (PATH_WIDTH, LANE_HEIGHT)]
    return Lane(
        name, about, class_, top, path(area, closed=True), path(_steps(flight.most, top)),
        path(_steps(limits, top)) if limits else "", pauses,
        [place / parts for place, count in enumerate(flight.failed) if count], 1 / parts,
    )  # fmt: skip


def _steps(levels: Sequence[float], top: int) -> list[Spot]:
    width = PATH_WIDTH / len(levels)
    points: list[Spot] = []
    for place, level in enumerate(levels):
        y = down(level / top, LANE_HEIGHT)
        if points and points[-1][1] == y:
            points[-1] = ((place + 1) * width, y)
        else:
            points += [(place * width, y), ((place + 1) * width, y)]
    return points


def time_axis(total: float) -> tuple[list[Tick], str]:
    """The ticks of a time axis, and their unit."""
    _, size, unit = next(each for each in TIME_UNITS if total >= each[0])
    return Linear(0.0, total / size).ticks(6), unit


def pauses_text(clock: BusyClock) -> str:
    """Which pauses were cut out; empty: none."""
    if not clock.pauses:
        return ""
    longest = ", ".join(duration(length) for _, length in clock.pauses[:5])
    many = f"{len(clock.pauses)} idle periods are" if len(clock.pauses) > 1 else "An idle period is"
    return f"{many} left out ({longest})."
