"""The caps of a run: what they were at its beginning, what they are now, and who changed them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from fanwise.core.stats import BUDGET, CAP, CAPS
from fanwise.journal.port import EventRecord


class CapLimit(NamedTuple):
    """One cap. None: it is only a rate."""

    began: int | None
    now: int | None


class CapAnswer(NamedTuple):
    """What came of a request to change a cap."""

    name: str
    asked: int
    before: int | None
    refused: str | None


def cap_limits(events: Iterable[EventRecord]) -> dict[str, CapLimit]:
    """By name. After a resume those of the file count again."""
    found: dict[str, CapLimit] = {}
    for event in events:
        if event.kind == CAPS:
            began: dict[str, int | None] = msgspec.json.decode(event.data)
            found |= {name: CapLimit(limit, limit) for name, limit in began.items()}
        elif event.kind == CAP:
            data = msgspec.json.decode(event.data)
            if "after" in data and data["name"] in found:
                found[data["name"]] = found[data["name"]]._replace(now=data["after"])
    return found


def budget_limits(events: Iterable[EventRecord]) -> dict[str, float]:
    """The most that the run may spend, by unit; empty: it has no budget, or did not say it."""
    last = None
    for event in events:
        last = event if event.kind == BUDGET else last
    return {} if last is None else last.decode(dict[str, float])


def cap_answers(events: Iterable[EventRecord]) -> list[CapAnswer]:
    """What the run answered to requests, in this order."""
    answers = []
    for event in events:
        data = msgspec.json.decode(event.data) if event.kind == CAP else {}
        if "refused" in data:
            answers.append(CapAnswer(data["name"], data["asked"], None, data["refused"]))
        elif data.get("reason") == "asked":
            answers.append(CapAnswer(data["name"], data["after"], data["before"], None))
    return answers
