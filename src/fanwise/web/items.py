"""The items of a run, a page at a time, and one item with all that is recorded of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanwise.errors import RecordedError
from fanwise.journal.codec import JSON, decode_error
from fanwise.journal.port import AttemptRecord, FanOutRecord, ItemRecord, ItemStatus, RunRecord
from fanwise.journal.read_only import RefusesWrites
from fanwise.journal.reads import ItemFilter
from fanwise.specs.system import CompletingSystem, ListingSystem
from fanwise.view.item_table import ItemsWanted, ListedItems
from fanwise.view.system_text import inputs_of, system_of_kind
from fanwise.web.value_parts import ValuePart, copies_of, value_parts

PAGE = 100
MOST_FAN_OUTS = 500
"""How many fan-outs can be chosen from: nested ones may be thousands."""


class ItemQuery(msgspec.Struct, frozen=True):
    """What the address asks for."""

    path: str = ""
    """The fan-out; empty: the first."""
    wanted: ItemFilter = ItemFilter()
    after: tuple[int, str] = (-1, "")
    chosen: Mapping[str, str] = {}
    """Of a system's own columns: the values that are wanted."""
    score: str = ""
    at_most: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> ItemQuery:
        """From the query of an address, in which anything may stand."""
        index = query.get("after", "")
        number = int(index) if index.isascii() and index.isdigit() and len(index) < 18 else -1
        wanted = ItemFilter(
            query.get("status", ""), query.get("q", "").strip(), _seconds(query.get("ran", ""))
        )
        chosen = {n.removeprefix("of_"): v for n, v in query.items() if n.startswith("of_") and v}
        score = query.get("score", "") if _number(query.get("most", "")) is not None else ""
        place = number, query.get("key", "")
        return cls(query.get("in", ""), wanted, place, chosen, score, query.get("most", ""))

    @property
    def listed(self) -> ItemsWanted:
        """For a system that lists its items itself."""
        wanted, at_most = self.wanted, _number(self.at_most) or 0.0
        plain = wanted.status, wanted.text, wanted.ran_s
        return ItemsWanted(*plain, self.chosen, self.score, at_most)

    @property
    def same(self) -> dict[str, object]:
        """The query of the next page, without its place."""
        chosen = {f"of_{name}": value for name, value in self.chosen.items()}
        wanted = {"q": self.wanted.text, "status": self.wanted.status, "in": self.path}
        ran = {"ran": self.wanted.ran_s or "", "score": self.score, "most": self.at_most}
        return {**wanted, **ran, **chosen}


def _seconds(text: str) -> float:
    return max(0.0, _number(text) or 0.0)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


class ItemPage(msgspec.Struct, frozen=True):
    """A part of a fan-out's items."""

    run: RunRecord
    fan_outs: Sequence[FanOutRecord]
    fan_out: FanOutRecord | None
    items: Sequence[ItemRecord]
    inputs: Mapping[int, str]
    """What the run recorded as their inputs, by index."""
    texts: Mapping[str, str]
    """What came of them in a line, by key."""
    counts: Mapping[ItemStatus, int]
    more: bool
    listed: ListedItems | None = None
    """Instead of the items, if the system lists them itself."""
    lists: bool = False
    """Whether it would."""


def item_page(journal: RefusesWrites, run_id: str, query: ItemQuery) -> ItemPage:
    """The items that are wanted. `RunNotFound`."""
    run = journal.run(run_id)
    fan_outs = journal.fan_outs(run_id)
    system = system_of_kind(run.kind)
    if isinstance(system, ListingSystem) and not query.path:
        listed = system.list_items(journal, run, query.listed, max(0, query.after[0]), PAGE)
        return ItemPage(run, fan_outs[:MOST_FAN_OUTS], None, (), {}, {}, {}, False, listed)
    chosen = next((each for each in fan_outs if query.path in ("", each.path)), None)
    if chosen is None:
        return ItemPage(run, fan_outs[:MOST_FAN_OUTS], None, (), {}, {}, {}, False)
    found = journal.items_page(chosen.id, query.wanted, query.after, PAGE + 1)
    items = found[:PAGE]
    return ItemPage(
        run,
        fan_outs[:MOST_FAN_OUTS],
        chosen,
        items,
        _inputs(journal, run, items),
        {item.key: _first_line(item.error) if item.error else _short(item.value) for item in items},
        journal.counts(chosen.id),
        len(found) > PAGE,
        lists=isinstance(system, ListingSystem),
    )


def _first_line(error: str) -> str:
    read = decode_error(error)
    return next(iter((read.text or read.type_name).splitlines()), "")


def _short(value: str | None) -> str:
    """The output of a command, else the value as recorded, of which only the start was read."""
    try:
        parts = value_parts(JSON.decode(value or "null"))
    except ValueError:  # it was cut
        parts = []
    output = [part.text for part in parts if part.title.startswith(("stdout", "stderr"))]
    return " ".join(output).strip() or value or ""


def _inputs(journal: RefusesWrites, run: RunRecord, items: Sequence[ItemRecord]) -> dict[int, str]:
    if inputs_of(run) != "by index":
        return {}
    found = {}
    for item in items:
        for record in journal.inputs(run.id, item.index):
            if record.index == item.index:
                found[item.index] = record.data[:400].decode("utf-8", "backslashreplace")
            break
    return found


class ItemDetail(msgspec.Struct, frozen=True):
    """One item."""

    run: RunRecord
    fan_out: FanOutRecord
    item: ItemRecord
    input: str | None
    parts: Sequence[ValuePart]
    """What people look for in the value: a command's output, a conversation."""
    copies: Mapping[str, str]
    """The same question to the model, as a program and as a command."""
    value: str | None
    """Indented JSON, or the text itself if the value is one."""
    error: RecordedError | None
    fields: Sequence[tuple[str, str]]
    """What else the error says."""
    attempts: Sequence[AttemptRecord]
    longest_s: float
    """The longest attempt with its waiting: what the bars are drawn to."""
    inside: Sequence[FanOutRecord]
    """The fan-outs that it made."""


def item_detail(journal: RefusesWrites, run_id: str, path: str, key: str) -> ItemDetail | None:
    """None: there is no such item. `RunNotFound`."""
    run = journal.run(run_id)
    fan_outs = journal.fan_outs(run_id)
    fan_out = next((each for each in fan_outs if each.path == path), None)
    item = None if fan_out is None else next(iter([*journal.items(fan_out.id, [key])]), None)
    if fan_out is None or item is None:
        return None
    attempts = list(journal.attempts(fan_out.id, [key]))
    error = None if item.error is None else decode_error(item.error)
    value = whole = None if item.value is None else JSON.decode(item.value)
    system = system_of_kind(run.kind)
    if isinstance(system, CompletingSystem):
        whole = system.whole_value(journal, run, path, key, value)
    return ItemDetail(
        run,
        fan_out,
        item,
        _inputs(journal, run, [item]).get(item.index),
        value_parts(whole),
        copies_of(whole),
        None if item.value is None else _indented(value),
        error,
        [] if error is None else [(n, _indented(v)) for n, v in error.fields.items() if v],
        attempts,
        max((a.queued_s + a.ran_s + a.backoff_s for a in attempts), default=0.0),
        [each for each in fan_outs if each.path.startswith(f"{path}/{key}/")][:MOST_FAN_OUTS],
    )


def _indented(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def item_json(detail: ItemDetail) -> dict[str, Any]:
    """The item for programs."""
    item = detail.item
    return {
        "run": detail.run.id,
        "path": detail.fan_out.path,
        **{name: getattr(item, name) for name in ItemRecord.__struct_fields__ if name != "fan_out"},
        "value": None if item.value is None else JSON.decode(item.value),
        "error": None if item.error is None else JSON.decode(item.error),
        "attempts": [msgspec.to_builtins(each) for each in detail.attempts],
    }
