"""How the changes of a run came together: merges, conflicts, checks, the result. Pure.

Steps are numbered from 0 in each execution. Where a plan was edited and run again, those of the
execution before may still be in the journal: they began before what they would have to follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import inf
from typing import Any

import msgspec

from fanwise.errors import one_line
from fanwise.journal.codec import decode_error
from fanwise.journal.port import ItemRecord
from fanwise.plan.model.merge_result import (
    BrokenName,
    CheckResult,
    Conflict,
    MergeStep,
    MovedFile,
    OverwrittenFile,
    PublishedResult,
)
from fanwise.plan.model.node import Tree

KINDS = ("merge", "check", "result")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was done with all that had come."""

    key: str
    start: float | None
    end: float | None
    """None: it goes on, or was killed."""
    what: MergeStep | CheckResult | PublishedResult | None = None
    error: str = ""

    @property
    def kind(self) -> str:
        """merge, check or result."""
        return self.key.partition(":")[0]


class Joined(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All steps, in order."""

    steps: tuple[Step, ...] = ()
    since: float | None = None
    """When the first merge began; None: it has not."""

    def counts(self, item: ItemRecord | None) -> bool:
        """Whether an item that comes after the first merge is not of an earlier execution."""
        return item is not None and self.since is not None and _began(item) >= self.since

    @cached_property
    def merges(self) -> list[MergeStep]:
        """Those that ended."""
        return [each.what for each in self.steps if isinstance(each.what, MergeStep)]

    @cached_property
    def checks(self) -> list[CheckResult]:
        """Those that ended: the first of all, the others of a bisection."""
        return [each.what for each in self.steps if isinstance(each.what, CheckResult)]

    @cached_property
    def result(self) -> PublishedResult | None:
        """What is left behind."""
        found = [each.what for each in self.steps if isinstance(each.what, PublishedResult)]
        return found[-1] if found else None

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Of all merges, each once."""
        return tuple(dict.fromkeys(each for m in self.merges for each in m.merged.conflicts))

    @cached_property
    def aside(self) -> frozenset[str]:
        """Leaves that were in conflict."""
        return frozenset(each.leaf for each in self.conflicts)

    @cached_property
    def taken(self) -> tuple[OverwrittenFile, ...]:
        """Files in which the later leaf was taken."""
        return tuple(dict.fromkeys(each for m in self.merges for each in m.merged.taken))

    @cached_property
    def moved(self) -> tuple[MovedFile, ...]:
        """Files that one leaf renamed and others changed, and that went together."""
        return tuple(dict.fromkeys(each for m in self.merges for each in m.merged.moved))

    @cached_property
    def broken(self) -> tuple[BrokenName, ...]:
        """Names that one leaf took away and another uses, in what was merged last."""
        return self.merges[-1].broken if self.merges else ()

    @cached_property
    def left_out(self) -> Mapping[str, str]:
        """Leaves that are not in the result, and why."""
        return {} if self.result is None else {each.path: each.why for each in self.result.left_out}

    @property
    def failures(self) -> list[Step]:
        """Steps that could not be made."""
        return [each for each in self.steps if each.error]

    def conflict_text(self, leaf: str, tree: Tree) -> str:
        """In a line: in which files, and with whom."""
        found = [each for each in self.conflicts if each.leaf == leaf]
        paths = list(dict.fromkeys(path for each in found for path in each.paths))
        others = dict.fromkeys(other for each in found for other in each.others)
        titles = [tree.by_id[o].title if o in tree.by_id else o for o in others]
        return f"{', '.join(paths)}: with {', '.join(titles)}"


def joined(tree: Tree, items: Mapping[str, ItemRecord], values: Mapping[str, Any]) -> Joined:
    """The steps that count."""
    leaves = [items.get(f"leaf:{leaf.id}") for leaf in tree.leaves]
    last = max((each.ended_at or inf for each in leaves if each is not None), default=inf)
    first = items.get("merge:0")
    if first is None or _began(first) < last:
        return Joined()
    since = _began(first)
    found = [each for each in items.values() if each.key.partition(":")[0] in KINDS]
    found = [each for each in found if each.status in ("started", "done", "failed")]
    found = sorted((each for each in found if _began(each) >= since), key=_began)
    steps = [_step(each, values.get(each.key)) for each in found]
    if not all(_is_of(each, tree) for each in steps):
        return Joined()
    return Joined(steps=tuple(steps), since=since)


def _began(item: ItemRecord) -> float:
    return item.started_at or 0.0


def _is_of(step: Step, tree: Tree) -> bool:
    """Whether it knows no other leaves than this tree."""
    if isinstance(step.what, MergeStep):
        known = (*step.what.merged.leaves, *step.what.merged.aside)
        return all(leaf in tree.by_id for leaf in known)
    return True


def _step(item: ItemRecord, value: Any) -> Step:
    types: dict[str, Any] = {"merge": MergeStep, "check": CheckResult, "result": PublishedResult}
    kind = item.key.partition(":")[0]
    what = None if value is None else msgspec.convert(value, types[kind])
    error = "" if item.error is None else one_line(decode_error(item.error))
    return Step(key=item.key, start=item.started_at, end=item.ended_at, what=what, error=error)
