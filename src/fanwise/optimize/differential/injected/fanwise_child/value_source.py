"""Values as Python source, so that a call can be read.

Literals, constructors of well-known types, dataclasses, and for other objects a class and its
attributes. What has no source (code that came with a call, a handle) is a `NoSource`.
"""

from __future__ import annotations

import dataclasses
import math
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from .argument_kinds import (
    DeepArgument,
    DictLike,
    IntLike,
    ListLike,
    MissingDict,
    StreamArgument,
    StrLike,
    TupleLike,
)

_ATOMS = (int, str, bytes, bool, type(None))
_BY_REPR = ("decimal", "fractions", "datetime", "pathlib", "uuid")
_LIKE: dict[type, type] = {
    ListLike: list,
    DictLike: dict,
    StrLike: str,
    IntLike: int,
    TupleLike: tuple,
}
_DEPTH = 40


class NoSource(Exception):
    """The value cannot be written as source."""


class SourceWriter:
    """Writes values."""

    def __init__(self) -> None:
        self._depth = 0

    def text(self, value: Any) -> str:
        if self._depth > _DEPTH:
            raise NoSource("nested too deep")
        self._depth += 1
        try:
            return self._text(value, type(value))
        finally:
            self._depth -= 1

    def _text(self, value: Any, kind: type) -> str:
        if kind in _ATOMS:
            return repr(value)
        if kind is float:
            return repr(value) if math.isfinite(value) else f'float("{value!r}")'
        if kind is complex:
            return f"complex({self.text(value.real)}, {self.text(value.imag)})"
        if kind in (list, tuple, set, frozenset, dict):
            return self._container(value, kind)
        if kind in (range, bytearray):
            return repr(value)
        if kind is DeepArgument:
            return f"[[…{value.DEPTH} deep… {self.text(value.innermost)}]]"
        if kind is StreamArgument:
            return f"(each for each in {self.text(value.items)})"
        if kind in _LIKE or kind is MissingDict:
            return self._like(value, kind)
        return self._other(value, kind)

    def _container(self, value: Any, kind: type) -> str:
        if kind is dict:
            pairs = [f"{self.text(key)}: {self.text(each)}" for key, each in value.items()]
            return "{" + ", ".join(pairs) + "}"
        inner = [self.text(each) for each in value]
        if kind is list:
            return f"[{', '.join(inner)}]"
        if kind is tuple:
            return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"
        plain = "{" + ", ".join(sorted(inner)) + "}" if inner else "set()"
        return plain if kind is set else f"frozenset({plain if inner else ''})"

    def _like(self, value: Any, kind: type) -> str:
        base = _LIKE.get(kind, dict)
        plain = base(value) if base in (list, dict) else base.__new__(base, value)
        return f"{kind.__name__}({self._text(plain, base)})"

    def _other(self, value: Any, kind: type) -> str:
        if isinstance(value, type | FunctionType | BuiltinFunctionType):
            return self._named(value)
        if isinstance(value, ModuleType):
            return value.__name__
        if isinstance(value, Enum):
            return f"{self._named(kind)}.{value.name}"
        if kind.__module__ in _BY_REPR:
            return self._by_repr(value, kind)
        if kind.__module__.partition(".")[0] == "numpy":
            return self._array(value)
        if dataclasses.is_dataclass(value):
            return self._dataclass(value, kind)
        return self._object(value, kind)

    def _named(self, value: Any) -> str:
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "<")
        if not module or "<" in name:
            raise NoSource(f"a function without a name, {name}" if module else repr(value))
        if module == "builtins":
            return str(name)
        return f"{module}.{name}"

    def _by_repr(self, value: Any, kind: type) -> str:
        module = kind.__module__
        return repr(value) if module == "datetime" else f"{module}.{value!r}"

    def _array(self, value: Any) -> str:
        if not hasattr(value, "tolist") or str(value.dtype) == "object":
            raise NoSource(repr(type(value)))
        inner = self._text(value.tolist(), type(value.tolist()))
        if hasattr(value, "shape") and value.shape:
            return f"numpy.array({inner}, dtype={str(value.dtype)!r})"
        return f"numpy.{value.dtype.name}({inner})"

    def _dataclass(self, value: Any, kind: type) -> str:
        fields = dataclasses.fields(value)
        if not all(field.init for field in fields):
            return self._object(value, kind)
        parts = [f"{field.name}={self.text(getattr(value, field.name))}" for field in fields]
        return f"{self._named(kind)}({', '.join(parts)})"

    def _object(self, value: Any, kind: type) -> str:
        """A class and its attributes: no constructor is run, for nobody knows what it takes."""
        if hasattr(kind, "__slots__") and not hasattr(value, "__dict__"):
            names = [name for each in kind.__mro__ for name in getattr(each, "__slots__", ())]
            state = {name: getattr(value, name) for name in names if hasattr(value, name)}
        elif "__reduce_ex__" not in vars(kind) and hasattr(value, "__dict__"):
            state = dict(vars(value))
        else:
            raise NoSource(f"a {kind.__qualname__}")
        if isinstance(value, list | dict | set | tuple | str | int | float | bytes):
            raise NoSource(f"a {kind.__qualname__}")
        parts = [f"{name}={self.text(each)}" for name, each in state.items()]
        return f"made({', '.join([self._named(kind), *parts])})"
