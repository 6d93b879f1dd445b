"""A simulation in words and as data."""

from __future__ import annotations

from typing import Any

from fanwise.core.counts import many
from fanwise.matrix.simulation.simulate import Simulated, WhatIf
from fanwise.matrix.views.tables import aligned
from fanwise.specs.system import End


def end_of(found: Simulated) -> End:
    """What `fanwise simulate` prints. Exit code 0 also where cells would fail: nothing has."""
    return End(document_of(found), lines_of(found), notes_of(found), 0)


def document_of(found: Simulated) -> dict[str, Any]:
    middle, (least_s, least_by) = found.middle, found.lower_bound
    times = [each.seconds for each in found.draws]
    binds = found.binds
    return {
        "cells": len(found.compiled.cells),
        "calls": sum(each.attempts for each in middle.totals.values()),
        "predicted_s": middle.seconds,
        "interval_s": [min(times), max(times)],
        "draws": len(times),
        "one_after_another_s": middle.work_s,
        "lower_bound_s": least_s,
        "lower_bound_by": least_by,
        "usd": None if _unpriced(found) else _dollars(found),
        "usd_known": _dollars(found),
        "unpriced": _unpriced(found),
        "input_tokens": sum(each.input_tokens for each in middle.totals.values()),
        "output_tokens": sum(each.output_tokens for each in middle.totals.values()),
        "failed": middle.failed,
        "first_failure": middle.first_failure,
        "binds": None if binds is None else str(binds.constraint),
        "limits": [
            {"limit": str(each.constraint), "used": each.used, "lower_bound_s": each.least_s}
            for each in found.bounds
        ],
        "what_if_of_one_cell_in": found.part,
        "what_if": [
            {"change": each.change, "seconds": each.seconds, "failed": each.failed}
            for each in found.what_ifs
        ],
        "assumed": {name: str(each) for name, each in found.world.profiles.items()},
    }


def lines_of(found: Simulated) -> list[str]:
    middle, (least_s, least_by) = found.middle, found.lower_bound
    times = [each.seconds for each in found.draws]
    more = f", {duration(min(times))} to {duration(max(times))} in {len(times)} draws"
    faster = middle.work_s / middle.seconds if middle.seconds else 1.0
    lines = [
        f"time               {duration(middle.seconds)}{more if len(times) > 1 else ''}",
        f"one after another  {duration(middle.work_s)}, {faster:.3g} times as long",
        f"lower bound        {duration(least_s)}, by {least_by}",
        f"cost               {_cost(found)}",
        f"binds              {_binding(found)}",
    ]
    if found.bounds:
        rows = [[str(b.constraint), f"{b.used:.0%}", duration(b.least_s)] for b in found.bounds]
        lines += ["", *aligned([["limit", "used", "at least"], *rows])]
    if found.what_ifs:
        lines += ["", *_what_if_table(found)]
    return [*lines, "", *(f"{name}: {each}" for name, each in sorted(found.world.profiles.items()))]


def _what_if_table(found: Simulated) -> list[str]:
    now = found.middle
    failing = any(each.failed for each in found.what_ifs) or now.failed > 0
    head = ["what if", "time", "", *(["failed"] if failing else [])]
    rows = [
        [
            each.change,
            duration(each.seconds),
            _ratio(each.seconds, now.seconds),
            *([str(each.failed)] if failing else []),
        ]
        for each in found.what_ifs
    ]
    return aligned([head, *rows])


def notes_of(found: Simulated) -> list[str]:
    middle = found.middle
    notes = []
    if middle.failed:
        cells = many(len(found.compiled.cells), "cell")
        notes.append(
            f"{middle.failed} of {cells} would fail or lack a score; "
            f"the first: {middle.first_failure}"
        )
    if found.left_out:
        names = ", ".join(str(each) for each in found.left_out)
        notes.append(f"no what if of {names}: far from binding")
    if found.part > 1:
        notes.append(f"the what ifs are of one cell in {found.part}, scaled to all of them")
    return notes


def _binding(found: Simulated) -> str:
    together = [each for each in found.what_ifs if each.constraint is None]
    if found.binds is not None:
        return f"{found.binds.constraint}; {_instead(found, found.binds)}"
    if together and together[0].helps(found.middle):
        return f"no limit alone; {_instead(found, together[0])}"
    return "no limit: a cell, or what it waits for, takes that long"


def _instead(found: Simulated, what_if: WhatIf) -> str:
    now = found.middle
    if what_if.failed < now.failed:
        return f"{what_if.change}: {what_if.failed} fail instead of {now.failed}"
    return f"{what_if.change}: {_ratio(what_if.seconds, now.seconds)}"


def _cost(found: Simulated) -> str:
    known, unpriced = _dollars(found), _unpriced(found)
    if not unpriced:
        return f"${known:.4g}"
    return f"${known:.4g} and what is unknown: the price of {', '.join(unpriced)}"


def _dollars(found: Simulated) -> float:
    return sum(each.usd for each in found.middle.totals.values())


def _unpriced(found: Simulated) -> list[str]:
    return sorted(name for name, each in found.middle.totals.items() if each.unpriced)


def _ratio(seconds: float, now: float) -> str:
    return f"{seconds / now:.2f} x" if now else ""


def duration(seconds: float) -> str:
    """`1 h 02 min`, `3 min 05 s`, `4.21 s`: three figures that matter."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
