"""Times a function in this one process, and tells the figures.

What is timed is one pass over all calls, `loops` times in a row, with arguments that were made
anew for each call before the clock was read. The last pass of each sample is kept, and what it
gave is told beside the figures: a function that is right only until it is timed is found out.

A function that remembers results is fast at calls that it has seen, and these are all that a loop
makes. So half of the calls are held back until the other half has warmed everything up; then they
are made once, as new calls, and once more in a loop. Who compares processes can tell the two. A
call is new only once in a process, and one figure of a few microseconds says little; so it is made
in several forks of this one, each of which has seen the same.

Calls of different size are timed apart: their sum is the time of a pass, and a version that is
slower for small ones cannot hide behind large ones. Of a function that returns a function the
calls of what came back are timed, as they were recorded; and beside them what it takes to make it.

Before the user's code is imported, what is used here is taken out of its reach: functions and
their names into a space that no module has. It shares the process all the same, and can look for
them there. So the figures are claims: `clock_keeper`, which this is a fork of, sees from outside
whether they can be true, and hands the calls over once the import is done.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import os
import random
from collections import deque
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from time import perf_counter_ns
from types import AsyncGeneratorType, CoroutineType, FunctionType, SimpleNamespace
from typing import Any

from .argument_kinds import opened
from .call_sizes import classes_of
from .find_function import enter_project, find
from .forms import Former
from .pickling import load_call, load_follow

IMPORTED = b"imported\n"
LONG_ENOUGH_NS = 2_000_000
"""For a sample: far above what a clock takes, and less than a turn on a busy core."""
_PREPARED_NS = 20_000_000
"""At most this for making the arguments of a sample."""
_MOST_PASSES = 20_000
_TOLD = 200_000
_let_others = getattr(os, "sched_yield", int)
_fork, _pipe, _read, _write, _close = os.fork, os.pipe, os.read, os.write, os.close
_wait, _leave = os.waitpid, os._exit
_OF_GC = ("collect", "freeze", "enable", "disable")
_ATOMS = (int, float, str, bytes, bool, type(None))

Arguments = tuple[Any, dict[str, Any]]
Function = Callable[..., Any]
Call = tuple[Function, Any, dict[str, Any]]


class TimedCalls:
    """A function, and the calls that are timed."""

    def __init__(
        self, function: Function, rows: list[Any], load: Callable[[Any], Arguments]
    ) -> None:
        self.function = function
        self.rows = rows
        self.size = len(rows)
        self.follows = [n for n, row in enumerate(rows) if row and row.get("follow")]
        """Calls that return a function that the tests called."""
        self.exhaust: Callable[[Function], Function] | None = None  # set if results are lazy
        self._load = load
        self._load_follow = load_follow
        self._make = _make
        self._kept = {n: load(row) for n, row in enumerate(rows) if _is_plain(load(row))}

    def direct(self, which: list[int], passes: int = 1) -> list[Call]:
        """These calls of the function, with fresh arguments, `passes` times."""
        kept, rows, load = self._kept, self.rows, self._load
        function = self.function if self.exhaust is None else self.exhaust(self.function)
        return [
            (function, *(kept[n] if n in kept else load(rows[n])))
            for _ in range(passes)
            for n in which
        ]

    def fresh(self, which: list[int], passes: int = 1) -> list[Call]:
        """What is timed for these calls, `passes` times."""
        if not self.follows:
            return self.direct(which, passes)
        return [call for _ in range(passes) for n in which for call in self._uses(n)]

    def count(self, n: int) -> int:
        """How many timed calls a recorded one comes to."""
        return len(self.rows[n]["follow"]) if n in self.follows else 1

    def part(self, which: slice) -> TimedCalls:
        """The same, with some calls of what is returned."""
        rows = [{**row, "follow": row["follow"][which]} for row in self.rows]
        found = TimedCalls(self.function, rows, self._load)
        found.exhaust = self.exhaust
        return found

    def _uses(self, n: int) -> list[Call]:
        [(function, args, kwargs)] = self.direct([n])
        if n not in self.follows:
            return [(function, args, kwargs)]
        made, calls = self._make(function, args, kwargs), []
        for *first, last in self._load_follow(self.rows[n]):
            called = made
            for call in first:
                called = self._make(called, *call)
            calls.append((called if self.exhaust is None else self.exhaust(called), *last))
        return calls


def _make(function: Function, args: Any, kwargs: dict[str, Any]) -> Function:
    """What the call returns; if it fails, something that fails as it did."""
    try:
        made: Function = function(*args, **kwargs)
    except Exception as error:
        problem = error

        def fails(*_: Any, **__: Any) -> Any:
            raise problem

        return fails
    return made


def _is_plain(call: Arguments) -> bool:
    """Nobody can change such arguments, so they need not be made anew."""
    return all(type(each) in _ATOMS for each in (*call[0], *call[1].values()))


def work(how: dict[str, Any], told: int, given: int) -> None:
    """Answer on one file, in one line for the import and one for the rest; never returns."""
    write, leave = os.write, os._exit
    try:
        answer = _out_of_reach()(how, told, given)
    except BaseException as error:
        answer = {"problem": f"{type(error).__name__}: {error}"[:2000]}
    data = (json.dumps(answer) + "\n").encode()
    while data:
        data = data[write(told, data) :]
    leave(0)


def _out_of_reach() -> Callable[[dict[str, Any], int, int], dict[str, Any]]:
    """`_answer`, with names of its own: nobody gets at them by importing this module."""
    space = dict(globals())
    space["gc"] = SimpleNamespace(**{name: getattr(gc, name) for name in _OF_GC})
    for name, each in globals().items():
        if isinstance(each, FunctionType) and each.__module__ == __name__:
            space[name] = FunctionType(each.__code__, space, name, each.__defaults__)
    found: Callable[[dict[str, Any], int, int], dict[str, Any]] = space["_answer"]
    return found


def _answer(how: dict[str, Any], told: int, given: int) -> dict[str, Any]:
    pinned = _pin(how["core"])
    random.seed(how["seed"])
    order = random.Random(how["seed"])
    function, source = _function(how)
    _write(told, IMPORTED)
    rows = [json.loads(line) for line in _all_of(given).splitlines()]
    subject = TimedCalls(function, rows or [None], _load)
    gc.collect()
    gc.freeze()  # what is here by now is not looked at again and again
    around = {"pinned": pinned, "source": source}
    if how["loops"] is None:
        return {**_calibrated(subject), **around}
    if how["lazy"]:
        subject.exhaust = _exhausting
    return {**_measured(subject, how, order), **around}


def _pin(core: int | None) -> bool:
    if core is None or not hasattr(os, "sched_setaffinity"):
        return False
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        return False
    return True


# -- what is timed -------------------------------------------------------------------------------


def _function(how: dict[str, Any]) -> tuple[Function, str]:
    """What is timed; of a benchmark of the repository also the digest of its file, for both sides
    must have the same."""
    if how["recorded"]:
        found = find(how)
        plain = isinstance(found.raw, FunctionType)
        return (getattr(found.owner, found.name) if plain else found.own), ""
    enter_project(how)
    module = importlib.import_module(how["module"])
    function: Any = module
    for name in how["name"].split("."):
        function = getattr(function, name)
    file = Path(module.__file__ or os.devnull)
    return function, sha256(file.read_bytes()).hexdigest()


def _all_of(file: int) -> bytes:
    found = bytearray()
    while data := _read(file, 1 << 20):
        found += data
    return bytes(found)


def _load(row: Any) -> Arguments:
    if row is None:
        return (), {}
    args, kwargs = load_call(row)
    return opened(args), kwargs


def _exhausting(function: Function) -> Function:
    """Consume generators and coroutines while the clock runs."""
    import asyncio  # it takes as long to import as many a benchmark to run

    async def collected(value: Any) -> list[Any]:
        return [each async for each in value]

    def exhausted(*args: Any, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        if inspect.iscoroutine(value):
            return asyncio.run(value)
        if inspect.isasyncgen(value):
            return asyncio.run(collected(value))
        if isinstance(value, Iterator):
            deque(value, maxlen=0)
        return value

    return exhausted


# -- timing --------------------------------------------------------------------------------------


def _timed(calls: list[Call], last: list[Call]) -> tuple[int, list[Any]]:
    """How long all calls took, and what the last ones returned."""
    gave: list[Any] = []
    keep = gave.append
    clock = perf_counter_ns
    begun = clock()
    for function, args, kwargs in calls:
        try:  # noqa: SIM105 - a context costs more than the call may
            function(*args, **kwargs)
        except BaseException:
            pass
    for function, args, kwargs in last:
        try:
            keep(function(*args, **kwargs))
        except BaseException as error:
            keep(_Raised(error))
    return clock() - begun, gave


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.form = ["raise", type(error).__qualname__]


def _sample(
    subject: TimedCalls, which: list[int], passes: int, making: bool = False
) -> tuple[int, list[Any]]:
    """Of `passes` passes, in nanoseconds, with what the last of them gave."""
    made = subject.direct if making else subject.fresh
    calls = made(which, passes - 1)
    last = made(which)
    gc.collect()
    gc.disable()
    _let_others()  # now, rather than while the clock runs
    try:
        return _timed(calls, last)
    finally:
        gc.enable()


def _measured(subject: TimedCalls, how: dict[str, Any], order: random.Random) -> dict[str, Any]:
    loops = how["loops"]
    everything = list(range(subject.size))
    order.shuffle(everything)
    (warm, seen), (cold, unseen) = _halves(subject, everything)
    figures = []
    if seen:
        _sample(warm, seen, loops)
        figures = [_when_new((warm, seen), (cold, unseen)) for _ in range(how["samples"])]
    first, _ = _sample(cold, unseen, 1)
    new_ns = sorted(figures or [first])[len(figures) // 4]  # others only make it longer
    again_ns = sorted(_sample(cold, unseen, loops)[0] for _ in range(3))[1]
    place = {n: at for at, n in enumerate(everything)}
    classes = [sorted(each["calls"], key=place.__getitem__) for each in how["classes"]]
    parts: list[list[float]] = [[] for _ in classes]
    making: list[float] = []
    gave: list[Any] = []
    for _ in range(how["samples"]):
        gave = []
        for which, each, took in zip(classes, how["classes"], parts, strict=True):
            ns, values = _sample(subject, which, each["loops"])
            took.append(ns / each["loops"])
            gave += values
        if subject.follows:
            making.append(_sample(subject, subject.follows, loops, True)[0] / loops)
    samples = [sum(each) for each in zip(*parts, strict=True)]
    both = [[a + b for a, b in zip(making, samples, strict=True)]] if making else []
    return {
        "samples": samples,
        "classes": [*parts, *both],
        "new_ns": new_ns,
        "again_ns": again_ns / loops,
        "forms": _forms(subject, [n for which in classes for n in which], gave),
    }


def _when_new(known: tuple[TimedCalls, list[int]], new: tuple[TimedCalls, list[int]]) -> int:
    """How long new calls take in a fork of this process, after one pass over known ones."""
    read, write = _pipe()
    child = _fork()
    if child == 0:
        try:
            _sample(*known, 1)  # a fork pays for each page that it touches first
            _write(write, str(_sample(*new, 1)[0]).encode())
        finally:
            _leave(0)
    _close(write)
    told = _read(read, 64)
    _close(read)
    _wait(child, 0)
    return int(told)


def _halves(subject: TimedCalls, everything: list[int]) -> list[tuple[TimedCalls, list[int]]]:
    """Calls to warm up with, and calls that are new after that."""
    half = subject.size // 2
    if half or not subject.follows or subject.count(0) < 2:
        return [(subject, everything[:half]), (subject, everything[half:])]
    half = subject.count(0) // 2  # one function was made: its calls are divided
    return [(subject.part(slice(half)), [0]), (subject.part(slice(half, None)), [0])]


def _forms(subject: TimedCalls, which: list[int], gave: list[Any]) -> dict[str, str]:
    """What each recorded call came to, by its place."""
    left = iter(gave)
    found = {}
    for n in which:
        forms = [_form(next(left)) for _ in range(subject.count(n))]
        found[str(n)] = _bounded(json.dumps(forms if n in subject.follows else forms[0]))
    return found


def _form(value: Any) -> Any:
    return value.form if isinstance(value, _Raised) else Former().form(value)


def _bounded(form: str) -> str:
    return form if len(form) <= _TOLD else json.dumps(["digest", sha256(form.encode()).hexdigest()])


def _calibrated(subject: TimedCalls) -> dict[str, Any]:
    """How many passes make a sample long enough, and how many samples are worth their time."""
    everything = list(range(subject.size))
    _, gave = _sample(subject, everything, 1)
    kinds = (Iterator, CoroutineType, AsyncGeneratorType)
    lazy = any(isinstance(value, kinds) for value in gave)
    if lazy:
        subject.exhaust = _exhausting
    passes, spent = _enough(subject, everything, 1, LONG_ENOUGH_NS)
    classes = [
        {**each, "loops": _enough(subject, each["calls"], passes, LONG_ENOUGH_NS // 8)[0]}
        for each in classes_of(subject.rows)
    ]
    found = {"loops": passes, "samples": _how_many(spent), "lazy": lazy, "sample_ns": spent}
    return found | {"classes": classes, "makes": bool(subject.follows)}


def _enough(subject: TimedCalls, which: list[int], passes: int, wanted: int) -> tuple[int, int]:
    """So many passes that a sample takes long enough, and what it takes then."""
    while True:
        begun = perf_counter_ns()
        first, _ = _sample(subject, which, passes)
        # Somebody else may have had the core: what is seen once is not yet how long it takes.
        second = first if first > 100 * LONG_ENOUGH_NS else _sample(subject, which, passes)[0]
        prepared = (perf_counter_ns() - begun - first - second) / 2
        spent = min(first, second)
        if spent >= wanted or prepared >= _PREPARED_NS or passes >= _MOST_PASSES:
            return passes, spent
        passes = min(_MOST_PASSES, passes * 2)


def _how_many(sample_ns: int) -> int:
    """Samples of one process: as many as take about a tenth of a second, and one of a long one."""
    return next((n for n in (15, 9, 5, 3) if n * sample_ns < 50 * LONG_ENOUGH_NS), 1)
