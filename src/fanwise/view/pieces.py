"""Pieces that the reports of all systems are made of."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from fanwise.journal.port import RunRecord
from fanwise.view.markup import Child, Html, element
from fanwise.view.run_summary import duration, shown_status
from fanwise.view.times import moment

GOOD = ("done",)


def scrolled(table: Html, label: str) -> Html:
    """Wide tables scroll by themselves, also by keyboard."""
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)


def title(run: RunRecord, tiles: Iterable[Html]) -> Html:
    """The top of a page: what ran, when, and the numbers that people ask for first."""
    status = shown_status(run)
    mark = element("span", status, class_="status good" if status in GOOD else "status")
    took = None if run.ended_at is None else run.ended_at - run.created_at
    told = ["Run ", element("code", run.id), ", started ", time(run.created_at)]
    told += [f", took {duration(took)}"] if took is not None else []
    return element(
        "div",
        element("h1", run.name, " ", mark),
        element("p", told, class_="about"),
        element("dl", tiles, class_="tiles"),
    )


def tile(name: str, value: str, about: str = "", *, bad: bool = False) -> Html:
    """One number."""
    inside = [element("dt", name), element("dd", value), element("dd", about, class_="small")]
    return element("div", inside, class_="bad" if bad else None)


def facts(caption: str, rows: Iterable[tuple[str, Child]]) -> Html:
    """Names with what they are."""
    body = [element("tr", element("th", n, scope="row"), element("td", v)) for n, v in rows]
    return element("table", element("caption", caption), element("tbody", body), class_="facts")


def block(name: str, text: str, *, kind: str = "") -> Html:
    """A long text under its name; `kind`: `answer` or `error`."""
    inside = [element("h4", name), element("pre", text, tabindex="0")]
    return element("div", inside, class_=f"block {kind}".strip())


def folded(summary: Child, *inside: Child, open_: bool = False, class_: str | None = None) -> Html:
    """What is there for those who look for it."""
    return element("details", element("summary", summary), inside, open=open_, class_=class_)


def time(at: float) -> Html:
    """A moment."""
    iso = moment(at) or ""
    shown = datetime.fromisoformat(iso).strftime("%Y-%m-%d %H:%M:%S UTC")
    return element("time", shown, datetime=iso)


def duration_text(seconds: float) -> str:
    """Short ones in milliseconds, and shorter ones in micro- and nanoseconds."""
    if seconds >= 10:
        return duration(seconds)
    if seconds >= 0.1 or seconds <= 0:
        return f"{seconds:.2f} s"
    for unit, least in (("ms", 1e-3), ("µs", 1e-6), ("ns", 0.0)):
        if seconds >= least:
            return f"{seconds / (least or 1e-9):.3g} {unit}"
    raise AssertionError(seconds)
