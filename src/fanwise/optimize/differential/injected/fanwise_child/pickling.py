"""Arguments as bytes, by value.

It is pickle, so it is read only inside children, and only what the user's own code has written.
Beyond pickle: functions without an importable name (a lambda as a key) travel as code, generators
as what was taken from them, and a lock as a new one, which nobody holds.
"""

from __future__ import annotations

import _thread
import base64
import builtins
import io
import marshal
import pickle
import sys
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, GeneratorType, ModuleType
from typing import Any

from .argument_kinds import StreamArgument

_LOCKS = (type(_thread.allocate_lock()), type(_thread.RLock()))


class Tap:
    """A generator that is handed on and looked at: what passes is stored as it passes."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.items: list[bytes] = []
        self.hands = self._hand_on()

    def _hand_on(self) -> Iterator[Any]:
        for item in self.source:
            self.items.append(dumps(item))
            yield item


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, taps: dict[int, int]) -> None:
        super().__init__(file, protocol=5)
        self._taps = taps

    def persistent_id(self, obj: Any) -> Any:
        return self._taps.get(id(obj)) if isinstance(obj, GeneratorType) else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType) and not _importable(obj):
            return _function, _parts(obj)
        if isinstance(obj, ModuleType):
            return _module, (obj.__name__,)
        if isinstance(obj, _LOCKS):
            return _lock, (_LOCKS.index(type(obj)),)
        return NotImplemented


class _Unpacker(pickle.Unpickler):
    def __init__(self, data: bytes, streams: list[list[bytes]]) -> None:
        super().__init__(io.BytesIO(data))
        self._streams = streams

    def persistent_load(self, pid: Any) -> Any:
        return StreamArgument([loads(item) for item in self._streams[pid]])


def dumps(value: Any, taps: list[Tap] | None = None) -> bytes:
    """The value as bytes; whatever pickle raises if it has no value that can be stored."""
    file = io.BytesIO()
    _Packer(file, {id(tap.hands): number for number, tap in enumerate(taps or ())}).dump(value)
    return file.getvalue()


def loads(data: bytes, streams: list[list[bytes]] | None = None) -> Any:
    """A fresh copy of the value."""
    return _Unpacker(data, streams or []).load()


THEN = "|"
"""Between the calls of a chain, in a line of JSON: no base64 has it."""


def to_text(data: bytes) -> str:
    """Bytes as text for a line of JSON."""
    return base64.b64encode(data).decode("ascii")


def load_call(row: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Fresh copies of a stored call's positional and keyword arguments."""
    streams = [[base64.b64decode(item) for item in items] for items in row.get("streams", ())]
    args, kwargs = loads(base64.b64decode(row["call"]), streams)
    if "init" in row:
        given, named = load_init(row)
        args[0] = type(args[0])(*given, **named)  # by the constructor of the side that is called
    return list(args), dict(kwargs)


def load_init(row: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that the object of a method was made with."""
    args, kwargs = loads(base64.b64decode(row["init"]))
    return list(args), dict(kwargs)


def load_follow(row: dict[str, Any]) -> list[list[tuple[list[Any], dict[str, Any]]]]:
    """The chains of calls that begin with what the call returned."""
    return [
        [(list(args), dict(kwargs)) for args, kwargs in map(_unpacked, each.split(THEN))]
        for each in row.get("follow", ())
    ]


def _unpacked(text: str) -> Any:
    return loads(base64.b64decode(text))


def _importable(function: FunctionType) -> bool:
    found: Any = sys.modules.get(function.__module__ or "")
    if found is None or function.__module__ == "__main__":
        return False
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _parts(function: FunctionType) -> tuple[Any, ...]:
    used = {name: function.__globals__[name] for name in _names(function.__code__, function)}
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    code = marshal.dumps(function.__code__)
    more = (function.__defaults__, function.__kwdefaults__, cells)
    return (code, function.__name__, function.__module__, used, *more)


def _names(code: CodeType, function: FunctionType) -> Iterator[str]:
    yield from (name for name in code.co_names if name in function.__globals__)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner, function)


def _function(
    code: bytes, name: str, module: str, used: dict[str, Any], defaults: Any, named: Any, cells: Any
) -> FunctionType:
    names = {"__builtins__": builtins, "__name__": module, **used}
    closure = tuple(CellType(each) for each in cells)
    made = FunctionType(marshal.loads(code), names, name, defaults, closure)
    made.__kwdefaults__ = named
    return made


def _lock(kind: int) -> Any:
    return _thread.RLock() if kind else _thread.allocate_lock()


def _module(name: str) -> ModuleType:
    __import__(name)
    return sys.modules[name]
