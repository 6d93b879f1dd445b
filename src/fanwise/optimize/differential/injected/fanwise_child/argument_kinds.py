"""Arguments that look like others and are not: subclasses, and streams that can be read once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class ListLike(list[Any]):
    pass


class DictLike(dict[Any, Any]):
    pass


class StrLike(str):
    __slots__ = ()


class IntLike(int):
    pass


class TupleLike(tuple[Any, ...]):
    __slots__ = ()


class Opaque:
    """Something of which only this is known: whether it is equal to another one."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other.number == self.number

    def __hash__(self) -> int:
        return hash(("opaque", self.number))

    def __repr__(self) -> str:
        return f"Opaque({self.number})"


class MissingDict(dict[Any, Any]):
    """A dict that makes up what it does not have, and keeps it: as a `defaultdict` does."""

    def __missing__(self, key: Any) -> Any:
        self[key] = made = type(next(iter(self.values()), 0))()
        return made


LIKE: dict[type, type] = {
    list: ListLike,
    dict: DictLike,
    str: StrLike,
    int: IntLike,
    tuple: TupleLike,
}


class StreamArgument:
    """Stands for a generator among stored arguments; `open` makes one of it, for one use."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.taken = 0

    def open(self) -> Iterator[Any]:
        """A generator that counts what was taken from it."""
        self.taken = 0
        for item in self.items:
            self.taken += 1
            yield item
        self.taken = -1 - len(self.items)  # and that somebody asked for more


class DeepArgument:
    """Stands for lists in lists, deeper than Python recurses: deeper than can be stored."""

    DEPTH = 1500

    def __init__(self, innermost: list[Any]) -> None:
        self.innermost = innermost

    def open(self) -> list[Any]:
        value = self.innermost
        for _ in range(self.DEPTH):
            value = [value]
        return value


def opened(args: list[Any]) -> list[Any]:
    """The arguments, with a generator in the place of each stream."""
    standing = StreamArgument | DeepArgument
    return [each.open() if isinstance(each, standing) else each for each in args]
