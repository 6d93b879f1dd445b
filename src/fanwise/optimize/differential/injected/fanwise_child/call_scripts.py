"""What is done with the arguments of one entry: once, again, after changes, from elsewhere.

A cache, a shared default or an internal list that leaked shows in no single call. So the result
and the arguments of a call are spoilt and it is made again; the same objects are given twice; it
is made in a second thread, and from inside itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from .argument_kinds import StreamArgument, opened
from .outcome import Observer, Step
from .pickling import load_call, load_follow

SPOILT = "fanwise-was-here"
Row = dict[str, Any]


def once(observer: Observer, row: Row) -> list[Step]:
    return [observer.call(*load_call(row))[0]]


def again(observer: Observer, row: Row) -> list[Step]:
    """Call it twice with the same objects, then look at the first result again."""
    args, kwargs = load_call(row)
    first, value = observer.call(args, kwargs)
    second, other = observer.call(args, kwargs)
    return [first, second, observer.look(value, other)]


def spoilt(observer: Observer, row: Row) -> list[Step]:
    """Change what it returned and what it was given, then call it with fresh arguments."""
    args, kwargs = load_call(row)
    first, value = observer.call(args, kwargs)
    spoil(value)
    for each in [*args, *kwargs.values()]:
        spoil(each)
    return [first, observer.call(*load_call(row))[0]]


def edited(observer: Observer, row: Row) -> list[Step]:
    """Change the arguments, and give the same objects again: one may know them by name."""
    args, kwargs = load_call(row)
    steps = [observer.call(args, kwargs)[0]]
    for each in [*args, *kwargs.values()]:
        edit(each)
    return [*steps, observer.call(args, kwargs)[0]]


def thread(observer: Observer, row: Row) -> list[Step]:
    """Call it here, in another thread, and here again."""
    steps = once(observer, row)
    other = threading.Thread(target=lambda: steps.extend(once(observer, row)))
    other.start()
    other.join()
    return steps + once(observer, row)


def inside(observer: Observer, row: Row) -> list[Step]:
    """While it reads its first stream, call it with fresh arguments."""
    args, kwargs = load_call(row)
    inner: list[Step] = []
    for number, each in enumerate(args):
        if isinstance(each, StreamArgument):
            args[number] = Entering(each.items, lambda: inner.append(_bare(observer, row)))
            break
    step = observer.call(args, kwargs)[0]
    return [step, *inner]


def used(observer: Observer, row: Row) -> list[Step]:
    """Use what comes back, as far as it goes and as it goes wrong."""
    steps = observer.use(*load_call(row), load_follow(row))
    return steps + observer.use(*load_call(row), [], trouble=True)


def sent(observer: Observer, row: Row) -> list[Step]:
    """Send values into the generator that comes back."""
    return observer.use(*load_call(row), [], send=True)


def fed(observer: Observer, row: Row) -> list[Step]:
    """Give it the text that it made: what is escaped or cut already may not be again."""
    args, kwargs = load_call(row)
    first, value = observer.call(args, kwargs)
    steps = [first]
    for number, each in enumerate(args):
        if type(value) in (str, bytes) and type(each) is type(value):
            fresh, named = load_call(row)
            fresh[number] = value
            steps.append(observer.call(fresh, named)[0])
    return steps


SCRIPTS: dict[str, Callable[[Observer, Row], list[Step]]] = {
    "once": once,
    "again": again,
    "spoilt": spoilt,
    "edited": edited,
    "thread": thread,
    "inside": inside,
    "used": used,
    "fed": fed,
    "sent": sent,
}


class Entering(StreamArgument):
    """A stream that does something before its second item."""

    def __init__(self, items: list[Any], enter: Callable[[], None]) -> None:
        super().__init__(items)
        self._enter = enter

    def open(self) -> Iterator[Any]:
        for number, item in enumerate(super().open()):
            if number == 1:
                self._enter()
            yield item


def _bare(observer: Observer, row: Row) -> Step:
    """A call inside a call: only what it answers, for the rest belongs to the outer one."""
    args, kwargs = load_call(row)
    out, value, former = observer.make(opened(args), kwargs)
    return {"out": out, "args": [[], {}, former.form(value)]}


def spoil(value: Any, depth: int = 2) -> None:
    """Change a container, and those in it, in place; other things stay."""
    if depth == 0:
        return
    if isinstance(value, list):
        for each in value[:3]:
            spoil(each, depth - 1)
        value.append(SPOILT)
    elif isinstance(value, dict):
        for each in list(value.values())[:3]:
            spoil(each, depth - 1)
        value[SPOILT] = SPOILT
    elif isinstance(value, set):
        value.add(SPOILT)
    elif isinstance(value, bytearray):
        value.append(0)
    elif isinstance(value, tuple):
        for each in value[:3]:
            spoil(each, depth - 1)


def edit(value: Any) -> None:
    """Take from a container, or double in it, what it has: it stays of its kind."""
    if isinstance(value, list | bytearray) and value:
        value.append(value[0])
    elif isinstance(value, dict | set) and value:
        first = next(iter(value))
        value.pop(first) if isinstance(value, dict) else value.discard(first)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        for name, each in list(vars(value).items()):
            if isinstance(each, list) and each and not name.startswith("_"):
                each.insert(0, each[0])
