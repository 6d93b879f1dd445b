"""What the type hints of a function say: which values they admit, and calls made from them.

With hypothesis in the user's interpreter its strategies make the calls; without it a few lines of
our own do, for the types that are common.
"""

from __future__ import annotations

import collections.abc
import enum
import importlib.util
import inspect
import random
import types
import typing
from typing import Any

from .argument_kinds import DeepArgument, StreamArgument

_ANY = (Any, object, inspect.Parameter.empty)


class Hints:
    """The hints of one function, by the names of its parameters."""

    def __init__(self, function: Any) -> None:
        plain = getattr(function, "fget", None) or getattr(function, "__func__", function)
        plain = inspect.unwrap(plain)
        self.signature = _signature(plain)
        try:
            self.types = typing.get_type_hints(plain)
        except Exception:  # hints that only a type checker can resolve say nothing here
            self.types = {}
        self.types.pop("return", None)

    def admit(self, args: list[Any], kwargs: dict[str, Any]) -> bool:
        """Whether the hints allow these arguments."""
        if self.signature is None or not self.types:
            return True
        try:
            bound = self.signature.bind(*args, **kwargs).arguments
        except TypeError:
            return True
        return all(
            admits(self.types[name], value) for name, value in bound.items() if name in self.types
        )

    def parameter(self, place: int) -> str:
        """The name of a positional parameter."""
        names = list(self.signature.parameters) if self.signature is not None else []
        return names[place] if place < len(names) else f"[{place}]"

    def covers(self, name: str) -> bool:
        """Whether a parameter has a hint that says something."""
        return self.types.get(name, Any) not in _ANY

    def generate(self, count: int, seed: int) -> list[tuple[list[Any], dict[str, Any]]]:
        """Calls made from the hints alone; none if a required parameter has no hint."""
        wanted = self._required()
        if wanted is None or not wanted:
            return []
        rows = _by_hypothesis(wanted, count, seed) or _by_ourselves(wanted, count, seed)
        return [self._arranged(row) for row in rows]

    def _arranged(self, row: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        assert self.signature is not None
        named = {
            name
            for name, each in self.signature.parameters.items()
            if each.kind is each.KEYWORD_ONLY
        }
        args = [value for name, value in row.items() if name not in named]
        return args, {name: value for name, value in row.items() if name in named}

    def _required(self) -> dict[str, Any] | None:
        if self.signature is None:
            return None
        found = {}
        for name, each in self.signature.parameters.items():
            if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                continue
            hint = self.types.get(name, each.empty)
            if hint in _ANY and each.default is each.empty:
                return None
            if hint in _ANY:
                break
            found[name] = hint
        return found


def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def admits(hint: Any, value: Any) -> bool:
    """Whether a hint admits a value; True where we cannot tell."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return admits(inner[0], value)
    if origin is typing.Union or origin is types.UnionType:
        return any(admits(each, value) for each in inner)
    if origin is typing.Literal:
        return any(value == each and type(value) is type(each) for each in inner)
    kind = origin or hint
    if kind is None or kind is type(None):
        return value is None
    if not isinstance(kind, type) or kind is object:
        return True
    return _is_of(kind, value) and _admits_members(kind, inner, value)


def _is_of(kind: type, value: Any) -> bool:
    if isinstance(value, DeepArgument):
        return _is_of(kind, value.innermost)
    if isinstance(value, StreamArgument):
        return kind in (
            collections.abc.Iterable,
            collections.abc.Iterator,
            collections.abc.Generator,
        )
    if kind is float:
        return isinstance(value, float | int)
    if kind is complex:
        return isinstance(value, complex | float | int)
    try:
        return isinstance(value, kind)
    except TypeError:
        return True


def _admits_members(kind: type, inner: tuple[Any, ...], value: Any) -> bool:
    if not inner:
        return True
    if isinstance(value, StreamArgument):
        value = value.items
    if isinstance(value, DeepArgument):  # as deep as the hint, and deeper
        return admits(inner[0], value)
    if isinstance(value, tuple) and kind is tuple:
        if len(inner) == 2 and inner[1] is Ellipsis:
            return all(admits(inner[0], each) for each in value[:20])
        return len(value) == len(inner) and all(map(admits, inner, value))
    if isinstance(value, dict) and len(inner) == 2:
        pairs = list(value.items())[:20]
        return all(admits(inner[0], key) and admits(inner[1], each) for key, each in pairs)
    if isinstance(value, list | set | frozenset | tuple):
        return all(admits(inner[0], each) for each in list(value)[:20])
    return True


def _by_hypothesis(hints: dict[str, Any], count: int, seed: int) -> list[dict[str, Any]]:
    if importlib.util.find_spec("hypothesis") is None:
        return []
    import hypothesis
    from hypothesis import strategies

    rows: list[dict[str, Any]] = []

    def collect(**row: Any) -> None:
        rows.append(row)

    asked = hypothesis.settings(
        database=None, max_examples=count, phases=[hypothesis.Phase.generate], deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    try:
        given = {name: strategies.from_type(hint) for name, hint in hints.items()}
        hypothesis.seed(seed)(asked(hypothesis.given(**given)(collect)))()
    except Exception:  # a type that it cannot make; ours may
        return []
    return rows


def _by_ourselves(hints: dict[str, Any], count: int, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        try:
            rows.append({name: make(hint, rng) for name, hint in hints.items()})
        except LookupError:
            return []
    return rows


def make(hint: Any, rng: random.Random, depth: int = 3) -> Any:
    """A random value for a hint; LookupError for one that we do not know."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return make(inner[0], rng, depth)
    if origin is typing.Union or origin is types.UnionType:
        return make(rng.choice(inner), rng, depth)
    if origin is typing.Literal:
        return rng.choice(inner)
    kind = origin or hint
    if kind in _SIMPLE:
        return rng.choice(_SIMPLE[kind])
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return rng.choice(list(kind))
    return _container(kind, inner, rng, depth)


_SIMPLE: dict[Any, tuple[Any, ...]] = {
    int: (0, 1, -1, 2, 3, 7, -8, 100, True, 1 << 40),
    float: (0.0, -0.0, 0.5, 1.0, -2.25, 1e9, 0.1),
    str: ("", "a", "b", "ab", "Aß", "0", " a", "aa"),
    bytes: (b"", b"a", b"\xff"),
    bool: (True, False),
    None: (None,),
    type(None): (None,),
}


def _container(kind: Any, inner: tuple[Any, ...], rng: random.Random, depth: int) -> Any:
    if depth == 0 or not isinstance(kind, type):
        raise LookupError(kind)
    length = rng.randint(0, 6)
    if kind is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        return tuple(make(each, rng, depth - 1) for each in inner)
    if issubclass(kind, collections.abc.Mapping):
        key, value = inner or (str, int)
        return {make(key, rng, 1): make(value, rng, depth - 1) for _ in range(length)}
    if not issubclass(kind, collections.abc.Iterable) or kind in (str, bytes):
        raise LookupError(kind)
    items = [make(inner[0] if inner else int, rng, depth - 1) for _ in range(length)]
    if issubclass(kind, tuple | set | frozenset):
        return kind(items)
    return set(items) if issubclass(kind, collections.abc.Set) else items
