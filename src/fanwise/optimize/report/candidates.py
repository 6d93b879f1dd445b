"""Every candidate in one table: its lineage, verdict, interval, time and reason."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fanwise.optimize.benchmark.speed import Speed
from fanwise.optimize.report.lineage import Placed
from fanwise.optimize.report.results import STAGES, Results, ratio_text, reason
from fanwise.view.markup import DASH, Child, Html, element
from fanwise.view.pieces import duration_text, scrolled
from fanwise.view.plots.frame import colour
from fanwise.view.plots.stacked import stacked
from fanwise.view.plots.whiskers import axis, whisker
from fanwise.view.scales import Log, Scale, spanning, spanning_log

LOG_FROM = 4.0
"""From such a span on, equal ratios are equally far apart."""
MOST_NAME = 80
COLOURS = {stage: colour(place) for place, stage in enumerate(STAGES)}
STATUS = {"accepted": "good", "rejected": "bad"}


def candidates_table(results: Results) -> Html:
    """The table, with its legend."""
    measured = list(_speeds(results))
    scale = speed_scale(measured, results.accept.speedup) if measured else None
    longest = max(
        (sum(results.seconds(each.candidate).values()) for each in results.rows), default=0
    )
    table = element(
        "table",
        element("caption", _caption(results)),
        element("thead", element("tr", _head(scale))),
        element("tbody", [_row(results, each, scale, longest) for each in results.rows]),
        class_="forest candidates" if scale else "candidates unmeasured",
    )
    return element("div", _legend(results), scrolled(table, "Candidates"))


def _head(scale: Scale | None) -> Iterator[Html]:
    """The axis stands there too: of two hundred rows nobody sees the foot."""
    columns: list[tuple[Child, str | None]] = [("candidate", None), ("verdict", None)]
    if scale is not None:
        columns += [(["times as fast", axis(scale)], "wide"), ("", "number")]
    columns += [("time", "time"), ("", "number"), ("lines", "number"), ("reason", "reading")]
    for name, class_ in columns:
        yield element("th", name, scope="col", class_=class_)


def speed_scale(speeds: list[Speed], wanted: float) -> Scale:
    """Over all intervals, 1 and what was wanted; logarithmic if that is wide."""
    ends = [end for each in speeds for end in (each.ratio, each.low, each.high)]
    values = [end for end in (*ends, 1.0, wanted) if math.isfinite(end) and end > 0]
    if max(values) / min(values) >= LOG_FROM:
        return _room(spanning_log(values))
    room = 0.05 * (max(values) - min(values)) or 0.05
    return spanning((min(values) - room, max(values) + room))


def _room(scale: Log) -> Log:
    """At least from one tick to another."""
    return Log(min(scale.low, 0.5), max(scale.high, 2.0))


def _speeds(results: Results) -> Iterator[Speed]:
    for each in results.found.verdicts:
        if each.speed is not None:
            yield each.speed


def _caption(results: Results) -> str:
    wanted, count = results.accept, len(results.rows)
    return (
        f"{count:,} candidate{'' if count == 1 else 's'}; accepted if at least "
        f"{wanted.speedup:.3g} times as fast, with {wanted.confidence:.0%} confidence"
    )


def _legend(results: Results) -> Html:
    used = dict.fromkeys(stage for row in results.rows for stage in results.seconds(row.candidate))
    ordered = sorted(used, key=lambda each: STAGES.index(each) if each in STAGES else len(STAGES))
    items = [
        element("li", element("i", class_=f"box {_colour(stage)}", aria_hidden="true"), stage)
        for stage in ordered
    ]
    return element("ul", items, class_="legend", aria_label="Stages")


def _colour(stage: str) -> str:
    return COLOURS.get(stage, colour(None))


def _row(results: Results, placed: Placed, scale: Scale | None, longest: float) -> Html:
    candidate = placed.candidate
    verdict = results.verdicts.get(candidate.key)
    best = results.is_winner(candidate)
    taken = results.seconds(candidate)
    bar = stacked([(s, _colour(stage)) for stage, s in taken.items()], longest)
    told = ", ".join(f"{stage} {duration_text(s)}" for stage, s in taken.items())
    drawn: list[Html] = []
    if scale is not None:
        speed = None if verdict is None else verdict.speed
        drawn = [
            element("td", _drawn(results, scale, speed, best=best), class_="wide"),
            element("td", ratio_text(verdict) or DASH, class_="number"),
        ]
    total = duration_text(sum(taken.values())) if taken else DASH
    lines = DASH if verdict is None or not verdict.patch else f"{verdict.diff_lines:,}"
    return element(
        "tr",
        element("th", _name(placed, best=best), scope="row"),
        element("td", chip(results.status(candidate))),
        drawn,
        element("td", bar, class_="time", title=told),
        element("td", total, class_="number", title=told),
        element("td", lines, class_="number"),
        element("td", _reason(results, placed), class_="reading"),
        class_="best" if best else None,
    )


def _drawn(results: Results, scale: Scale, speed: Speed | None, *, best: bool) -> Html:
    wanted = results.accept.speedup
    if speed is None:
        return whisker(scale, None, None, None, "c-none", zero=1.0, mark=wanted)
    class_ = "c2" if best else "c0" if speed.decision == "accept" else "c-none"
    return whisker(scale, speed.ratio, speed.low, speed.high, class_, zero=1.0, mark=wanted)


def _name(placed: Placed, *, best: bool) -> Html:
    candidate = placed.candidate
    twig = (
        element("span", "\u2003" * (placed.depth - 1) + "└", class_="twig")
        if placed.depth
        else None
    )
    told: list[Child] = [_cut(candidate.name, MOST_NAME)]
    if best:
        told += [" ★"]
    if placed.depth:
        told += [" ", element("small", f"{candidate.how}, round {candidate.round}")]
    return element("span", twig, element("span", told), class_="name", title=candidate.name)


def chip(status: str) -> Html:
    """What became of it, as a mark."""
    return element("span", status, class_=f"chip {STATUS.get(status, '')}".strip())


def _reason(results: Results, placed: Placed) -> Child:
    verdict = results.verdicts.get(placed.candidate.key)
    if verdict is None:
        return results.found.failures.get(f"check:{placed.candidate.key}", reason(None))
    if verdict.status == "same":
        return f"the same as {results.name(verdict.same_as)}"
    return _cut(reason(verdict))


def _cut(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
