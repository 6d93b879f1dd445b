"""What a function of the user's is, as plain data: what goes into keys, so that edits are seen.

The text of its file is not all of it: `partial(f, word="x")`, an object with `__call__` and a
closure do different things with the same text. So what they hold counts too: plain data by value,
functions by what they are, and anything else (a client, a lock) by the name of its type, because
nobody can say whether two of them are the same.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import CellType, FunctionType, MethodType
from typing import Any

import msgspec


def code_of(function: Callable[..., Any]) -> Any:
    """JSON-able, for digests: its name, the text of its file, and what it holds, if anything."""
    return _CodeReader().callable(function)


class _CodeReader:
    """Looks at each thing once: a function may hold itself."""

    def __init__(self) -> None:
        self._inside: set[int] = set()

    def callable(self, given: Any) -> Any:
        """A function, a method, a partial, a class, or an object that can be called."""
        if id(given) in self._inside:
            return _name(given)
        self._inside.add(id(given))
        try:
            return self._opened(given)
        finally:
            self._inside.discard(id(given))

    def _opened(self, given: Any) -> Any:
        if isinstance(given, partial):
            return ["partial", self.callable(given.func), self.value([given.args, given.keywords])]
        if isinstance(given, MethodType):
            return ["method", self.callable(given.__func__), self.instance(given.__self__)]
        if isinstance(given, FunctionType):
            return _with(_text(given), self.value(_held(given)))
        if isinstance(given, type) or inspect.isbuiltin(given):
            return _text(given)
        inner = getattr(given, "__wrapped__", None)  # as of functools.cache
        return self.instance(given) if inner is None else self.callable(inner)

    def instance(self, given: Any) -> Any:
        """What it is an instance of, and its state."""
        if isinstance(given, type):
            return _text(given)
        return _with(_text(type(given)), self.value(_state(given)))

    def value(self, given: Any) -> Any:
        """Something that is held."""
        if isinstance(given, Mapping):
            return {str(key): self.value(each) for key, each in given.items()}
        if isinstance(given, list | tuple):
            return [self.value(each) for each in given]
        if isinstance(given, float):
            return repr(given)  # JSON has no nan
        if callable(given):
            return self.callable(given)
        try:
            return msgspec.json.decode(msgspec.json.encode(given, order="sorted"))
        except (TypeError, ValueError, RecursionError):
            return _name(type(given))


def _with(code: list[Any], held: dict[str, Any]) -> list[Any]:
    return [*code, held] if held else code


def _text(given: Any) -> list[Any]:
    """Its name, and the text of the file that it is in."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(given))
        text = Path(file).read_bytes() if file is not None else b""
    except (TypeError, OSError):
        text = b""
    return [_name(given), hashlib.sha256(text).hexdigest()]


def _name(given: Any) -> str:
    return f"{getattr(given, '__module__', '')}:{getattr(given, '__qualname__', '')}"


def _held(function: FunctionType) -> dict[str, Any]:
    """What it closes over and its defaults, by name; it has them or not, so none is empty."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found: dict[str, Any] = {name: _content(cell) for name, cell in cells}
    if function.__defaults__:
        found["(defaults)"] = function.__defaults__
    return {**found, **(function.__kwdefaults__ or {})}


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing was ever assigned
        return None


def _state(given: Any) -> dict[str, Any]:
    kinds = type(given).__mro__
    slots = [getattr(each, "__slots__", ()) for each in kinds]
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each)]
    names += getattr(given, "__struct_fields__", ())
    there = {name: getattr(given, name) for name in names if _is_there(given, name)}
    return {**there, **getattr(given, "__dict__", {})}


def _is_there(given: Any, name: str) -> bool:
    return name not in ("__dict__", "__weakref__") and hasattr(given, name)
