"""What is held against a candidate. PURE.

An entry of a plan is compared step by step. How strictly depends on how far its arguments are
from those that the tests have given:

- **strict** (recorded, or of the recorded types): the same value, the same arguments afterwards,
  the same output, the same names of the module. If the original raises on purpose (a `raise` of
  the user's code), the same type and text; if something inside it fails (`xs[0]` of an empty
  list), the same type, for the text is the interpreter's.
- **foreign** (another type than ever given: None, a tuple for a list, an unhashable element): as
  above when the original returns or raises on purpose. If it merely fails there, in this call or
  in another one with the same change, these arguments are outside of what it is for, and a
  candidate may do anything: that the original sometimes does not look at them is no promise.
- **opaque** (an element of another type): as foreign, and only if the original takes elements that
  can do nothing but be equal. One that adds or orders its elements was never meant for these.
- **a stream** in the place of a list: as foreign, and only if the original makes the same of it
  as of the list. One that reads its argument twice was never meant for streams.
- **far** (None where something was given, a float for an int, an int of more than 63 bits): calls
  that nobody makes. As foreign, and a difference is told and not held against the candidate, unless
  the hints admit the value, the original raises on purpose there, or the user asks for it.

Where the original runs out of stack or memory, a candidate may be better. How much of a stream
is read counts where streams were recorded. An iterator is an iterator, whether it is a generator,
a `map` or one of a list; but what was read by the time of each item must be the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from fanwise.optimize.differential.equal import FormMatcher, Tolerance, loosened
from fanwise.optimize.differential.observe import Observations, ObservedCall
from fanwise.optimize.differential.plan import Level, PlannedCall

Kind = Literal["value", "exception", "arguments", "stdout", "generator", "globals", "ended"]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One call, and what both did. JSON-able; texts are bounded."""

    kind: Kind
    """What differs first; `ended`: the process did not survive the call."""
    call: str
    """The call as Python source."""
    expected: str
    """What the original does."""
    got: str


_EXHAUSTED = ("RecursionError", "MemoryError")
Step = Mapping[str, Any]
_Kind = Kind | Literal["enough"]


class Differs(msgspec.Struct, frozen=True):
    """Where a candidate differs: the entry, the step in it, and in what."""

    entry: PlannedCall
    step: int
    kind: Kind
    expected: Any = None
    got: Any = None
    ended: str = ""


def exhausted(seen: ObservedCall) -> bool:
    """Whether the original ran out of stack or memory at once: nothing is held to that."""
    first = seen.first()
    return first is not None and first["out"][0] == "raise" and _is_exhausted(first["out"])


def _is_exhausted(raised: list[Any]) -> bool:
    """Out of stack or memory, or of what an index can count: a list that long cannot be."""
    _, kind, text, *_ = raised
    return kind in _EXHAUSTED or (kind == "OverflowError" and "index-sized" in text)


def compare(
    entries: Iterable[PlannedCall],
    baseline: Observations,
    candidate: Observations,
    tolerance: Tolerance | None = None,
    *,
    unordered: frozenset[int] = frozenset(),
) -> list[Differs]:
    """All entries in which a candidate differs; empty if it does the same."""
    judge = _Judge(tolerance or Tolerance(), frozenset(baseline.names))
    found = []
    for entry in entries:
        ours, theirs = baseline.seen.get(entry.id), candidate.seen.get(entry.id)
        if ours is None or ours.ended or theirs is None:
            continue  # whether all were observed is asked elsewhere: see `missing`
        differs = judge.entry(entry, ours, theirs, loose=entry.id in unordered)
        found += [] if differs is None else [differs]
    return found


def missing(entries: Iterable[PlannedCall], candidate: Observations) -> int:
    """How many of the entries a candidate was not observed in."""
    return sum(entry.id not in candidate.seen for entry in entries)


class _Judge:
    def __init__(self, tolerance: Tolerance, names: frozenset[str]) -> None:
        self._tolerance = tolerance
        self._names = names

    def entry(
        self, entry: PlannedCall, ours: ObservedCall, theirs: ObservedCall, *, loose: bool
    ) -> Differs | None:
        if theirs.ended:
            return Differs(entry, 0, "ended", ours.first(), None, theirs.ended)
        expected = ours.read()
        try:
            return self._steps(entry, expected, theirs.read(), loose=loose)
        except (msgspec.DecodeError, LookupError, TypeError, ValueError, AttributeError):
            return Differs(entry, 0, "ended", ours.first(), None, "gave an invalid answer")

    def _steps(
        self, entry: PlannedCall, expected: list[Any], got: list[Any], *, loose: bool
    ) -> Differs | None:
        found: Differs | None = None
        for number, (one, other) in enumerate(zip(expected, got, strict=False)):
            kind = self._step(entry.level, one, other, loose=loose)
            if kind == "enough":
                return found
            if kind is not None and (found is None or found.kind == "globals"):
                found = Differs(entry, number, kind, one, other)
        if found is not None:
            return found
        if len(expected) != len(got):
            return Differs(entry, min(len(expected), len(got)), "value", None, None)
        return None

    def _step(self, level: Level, a: Step, b: Step, *, loose: bool) -> _Kind | None:
        if not isinstance(b["out"], list):
            raise TypeError("an answer that is none")
        if a["out"][0] == "raise":
            return self._raised(level, a, b)
        if b["out"][0] == "raise":
            return "exception"
        if a["out"][0] != b["out"][0]:
            return "generator"
        if a["out"][0] == "lazy" and not self._lazy(level, a["out"], b["out"], loose=loose):
            return "generator"
        return self._rest(level, a, b, loose=loose)

    def _raised(self, level: Level, a: Step, b: Step) -> _Kind | None:
        _, kind, text, deliberate, key = a["out"]
        if _is_exhausted(a["out"]):
            return "enough"
        if not deliberate and level != "strict":
            return "enough"
        if b["out"][0] != "raise" or b["out"][1] != kind or b["out"][4] != key:
            return "exception"
        if not deliberate:
            return None
        if b["out"][2] != text:
            return "exception"
        return self._rest(level, a, b, loose=False)

    def _rest(self, level: Level, a: Step, b: Step, *, loose: bool) -> Kind | None:
        kind = self._values(a["args"], b["args"], loose=loose)
        if kind is not None or "stdout" not in a:
            return kind
        if level == "strict" and a["taken"] != b["taken"]:
            return "arguments"
        if any(a[name] != b[name] for name in ("stdout", "stderr", "warnings")):
            return "stdout"
        return None if self._globals(a["globals"], b["globals"]) else "globals"

    def _values(self, a: Any, b: Any, *, loose: bool) -> Kind | None:
        (args, kwargs, value), (their_args, their_kwargs, their_value) = a, b
        if loose:
            return None if loosened(a) == loosened(b) else "value"
        match = FormMatcher(self._tolerance)
        if len(args) != len(their_args) or not all(map(match.same, args, their_args)):
            return "arguments"
        if not match.same(kwargs, their_kwargs):
            return "arguments"
        return None if match.same(value, their_value) else "value"

    def _lazy(self, level: Level, a: list[Any], b: list[Any], *, loose: bool) -> bool:
        (_, items, taken, end), (_, their_items, their_taken, their_end) = a, b
        if loose:
            return sorted(map(repr, map(loosened, items))) == sorted(
                map(repr, map(loosened, their_items))
            )
        if len(items) != len(their_items) or (level == "strict" and taken != their_taken):
            return False
        return all(map(self._item, items, their_items)) and self._end(level, end, their_end)

    def _item(self, a: list[Any], b: list[Any]) -> bool:
        return FormMatcher(self._tolerance).same(a[0], b[0]) and a[1] == b[1]

    def _end(self, level: Level, a: list[Any], b: list[Any]) -> bool:
        if a[0] != "raise":
            return a[0] == b[0] and (a[0] != "end" or FormMatcher(self._tolerance).same(a[1], b[1]))
        if _is_exhausted(a) or (not a[3] and level != "strict"):
            return True
        if b[0] != "raise" or b[1] != a[1] or b[4] != a[4]:
            return False
        return not a[3] or a[2] == b[2]

    def _globals(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
        names = (a.keys() | b.keys()) & self._names
        return all(a.get(name) == b.get(name) for name in names)
