"""Makes one call and tells all of it that can be seen from outside, as plain JSON.

What it returned or raised, what became of its arguments, what it printed, which names of its
module changed; of something lazy, each item, and how much had been read from the arguments by
then. An exception is `deliberate` if a `raise` of the user's own code made it: its text is meant.
"""

from __future__ import annotations

import dis
import inspect
import os
import random
import re
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from .argument_kinds import StreamArgument, opened
from .capture import OutputCapture
from .find_function import TargetFunction
from .forms import Form, Former, digest
from .returned import Chain, _run, cancelled, sends, uses

MOST_ITEMS = 200
"""Items that are taken from a generator: it may have no end."""
_LINE = re.compile(r"line \d+|:\d+:")
_PROBES: tuple[Any, ...] = (1, 2, "a")
Step = dict[str, Any]


class Observer:
    """Makes calls, one after another, in one process."""

    def __init__(
        self,
        found: TargetFunction,
        root: str,
        capture: OutputCapture,
        names: list[str] | None = None,
    ) -> None:
        """`names`: the global names to watch, those of the original; None: all data there is."""
        self.found = found
        self._watched = None if names is None else frozenset(names)
        self._root = os.path.realpath(root) + os.sep
        self._capture = capture
        self._globals = self._look_at_globals()
        self.probes = True
        """Whether functions are called with a few arguments, for none are known."""

    def names(self) -> list[str]:
        """The global names that are watched."""
        return sorted(self._globals)

    def call(self, args: list[Any], kwargs: dict[str, Any]) -> tuple[Step, Any]:
        """Make a call; returns what was observed, and the value."""
        streams = [each for each in args if isinstance(each, StreamArgument)]
        given = opened(args)
        _seed()
        self._capture.clear()
        begun = time.perf_counter()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            out, value, former = self.make(given, kwargs, streams)
        seconds = time.perf_counter() - begun
        step = {"out": out, "args": self._arguments(given, kwargs, former, value)}
        step["plain"] = self._plain(out, value)
        step.update(self._around(warned, streams))
        step["seconds"] = seconds
        return step, value

    def make(
        self, args: list[Any], kwargs: dict[str, Any], streams: Sequence[StreamArgument] = ()
    ) -> tuple[list[Any], Any, Former]:
        """Make a call and nothing else: how it ended, its value, and what makes forms of it."""
        former = Former(self._probe)
        value: Any = None
        try:
            value = self.found.own(*args, **kwargs)
            if inspect.iscoroutine(value):
                return ["awaited", None], _run(value), former
            if inspect.isasyncgen(value):
                return ["lazy", *_run(self._drain_async(value))], None, former
            if isinstance(value, Iterator) and not any(value is each for each in args):
                return ["lazy", *self._drain(value, streams)], None, former
        except BaseException as error:  # whatever it raises is what it does
            return self._raised(error), None, former
        return ["value", None], value, former

    def failed(self, error: Exception) -> Step:
        """A call that could not be begun."""
        return {"out": self._raised(error), "args": [[], {}, None]}

    def look(self, *values: Any) -> Step:
        """Results of calls that were made before, as they are now: one may be the other."""
        former = Former(self._probe)
        return {"out": ["value", None], "args": [[], {}, [former.form(each) for each in values]]}

    def use(
        self,
        args: list[Any],
        kwargs: dict[str, Any],
        follow: list[Chain],
        *,
        trouble: bool = False,
        send: bool = False,
    ) -> list[Step]:
        """Call it, and do with what comes back what its callers do; `trouble`: and fail there."""
        given = opened(args)
        try:
            value = self.found.own(*given, **kwargs)
        except Exception as error:
            return [self.failed(error)]
        if inspect.iscoroutine(value):
            if trouble:
                return [self.look(_run(cancelled(value)))]
            value.close()
            return []
        steps = []
        for more, act in sends(value) if send else uses(value, follow, trouble=trouble):
            former = Former(self._probe)
            result, out = None, ["value", None]
            try:
                result = act()
            except BaseException as error:
                out = self._raised(error)
            steps.append(
                {"out": out, "args": self._arguments([*given, *more], kwargs, former, result)}
            )
        return steps

    def _arguments(
        self, args: list[Any], kwargs: dict[str, Any], former: Former, value: Any
    ) -> Form:
        """The arguments as they are now, and then the value: it may be one of them."""
        forms = [["stream"] if inspect.isgenerator(each) else former.form(each) for each in args]
        return [forms, former.form(kwargs), former.form(value)]

    def _plain(self, out: list[Any], value: Any) -> str:
        """What it came to, whatever it shares with its arguments and however much was read."""
        if out[0] == "lazy":
            return digest([[item for item, _ in out[1]], out[3][:3]])
        return digest(out[:3] if out[0] == "raise" else Former(self._probe).form(value))

    def _around(self, warned: Any, streams: list[StreamArgument]) -> Step:
        now = self._look_at_globals()
        names = {**self._globals, **now}
        changed = [name for name in sorted(names) if now.get(name) != self._globals.get(name)]
        self._globals = now
        out, err = self._capture.read()
        told = [[each.category.__name__, str(each.message)] for each in warned]
        return {
            "taken": [each.taken for each in streams],
            "stdout": out,
            "stderr": _LINE.sub("line", err),
            "warnings": [each for each in told if _counts(*each)],
            "globals": {name: now.get(name, ["absent"]) for name in changed},
        }

    def _drain(self, value: Iterator[Any], streams: Sequence[StreamArgument]) -> list[Any]:
        items: list[Any] = []
        kept: list[Any] = []
        taken = [[each.taken for each in streams]]
        for _ in range(MOST_ITEMS):
            try:
                item = next(value)
            except StopIteration as end:
                return [items, taken, ["end", Former(self._probe).form(end.value)]]
            except BaseException as error:
                return [items, taken, self._raised(error)]
            items.append(self._item(item, kept))
            taken.append([each.taken for each in streams])
        return [items, taken, ["more"]]

    async def _drain_async(self, value: Any) -> list[Any]:
        items: list[Any] = []
        kept: list[Any] = []
        try:
            async for item in value:
                items.append(self._item(item, kept))
                if len(items) >= MOST_ITEMS:
                    return [items, [], ["more"]]
        except BaseException as error:
            return [items, [], self._raised(error)]
        return [items, [], ["end", None]]

    def _item(self, item: Any, kept: list[Any]) -> Form:
        """What an item is when it comes, and whether it is one that came before."""
        former = Former(self._probe)
        form = former.form(item)
        same = next((i for i, each in enumerate(kept) if each is item), None)
        kept.append(item)
        return [form, same if former.is_known(item) is not None else None]

    def _raised(self, error: BaseException) -> list[Any]:
        kind = type(error)
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        try:
            text = str(error)
        except Exception as broken:
            text = f"<its text raises {type(broken).__name__}>"
        return ["raise", name, text, self._deliberate(error), _key(error)]

    def _deliberate(self, error: BaseException) -> bool:
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        if last is None:
            return False
        code = last.tb_frame.f_code
        if not os.path.realpath(code.co_filename).startswith(self._root):
            return False
        return dis.opname[code.co_code[last.tb_lasti]] == "RAISE_VARARGS"

    def _probe(self, function: Any) -> Form:
        """A function that was returned is what it does with a few arguments."""
        name = function.__name__ if hasattr(function, "__wrapped__") else None
        return ["function", self._answers(function), name]

    def _answers(self, function: Any) -> Form:
        if not self.probes or inspect.iscoroutinefunction(function):
            return None
        try:
            given = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return None
        needed = [each for each in given if each.default is each.empty and _is_one(each)]
        if len(needed) > 2 or any(each.kind is each.KEYWORD_ONLY for each in needed):
            return None
        return [_answer(function, [probe] * len(needed)) for probe in _PROBES]

    def _look_at_globals(self) -> dict[str, Form]:
        return {
            name: digest(Former().form(value))
            for name, value in list(vars(self.found.module).items())
            if not name.startswith("__") and _is_data(value) and self._is_watched(name)
        }

    def _is_watched(self, name: str) -> bool:
        return self._watched is None or name in self._watched


def _counts(kind: str, text: str) -> bool:
    """Whether a warning is meant: those of the interpreter say how something was computed."""
    return kind != "RuntimeWarning" or "was never awaited" in text


def _is_one(parameter: inspect.Parameter) -> bool:
    return parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def _answer(function: Any, args: list[Any]) -> Form:
    try:
        return Former().form(function(*args))
    except Exception as error:
        return ["raise", type(error).__name__]


def _is_data(value: Any) -> bool:
    if isinstance(value, ModuleType | type) or type(value).__module__ in ("typing", "__future__"):
        return False
    return not callable(value)


def _key(error: BaseException) -> Form:
    """The data of an exception: the key of a KeyError, and the attributes that others have."""
    if isinstance(error, KeyError):
        return Former().form(error.args)
    fields = {name: each for name, each in vars(error).items() if name[:1] != "_"}
    return Former().form(fields) if fields else None


def _seed() -> None:
    """Let what is random be the same on both sides, if it is asked for in the same order."""
    random.seed(0)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(0)
