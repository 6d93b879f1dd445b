"""Random arguments that are built as recorded ones are, out of what is in them.

Small numbers and few different atoms, so that duplicates, ties and collisions are common: these
are what shortcuts forget. Some are built of a few atoms alone, whatever was recorded.
"""

from __future__ import annotations

import random
from typing import Any

from .argument_kinds import StreamArgument

_ATOMS = (int, float, str, bytes)
_LETTERS = "abcABé 01-"
_FEW: dict[type, tuple[Any, ...]] = {int: tuple(range(6)), str: ("a", "b", "ab", "ba")}


class AtomPool:
    """The numbers and strings of a call, by type."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.few = False
        """Whether there are only a few atoms of a type now."""
        self._atoms: dict[type, list[Any]] = {kind: [] for kind in _ATOMS}

    def gather(self, value: Any, depth: int = 4) -> None:
        """Collect the atoms of a value."""
        if type(value) in self._atoms:
            self._atoms[type(value)].append(value)
        elif depth and isinstance(value, list | tuple | set | frozenset):
            for each in list(value)[:20]:
                self.gather(each, depth - 1)
        elif depth and isinstance(value, StreamArgument):
            self.gather(value.items, depth - 1)
        elif depth and isinstance(value, dict):
            for key, each in list(value.items())[:20]:
                self.gather(key, depth - 1)
                self.gather(each, depth - 1)

    def atom(self, value: Any) -> Any:
        """Another atom of the type of this one."""
        kind, rng = type(value), self.rng
        if kind is bool:
            return rng.random() < 0.5
        if self.few and kind in _FEW:
            return rng.choice(_FEW[kind])
        if self._atoms.get(kind) and rng.random() < 0.7:
            return rng.choice(self._atoms[kind])
        if kind is int:
            return rng.randint(-3, 12)
        if kind is float:
            few = (0.0, 0.5, 1.0, -1.5, 2.25, 1e6, 0.1)
            return rng.choice(few) if rng.random() < 0.7 else rng.uniform(-100, 100)
        if kind is str:
            return "".join(rng.choice(_LETTERS) for _ in range(rng.randint(0, 5)))
        return bytes(rng.choices(range(256), k=rng.randint(0, 5))) if kind is bytes else value


def _element(value: Any, pool: AtomPool) -> Any:
    """One of many: a number among them is rarely how often something is done, so it may be any."""
    if type(value) is int and not pool.few and pool.rng.random() < 0.15:
        return int(10 ** pool.rng.uniform(0, 9)) * pool.rng.choice((1, -1))
    return regrow(value, pool)


def regrow(value: Any, pool: AtomPool) -> Any:
    """A random value with the same structure."""
    kind, rng = type(value), pool.rng
    if kind is list:
        length = rng.randint(0, 2 * len(value) + 2 + 4 * pool.few) if value else 0
        return [_element(rng.choice(value), pool) for _ in range(length)]
    if kind is tuple:
        return tuple(regrow(each, pool) for each in value)
    if kind is StreamArgument:
        return StreamArgument(regrow(value.items, pool))
    if kind is dict:
        return _dict(value, pool)
    if kind in (set, frozenset):
        return kind(pool.atom(each) if type(each) in _ATOMS else each for each in value)
    return pool.atom(value)


def _dict(value: dict[Any, Any], pool: AtomPool) -> dict[Any, Any]:
    kept = [each for each in value.items() if pool.rng.random() < 0.8]
    pool.rng.shuffle(kept)
    grown = {key: regrow(each, pool) for key, each in kept}
    if value and pool.rng.random() < 0.3:
        key, each = pool.rng.choice(list(value.items()))
        new = pool.atom(key) if type(key) in _ATOMS else key
        if type(value.get(new, each)) is type(each):  # no key gets what only others have
            grown[new] = regrow(each, pool)
    return grown
