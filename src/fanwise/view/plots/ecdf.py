"""How many took at most how long: one rising line for each series.

Of a histogram or a box somebody has to choose bins or quantiles, and two of them cannot be laid
over one another; of these lines every percentile can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanwise.view.markup import Html
from fanwise.view.plots.frame import PATH_WIDTH, down, frame, path, stretched
from fanwise.view.scales import Scale, spanning_log

HEIGHT = 220.0
MOST_POINTS = 160
"""Of a line: more than a screen shows."""
SHARES = [(0.0, "0 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")]


def ecdf(series: Mapping[str, Sequence[float]], *, x_title: str, label: str) -> Html:
    """Values above 0, on a logarithmic axis; the keys are the classes of the lines."""
    scale = spanning_log(value for values in series.values() for value in values)
    lines = [
        path(_steps(sorted(values), scale), f"line {class_}")
        for class_, values in series.items()
        if values
    ]
    return frame(
        stretched(lines, HEIGHT), height=HEIGHT, x=scale.ticks(), y=SHARES, x_title=x_title,
        label=label,
    )  # fmt: skip


def _steps(ordered: Sequence[float], scale: Scale) -> list[tuple[float, float]]:
    count = len(ordered)
    taken = sorted({round(n * (count - 1) / MOST_POINTS) for n in range(MOST_POINTS + 1)})
    points, height = [(0.0, HEIGHT)], HEIGHT
    for place in taken:
        x = scale.place(ordered[place]) * PATH_WIDTH
        points.append((x, height))
        height = down((place + 1) / count, HEIGHT)
        points.append((x, height))
    return [*points, (PATH_WIDTH, height)]
