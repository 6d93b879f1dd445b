"""What was in flight over time under one cap: the mean as an area, the most as a line."""

from __future__ import annotations

from collections.abc import Sequence

from fanwise.view.in_flight import Flight
from fanwise.view.markup import Html, element
from fanwise.view.plots.frame import PATH_WIDTH, across, down, path, stretched
from fanwise.view.scales import Tick

HEIGHT = 56.0
FAILED = 5.0


def lane(
    flight: Flight, class_: str, *, cap: int | None, pauses: Sequence[float], label: str
) -> Html:
    """`pauses`: where long ones were cut out, from 0 to 1. Failures are marks below."""
    top = max(flight.peak, cap or 0, 1)
    paths = [
        path(_area(flight.mean, top), f"area {class_}", closed=True),
        path(_steps(flight.most, top), f"line {class_}"),
    ]
    marks = [_level(share, text) for share, text in _levels(top)]
    if cap is not None:
        marks.append(_across(down(cap / top, HEIGHT), "cap"))
    marks += [_pause(share) for share in pauses]
    width = across(1 / len(flight.failed))
    marks += [
        element("rect", x=across(place / len(flight.failed)), y=HEIGHT + 2, width=width,
                height=FAILED, class_="failure")
        for place, count in enumerate(flight.failed) if count
    ]  # fmt: skip
    drawing = element(
        "svg", marks, stretched(paths, HEIGHT), height=HEIGHT + FAILED + 3, width="100%",
        role="img", aria_label=label,
    )  # fmt: skip
    return element("div", drawing, class_="plot lane")


def time_axis(ticks: Sequence[Tick], title: str) -> Html:
    """Below the lanes."""
    texts = [
        element("text", text, x=across(share), y=12,
                text_anchor="start" if share < 0.02 else "end" if share > 0.98 else "middle")
        for share, text in ticks
    ]  # fmt: skip
    texts.append(element("text", title, x="100%", y=30, text_anchor="end", class_="title"))
    drawing = element("svg", texts, height=34, width="100%", aria_hidden="true")
    return element("div", drawing, class_="plot lane")


def _levels(top: int) -> list[Tick]:
    return [(0.0, "0"), (1.0, str(top))]


def _level(share: float, text: str) -> Html:
    y = down(share, HEIGHT)
    return element("g", _across(y, "grid"), element("text", text, x=-8, y=y + 4, text_anchor="end"))


def _across(y: float, class_: str) -> Html:
    return element("line", x1="0%", x2="100%", y1=y, y2=y, class_=class_)


def _pause(share: float) -> Html:
    place = across(share)
    return element("line", x1=place, x2=place, y1=0, y2=HEIGHT, class_="pause")


def _steps(levels: Sequence[float], top: int) -> list[tuple[float, float]]:
    width = PATH_WIDTH / len(levels)
    points: list[tuple[float, float]] = []
    for place, level in enumerate(levels):
        y = down(level / top, HEIGHT)
        if points and points[-1][1] == y:
            points[-1] = ((place + 1) * width, y)
        else:
            points += [(place * width, y), ((place + 1) * width, y)]
    return points


def _area(levels: Sequence[float], top: int) -> list[tuple[float, float]]:
    return [(0.0, HEIGHT), *_steps(levels, top), (PATH_WIDTH, HEIGHT)]
