"""Everything about one run, as data and as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from fanwise.core.counts import COUNTED, many
from fanwise.core.stats import BUDGET, CAPS, TOTAL, Stats
from fanwise.errors import BudgetExceeded
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import JOINED, FanOutRecord, ItemRecord, Journal, RunRecord
from fanwise.journal.take_first import take
from fanwise.view.calls import call_detail, call_lines
from fanwise.view.items import Inputs, entries
from fanwise.view.run_summary import (
    PLANNED,
    CountNow,
    duration,
    local_time,
    run_summary,
    status_text,
    took_text,
)
from fanwise.view.terminal_text import terminal_line
from fanwise.view.times import moment

Detail = dict[str, Any]

MOST_TOLD = 200
"""How many characters of a spec are shown: it may hold a whole file."""

BOOKKEEPING = ("reserve", "settle", "step", "version", BUDGET, CAPS, PLANNED, COUNTED, JOINED)
"""Events that only a resume needs; they are not shown."""


def run_detail(
    journal: Journal,
    run: RunRecord,
    count: CountNow = lambda journal, run: None,
    *,
    inputs: Inputs = "",
) -> Detail:
    """The run, its calls, fan-outs, failures, items that may have run twice, and events.

    People know items by their inputs, if the journal has those.
    """
    fan_outs = journal.fan_outs(run.id)
    detail: Detail = {
        **run_summary(journal, run, count),
        "spec": _safe(JSON.decode(run.spec)),
        "cancel_requested": run.cancel_requested,
        "calls": call_detail(journal.call_totals(run.id)),
        "workers": [JSON.decode(each.data)["worker"] for each in journal.events(run.id, JOINED)],
        "fan_outs": [_fan_out(journal, each) for each in fan_outs],
        "failures": [],
        "failures_after_the_halt": [],
        "may_have_run_twice": [],
        "events": [
            _event(e.at, e.kind, e.data)
            for e in journal.events(run.id)
            if e.kind not in BOOKKEEPING
        ],
    }
    which = partial(_which, journal, run.id, detail["unit"] if inputs else "")
    for fan_out in fan_outs:
        halted = False
        for item in _items(journal, run.id, fan_out, inputs):
            if item.status == "failed":
                where = "failures_after_the_halt" if halted else "failures"
                detail[where].append(_failure(which(fan_out, item), item))
                # The first one in item order is where a sequential run would have ended. What
                # failed after it was in flight, and is not part of the result.
                halted = fan_out.halt == "failure"
            if item.starts > 1:
                detail["may_have_run_twice"].append(which(fan_out, item))
    return detail


def detail_lines(detail: Detail, results: Sequence[str] = ()) -> Iterator[str]:
    """The text of `fanwise show`. `results`: what the system says about the run."""
    yield f"run       {detail['id']}  ({terminal_line(detail['kind'])})"
    yield f"status    {terminal_line(status_text(detail['status'], detail['error']))}"
    if detail["name"]:
        yield f"what      {terminal_line(detail['name'])}"
    took = f", took {took_text(detail)}" if detail["ended_at"] is not None else ""
    yield f"started   {local_time(detail['started_at'])}{took}"
    total = "an unknown number" if detail["total"] is None else detail["total"]
    if detail["total"] != 0 or not results:  # otherwise the system's text has it
        unit = f"{detail['unit']}s"
        yield f"{unit:<9} {detail['done']} done, {detail['failed']} failed, of {total}"
    yield from call_lines(detail["calls"])
    yield from _worker_lines(detail)
    yield from _fan_out_lines(detail["fan_outs"])
    yield from _spec_lines(detail["spec"])
    yield from _section("results", results)
    failed = [each for each in detail["failures"] if not _refused_by_budget(each)]
    refused = len(detail["failures"]) - len(failed)
    yield from _section("failed", [_failure_line(f) for f in failed])
    if refused:
        yield from _section("not run", [f"{many(refused, 'item')}: the budget is used up"])
    after = [_failure_line(f) for f in detail["failures_after_the_halt"]]
    yield from _section("also failed, in flight after the failure that halted the run", after)
    yield from _section("may have run twice", [_name(i) for i in detail["may_have_run_twice"]])
    yield from _section("events", [_event_line(event) for event in detail["events"]])
    if detail["status"] in ("interrupted", "paused", "halted", "cancelled", "failed"):
        yield f"to continue: {detail['go_on'] or 'fanwise resume ' + detail['id']}"


def _worker_lines(detail: Detail) -> Iterator[str]:
    """How many workers there were on each node, and how many of them were lost."""
    nodes = Counter(each.rpartition("/")[0] for each in detail["workers"])
    if nodes:
        lost = sum(event["kind"] == "worker_gone" for event in detail["events"])
        where = ", ".join(f"{node} {number}" for node, number in nodes.items())
        told = f", {lost} lost" if lost else ""
        yield f"workers   {nodes.total()} in all ({terminal_line(where)}){told}"


def _fan_out(journal: Journal, fan_out: FanOutRecord) -> Detail:
    stats = None if fan_out.stats is None else msgspec.json.decode(fan_out.stats, type=Stats)
    return {
        "path": fan_out.path,
        "cap": fan_out.cap,
        "halt": fan_out.halt,
        "status": fan_out.status,
        "counts": journal.counts(fan_out.id),
        "stats": None if stats is None else _stats(stats),
    }


def _stats(stats: Stats) -> Detail:
    """Of the latest execution; one that ran nothing was neither fast nor slow."""
    efficiency = stats.efficiency if stats.peak.get(TOTAL) else None
    return {**msgspec.to_builtins(stats), "efficiency": efficiency}


def _fan_out_lines(fan_outs: list[Detail]) -> Iterator[str]:
    """Fan-outs inside items share a line, since there may be thousands of them."""
    alike: dict[str, list[Detail]] = {}
    for fan_out in fan_outs:
        alike.setdefault(_shape(fan_out["path"]), []).append(fan_out)
    for shape, group in alike.items():
        yield _fan_out_line(group[0]) if len(group) == 1 else _group_line(shape, group)


def _shape(path: str) -> str:
    """The path (name/key/name/…) with `*` in place of each item's key."""
    parts = path.split("/")
    return "/".join("*" if number % 2 else part for number, part in enumerate(parts))


def _group_line(shape: str, group: list[Detail]) -> str:
    statuses = Counter(fan_out["status"] for fan_out in group)
    text = ", ".join(f"{number:,} {status}" for status, number in sorted(statuses.items()))
    peak = max((each["stats"]["peak"].get(TOTAL, 0) for each in group if each["stats"]), default=0)
    return f"fan-outs  {terminal_line(shape)}: {text}, cap {group[0]['cap']}, peak {peak}"


def _fan_out_line(fan_out: Detail) -> str:
    line = f"fan-out   {terminal_line(fan_out['path'])}: {fan_out['status']}, cap {fan_out['cap']}"
    stats = fan_out["stats"]
    if stats is None:
        return line
    if stats["efficiency"] is None:
        return f"{line}, nothing to run the last time"
    if stats["peak"][TOTAL] > fan_out["cap"]:
        line += ", changed while it ran"
    line += f", peak {stats['peak'][TOTAL]}, took {duration(stats['makespan_s'])}"
    return f"{line}, efficiency {stats['efficiency']:.0%}"


def _items(
    journal: Journal, run_id: str, fan_out: FanOutRecord, inputs: Inputs
) -> Iterator[ItemRecord]:
    """The items in item order, with the indices that they have now."""
    if inputs != "by key":
        yield from journal.items(fan_out.id)
        return
    for entry in entries(journal, run_id, inputs=inputs):
        if entry.item is not None and entry.line is not None:
            yield msgspec.structs.replace(entry.item, index=entry.line.index)


def _which(
    journal: Journal, run_id: str, unit: str, fan_out: FanOutRecord, item: ItemRecord
) -> Detail:
    """The item; `unit`: what it is called, if the run recorded its input."""
    which: Detail = {"path": fan_out.path, "index": item.index, "key": item.key}
    which["starts"] = item.starts
    if unit:
        which["name"] = f"{unit} {item.index + 1}"
        for line in take(journal.inputs(run_id, item.index), 1):
            which["input"] = line.data.decode("utf-8", "backslashreplace")
    return which


def _failure(which: Detail, item: ItemRecord) -> Detail:
    error = None if item.error is None else decode_error(item.error)
    return {
        **which,
        "error": None if error is None else {"type": error.type_name, "text": error.text},
    }


def _name(which: Detail) -> str:
    if "input" in which:
        return f"{which['name']} ({terminal_line(which['input'])})"
    return terminal_line(f"{which['path']} item {which['index']} (key {which['key']})")


def _failure_line(failure: Detail) -> str:
    error = failure["error"] or {"text": "no error was recorded", "type": ""}
    text = (error["text"] or error["type"]).splitlines() or [""]
    return f"{_name(failure)}: {text[0]}"


def _refused_by_budget(failure: Detail) -> bool:
    """Whether it was not tried. There may be thousands of these, all for the same reason."""
    kind: str = (failure["error"] or {"type": ""})["type"]
    return kind.rpartition(".")[2] == BudgetExceeded.__name__


def _event(at: float, kind: str, data: str) -> Detail:
    return {"at": moment(at), "kind": kind, "data": msgspec.json.decode(data)}


def _event_line(event: Detail) -> str:
    data = event["data"]
    text = "  ".join(f"{k} {v}" for k, v in data.items() if v is not None)
    return f"{local_time(event['at'])}  {terminal_line(event['kind'])}  {_cut(terminal_line(text))}"


def _spec_lines(spec: Any) -> Iterator[str]:
    if isinstance(spec, dict):
        text = "  ".join(f"{k}={v}" for k, v in spec.items() if k != "argv")
        yield f"spec      {_cut(terminal_line(text))}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]} … (--json shows all)"


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield title
        for line in lines:
            yield f"  {line}"


def _safe(value: Any) -> Any:
    """Escape lone surrogates (from an argument that is not UTF-8), which JSON does not allow."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_safe(each) for each in value]
    if isinstance(value, dict):
        return {name: _safe(each) for name, each in value.items()}
    return value
