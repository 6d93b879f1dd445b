"""A program: prints the calls that both sides will make, a line of JSON for each.

It runs beside the original only. Recorded calls come first, as they were; then those of which
something is told only by two calls; then variations, each beside the call that it was made from,
so that a cache filled by one meets the other.
"""

from __future__ import annotations

import dis
import importlib.util
import inspect
import json
import random
import sys
from collections.abc import Iterator
from hashlib import sha256
from itertools import combinations, islice
from pathlib import Path
from typing import Any, NamedTuple

from .argument_kinds import Opaque, StreamArgument
from .find_function import TargetFunction, find
from .hints import Hints
from .numbers_in_order import IN_ORDER, numbers
from .pickling import THEN, dumps, load_call, load_follow, load_init, to_text
from .random_arguments import AtomPool, regrow
from .variations import (
    DEEP,
    HUGE,
    RELATED,
    SPELLED,
    STREAM,
    ArgumentPlace,
    changes,
    places,
    probe,
    put,
    relatives,
    spellings,
)

_FAMILIES = 8
"""Recorded calls that are varied: as different from one another as there are."""
_SCRIPTS = ("again", "spoilt", "edited", "used", "fed")
_ORDERED = 2
"""Arguments that are numbers and are counted through."""
_FOLLOWS = 3
"""Calls of a returned function that are varied, for each call of the target."""
_SPELLED = 4
"""Pairs of texts in a call that become two spellings of one."""
_MOST_BYTES = 1 << 20
_KEPT = ("call", "streams", "init", "follow", "after", "probe", "changed")
Row = dict[str, Any]
Call = tuple[list[Any], dict[str, Any]]


def main() -> None:
    how = json.loads(sys.stdin.read())
    rows = [json.loads(line) for line in Path(how["calls"]).read_text().splitlines()]
    out, sys.stdout = sys.stdout, sys.stderr  # what an import prints is no plan
    if importlib.util.find_spec("hypothesis") is not None:
        importlib.import_module("hypothesis")  # before anything of the project is on the path
    for row in Planner(find(how), rows, how).rows():
        out.write(json.dumps(row) + "\n")


class Variation(NamedTuple):
    """A call that was made from another one."""

    label: str
    level: str
    script: str
    call: Call
    place: ArgumentPlace | None = None
    name: str = ""
    """What was changed, as people would say it: `n`, `rows[0]`."""


class Planner:
    def __init__(self, found: TargetFunction, recorded: list[Row], how: dict[str, Any]) -> None:
        self._recorded = recorded
        self._most = how["most"]
        self._seed = how["seed"]
        self._hints = Hints(found.raw)
        self._skip = in_front(found)
        self._considers_none = _considers_none(found.raw)
        plain = getattr(found.raw, "__func__", found.raw)
        self._is_generator = inspect.isgeneratorfunction(plain)
        self._count = 0

    def rows(self) -> Iterator[Row]:
        """All planned calls, numbered."""
        families = self._families()
        for row in self._recorded:
            yield self._row("as recorded", "strict", "once", row, 0)
        share = max(self._most // max(len(families), 1), 10)
        for number, row in enumerate(families, start=1):
            yield from self._family(row, number, share)
        yield from self._from_hints(len(families) + 1)
        yield from self._in_order(len(families) + 2)

    def _family(self, row: Row, group: int, share: int) -> Iterator[Row]:
        yield self._row("as recorded", "strict", "once", row, group)
        plain = self._count
        for script in _SCRIPTS if group > 1 else (*_SCRIPTS, "thread"):
            yield self._row("as recorded", "strict", script, row, group)
        rng = random.Random(f"{self._seed} {group}")
        grown = list(self._regrown(row, rng, max(share // 2, 20)))
        made = [*self._varied(row, rng), *self._shared(row), *self._spelled(row)]
        kept = sorted(
            {*rng.sample(range(len(made)), min(len(made), share))}
            | {
                number
                for number, each in enumerate(made)
                if each.label.endswith(DEEP) or SPELLED in each.label or RELATED in each.label
            }
        )
        asked: dict[str, int] = {}
        for variation in [made[number] for number in kept] + grown:
            for each in self._variation(variation, row, group, asked):
                streamed = variation.label.endswith(STREAM) and each["level"] != "probe"
                yield {**each, "like": plain} if streamed else each
        if self._is_generator:
            yield self._row("as recorded, and it is sent numbers", "foreign", "sent", row, group)
        yield from self._followed(row, rng, group)
        yield from self._constructed(row, rng, group)

    def _variation(
        self, variation: Variation, row: Row, group: int, asked: dict[str, int]
    ) -> Iterator[Row]:
        packed = self._packed(variation.call)
        if packed is None:
            return
        place = variation.place
        if variation.level == "opaque" and place is not None:
            if place.text not in asked:
                args, kwargs = load_call(row)
                put(args, kwargs, place.way, probe(place.value))
                yield self._row(
                    f"{place.text} opaque",
                    "probe",
                    "once",
                    self._packed((args, kwargs)) or row,
                    group,
                )
                asked[place.text] = self._count
            packed = {**packed, "probe": asked[place.text]}
        packed = {**packed, "changed": variation.name, **_around(row)}
        script = "used" if "follow" in row else variation.script
        yield self._row(variation.label, variation.level, script, packed, group)

    def _varied(self, row: Row, rng: random.Random) -> Iterator[Variation]:
        args, kwargs = load_call(row)
        for place in places(args, kwargs, self._skip):
            for label, level, new in changes(place.value, rng, top=len(place.way) == 1):
                fresh = load_call(row)
                put(*fresh, place.way, new)
                if self._hints.admit(*fresh):
                    text, name = f"{place.text} {label}", self._name(place)
                    weight = self._weight(level, label, name)
                    yield Variation(text, weight, "once", fresh, place, name)
                    if label == STREAM:
                        yield Variation(text, weight, "inside", fresh, place, name)

    def _name(self, place: ArgumentPlace) -> str:
        """The place by the name of its parameter."""
        (root, key), *rest = place.way
        name = key if root == "kwargs" else self._hints.parameter(key)
        return "".join([name, *(f"[{step[1]!r}]" for step in rest)])

    def _weight(self, level: str, label: str, name: str) -> str:
        """How far a value is from what is given: one that is meant is not far."""
        if level != "far" or label == HUGE:
            return level
        meant = self._hints.covers(name) or (
            label == "None" and self._considers_none and "[" not in name
        )
        return "foreign" if meant else level

    def _followed(self, row: Row, rng: random.Random, group: int) -> Iterator[Row]:
        """Vary the calls of what the target returned, after those that were recorded."""
        for number, chain in enumerate(load_follow(row)[:_FOLLOWS]):
            for place in places(*chain[-1], 0):
                if len(place.way) > 1:
                    continue
                made = [
                    *changes(place.value, rng, top=True),
                    ("in a list", "opaque", [place.value]),
                ]
                asked = self._follow_row(row, number, place, "opaque", "probe", Opaque(0), group)
                if asked is None:
                    continue
                yield asked
                for label, level, new in made:
                    found = self._follow_row(row, number, place, label, level, new, group)
                    if found is not None:
                        yield {**found, "probe": asked["id"]} if level == "opaque" else found

    def _constructed(self, row: Row, rng: random.Random, group: int) -> Iterator[Row]:
        """The same call of objects that are made of other things."""
        if "init" not in row:
            return
        for place in places(*load_init(row), 0):
            for label, level, new in changes(place.value, rng, top=len(place.way) == 1):
                args, kwargs = load_init(row)
                put(args, kwargs, place.way, new)
                packed = self._packed((args, kwargs))
                if packed is not None and level in ("strict", "far"):
                    name = {"init": packed["call"], "changed": f"its object's {place.text}"}
                    yield self._row(
                        f"{place.text} {label} made of", level, "once", {**row, **name}, group
                    )

    def _follow_row(
        self,
        row: Row,
        number: int,
        place: ArgumentPlace,
        label: str,
        level: str,
        new: Any,
        group: int,
    ) -> Row | None:
        args, kwargs = load_follow(row)[number][-1]
        put(args, kwargs, place.way, new)
        packed = self._packed((args, kwargs))
        if packed is None:
            return None
        text = f"{place.text} {label}, of what it returned"
        before = row["follow"][number].split(THEN)[:-1]
        calls = {
            **row,
            "follow": [*row["follow"], THEN.join([*before, packed["call"]])],
            "changed": f"()({place.text[1:-1]})",
        }
        return self._row(text, level, "used", calls, group)

    def _shared(self, row: Row) -> Iterator[Variation]:
        """One object in two places."""
        args, _ = load_call(row)
        for first in range(self._skip, len(args)):
            for second in range(first + 1, len(args)):
                alike = type(args[first]) is type(args[second])
                if alike and not _is_atom(args[first]):
                    fresh, named = load_call(row)
                    fresh[second] = fresh[first]
                    yield Variation(f"[{second}] is [{first}]", "strict", "once", (fresh, named))
                for label, new in relatives(args[first]) if alike else ():
                    fresh, named = load_call(row)
                    fresh[second] = new
                    if self._hints.admit(fresh, named):
                        text = f"[{second}] {RELATED} [{first}], {label}"
                        yield Variation(text, "strict", "once", (fresh, named))
        for first, value in enumerate(args[self._skip :], start=self._skip):
            if type(value) is list and value and not _is_atom(value[0]):
                fresh, named = load_call(row)
                fresh[first] = [fresh[first][0]] * 3
                label = f"[{first}] has one thing thrice"
                yield Variation(label, "strict", "once", (fresh, named))

    def _spelled(self, row: Row) -> Iterator[Variation]:
        """Two texts of a call become spellings of one: it may look for one by the other."""
        args, kwargs = load_call(row)
        texts = [each for each in places(args, kwargs, self._skip) if type(each.value) is str]
        for one, two in islice(combinations(texts, 2), _SPELLED):
            for label, first, second in spellings(one.value):
                fresh = load_call(row)
                put(*fresh, one.way, first)
                put(*fresh, two.way, second)
                if self._hints.admit(*fresh):
                    text = f"{one.text} and {two.text} {label}"
                    yield Variation(text, "strict", "once", fresh)

    def _regrown(self, row: Row, rng: random.Random, count: int) -> Iterator[Variation]:
        pool = AtomPool(rng)
        pool.gather(load_call(row)[0][self._skip :])
        for number in range(count):
            args, kwargs = load_call(row)
            pool.few = number % 3 == 2
            front = args[: self._skip]
            fresh = [*front, *(regrow(each, pool) for each in args[self._skip :])]
            named = {name: regrow(each, pool) for name, each in kwargs.items()}
            if self._hints.admit(fresh, named):
                script = "spoilt" if number % 4 == 3 else "once"
                yield Variation("built alike", "strict", script, (fresh, named))

    def _from_hints(self, group: int) -> Iterator[Row]:
        if self._skip:
            return
        for call in self._hints.generate(max(self._most // 8, 10), self._seed):
            packed = self._packed(call)
            if packed is not None:
                yield self._row("by its hints", "strict", "once", packed, group)

    def _in_order(self, group: int) -> Iterator[Row]:
        """Each number that is an argument, from small to large; of each shape of call once."""
        rng = random.Random(f"{self._seed} {IN_ORDER}")
        done: set[str] = set()
        for row in self._families():
            for place in places(*load_call(row), self._skip, deep=0):
                if type(place.value) not in (int, float) or place.text in done:
                    continue
                if len(done) == _ORDERED:
                    return
                done.add(place.text)
                label = f"{place.text} {IN_ORDER}"
                for number in numbers(place.value, rng):
                    fresh = load_call(row)
                    put(*fresh, place.way, number)
                    variation = Variation(f"{label}, {number}", "strict", "once", fresh, place)
                    if self._hints.admit(*fresh):
                        name = self._name(place)
                        yield from self._variation(
                            variation._replace(name=name), row, group + len(done), {}
                        )

    def _families(self) -> list[Row]:
        """Recorded calls to vary: one of each shape first, then others.

        Those that others made come before those that the function made itself.
        """
        shapes: dict[str, list[Row]] = {}
        for row in sorted(self._recorded, key=lambda row: row.get("depth", 0)):
            shapes.setdefault(_shape(row), []).append(row)
        chosen = [rows[0] for rows in shapes.values()]
        chosen += [row for rows in shapes.values() for row in rows[1:]]
        return chosen[:_FAMILIES]

    def _packed(self, call: Call) -> Row | None:
        try:
            data = dumps((list(call[0]), call[1]))
        except Exception:  # it cannot be stored, so it cannot be made
            return None
        return {"call": to_text(data)} if len(data) < _MOST_BYTES else None

    def _row(self, label: str, level: str, script: str, row: Row, group: int) -> Row:
        self._count += 1
        found: Row = {"id": self._count, "group": group, "label": label, "level": level}
        kept: Row = {name: row[name] for name in _KEPT if name in row}
        given = [row.get(name) for name in ("call", "streams", "init", "follow")]
        found["input"] = sha256(json.dumps(given).encode()).hexdigest()[:16]
        return {**found, "script": script, "rebuilt": not self._skip or "init" in row, **kept}


def _around(row: Row) -> Row:
    """What stays of a recorded call when its arguments are changed."""
    return {name: row[name] for name in ("init", "follow") if name in row}


def _considers_none(function: Any) -> bool:
    """Whether its code asks if something is None: then None was thought of."""
    plain = getattr(function, "fget", None) or getattr(function, "__func__", function)
    code = getattr(inspect.unwrap(plain), "__code__", None)
    asks = ("IS_OP", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE")
    return code is not None and any(
        each.opname.endswith(asks) or each.opname.replace("FORWARD_", "") in asks
        for each in dis.get_instructions(code)
    )


def in_front(found: TargetFunction) -> int:
    """Arguments that come before those of the call: the object or the class of a method."""
    if isinstance(found.raw, staticmethod):
        return 0
    return int(inspect.isclass(found.owner))


def _is_atom(value: Any) -> bool:
    return value is None or isinstance(value, int | float | str | bytes | complex)


def _shape(row: Row) -> str:
    args, kwargs = load_call(row)
    return repr([_kinds(each, 3) for each in args] + sorted(kwargs))


def _kinds(value: Any, depth: int) -> Any:
    if isinstance(value, StreamArgument):
        return ["stream", _kinds(value.items, depth)]
    if depth and type(value) in (list, tuple, set):
        inner = [_kinds(each, depth - 1) for each in list(value)[:5]]
        return [type(value).__name__, sorted(set(map(repr, inner)))]
    return type(value).__name__


if __name__ == "__main__":
    main()
