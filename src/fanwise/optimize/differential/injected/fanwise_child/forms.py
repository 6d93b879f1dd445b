"""Values as plain JSON: what they are, down to types, order, sharing and the sign of a zero.

Nothing here is turned back into objects, so the other side of the check can read it safely.
A mutable thing has a number, by the order in which it is met; met again it is `["ref", number]`.
So two lists that are one and two lists that are equal have different forms, and so have a result
that *is* an argument and a copy of it. What is immutable has no number: nobody can tell.

Other than that a form is an atom as JSON has it, or a list that begins with what it is.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from enum import Enum
from types import ModuleType
from typing import Any

from .returned import FUNCTIONS

MOST = 20_000
"""Parts of one value that are told one by one; of the rest there is a digest."""
_DEPTH = 60
"""What is nested deeper is told further down: neither JSON nor Python likes depth."""
_SAFE = 1 << 53
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_PLAIN = {list, dict, set, bytearray}
Form = Any


class Former:
    """Makes forms that share their numbers."""

    def __init__(self, function: Callable[[Any], Form] | None = None) -> None:
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no number is given twice
        self._parts = 0
        self._depth = 0
        self._later: list[Any] = []
        self._function = function

    def form(self, value: Any) -> Form:
        """The form of a value; whatever the value is, this does not raise."""
        start = len(self._later)
        main = self._form(value)
        rest: list[Form] = []
        while start + len(rest) < len(self._later):
            rest.append(self._form(self._later[start + len(rest)]))
        return ["whole", main, rest] if rest else main

    def is_known(self, value: Any) -> int | None:
        """The number of this very object, if it has one."""
        return self._numbers.get(id(value))

    def _form(self, value: Any) -> Form:
        self._parts += 1
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -_SAFE < value < _SAFE else ["int", hex(value)]
        if kind is float:
            return ["float", _float(value)]
        if self._parts > MOST:
            return ["more", _digest(value)]
        if self._depth >= _DEPTH:
            self._later.append(value)
            return ["later"]
        self._depth += 1
        try:
            return self._compound(value, kind)
        finally:
            self._depth -= 1

    def _compound(self, value: Any, kind: type) -> Form:
        if kind is tuple:
            return ["tuple", [self._form(each) for each in value]]
        if kind in (bytes, complex, range, frozenset) or kind in _VIEWS:
            return self._simple(value, kind)
        number = self._numbers.get(id(value))
        if number is not None:
            return ["ref", number]
        if not _is_immutable(value, kind):
            self._numbers[id(value)] = number = len(self._numbers)
        self._alive.append(value)
        return self._numbered(value, kind, number)

    def _simple(self, value: Any, kind: type) -> Form:
        if kind is bytes:
            return ["bytes", value.hex()]
        if kind is complex:
            return ["complex", ["float", _float(value.real)], ["float", _float(value.imag)]]
        if kind is range:
            return ["range", value.start, value.stop, value.step]
        if kind is frozenset:
            return ["frozenset", self._unordered(value)]
        return ["view", kind.__name__, [self._form(each) for each in value]]

    def _numbered(self, value: Any, kind: type, number: int | None) -> Form:
        if kind in _PLAIN:
            return [kind.__name__, number, self._contents(value, kind)]
        if isinstance(value, type | ModuleType):
            return ["named", _name(value)]
        if isinstance(value, FUNCTIONS):
            return self._function(value) if self._function else ["function"]
        if isinstance(value, Enum):
            return ["enum", _name(kind), value.name]
        if kind.__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
            return self._array(value, kind, number)
        return self._object(value, kind, number)

    def _contents(self, value: Any, kind: type) -> Form:
        if kind is dict:
            pairs = list(dict.items(value))
            return [[self._form(key), self._form(each)] for key, each in pairs]
        if kind is set:
            return self._unordered(set.__iter__(value))
        if kind is bytearray:
            return bytes(value).hex()
        return [self._form(each) for each in list.__iter__(value)]

    def _unordered(self, values: Iterable[Any]) -> Form:
        """The members by themselves, sorted by their forms: a set has no order to compare."""
        forms = [Former(self._function).form(each) for each in values]
        return sorted(forms, key=repr)

    def _array(self, value: Any, kind: type, number: int | None) -> Form:
        shape = list(getattr(value, "shape", ()))
        return ["array", number, _name(kind), str(value.dtype), shape, self._form(value.tolist())]

    def _object(self, value: Any, kind: type, number: int | None) -> Form:
        form: list[Any] = ["object", number, _name(kind)]
        base = _builtin_base(kind)
        if base is not None:
            form.append(["base", self._base(value, base)])
            if isinstance(value, defaultdict):
                form.append(["factory", self._form(value.default_factory)])
        elif isinstance(value, BaseException):
            form.append(["args", self._form(value.args)])
        state = _state(value)
        if state:
            names = [[name, self._form(each)] for name, each in state.items()]
            form.append(["state", sorted(names, key=lambda pair: str(pair[0]))])
        if len(form) == 3:
            form.append(self._reduced(value))
        return form

    def _base(self, value: Any, base: type) -> Form:
        """The contents of the builtin type that it extends."""
        if base in _PLAIN:
            return [base.__name__, None, self._contents(value, base)]
        if base is tuple:
            return ["tuple", [self._form(each) for each in tuple.__iter__(value)]]
        if base is frozenset:
            return ["frozenset", self._unordered(frozenset.__iter__(value))]
        return self._form(base.__new__(base, value))

    def _reduced(self, value: Any) -> Form:
        """What pickle would keep of an object of C: a Decimal, a date, a deque."""
        try:
            parts = value.__reduce_ex__(4)
        except Exception:  # whatever it is: it says nothing of itself but its text
            return ["text", _text(value)]
        if isinstance(parts, str):
            return ["named", parts]
        found = [self._form(each) for each in parts[1:3]]
        found += [self._form(list(each)) for each in parts[3:5] if each is not None]
        return ["reduced", ["tuple", found]]


def digest(form: Form) -> str:
    return hashlib.sha256(repr(form).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _digest(value: Any) -> str:
    text = repr(value) if type(value) in (int, str, float, bytes) else _text(value)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _float(value: float) -> str:
    return value.hex()


def _is_immutable(value: Any, kind: type) -> bool:
    """Whether it is what it is by value: then nobody can tell two of them apart."""
    if isinstance(value, (type, ModuleType, *FUNCTIONS, Enum)):
        return True
    if issubclass(kind, int | float | str | bytes | tuple | frozenset | complex):
        return not getattr(value, "__dict__", None)
    by_value = kind.__eq__ is not object.__eq__ and kind.__hash__ is not None
    return by_value and kind.__hash__ is not object.__hash__


def _builtin_base(kind: type) -> type | None:
    for base in kind.__mro__[1:]:
        if base in (list, dict, set, tuple, frozenset, str, int, float, bytes, bytearray, complex):
            return base
    return None


def _state(value: Any) -> dict[str, Any]:
    found = dict(getattr(value, "__dict__", None) or {})
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in ("__dict__", "__weakref__"):
                continue
            inner = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") else name
            try:
                found[name] = object.__getattribute__(value, inner)
            except AttributeError:
                continue
    return found


def _name(thing: Any) -> str:
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", "?")
    return f"{module}.{name}" if module and module != "builtins" else str(name)


def _text(value: Any) -> str:
    try:
        return _ADDRESS.sub("0x", repr(value))[:2000]
    except Exception as error:  # a broken __repr__ is the value's own affair
        return f"<{type(value).__name__}: its repr raises {type(error).__name__}>"
