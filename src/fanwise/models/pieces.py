"""The pieces of a reply as they come, for whoever listens.

A model's `reply` returns at the end. `stream` needs the pieces before that, through the same port:
a context variable carries them out, as `fanwise.kernel.meter` does with the first token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Piece(str):
    """Some text of a reply that is being written."""

    __slots__ = ("thought",)

    thought: bool
    """It is part of the model's thinking, not of its answer."""

    def __new__(cls, text: str, *, thought: bool = False) -> Piece:
        self = super().__new__(cls, text)
        self.thought = thought
        return self


_listener: ContextVar[Callable[[Piece], None] | None] = ContextVar("fanwise_pieces", default=None)


@contextmanager
def listening(listener: Callable[[Piece], None]) -> Iterator[None]:
    """Call the listener with each piece that a model writes inside this block."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def emit(text: str, *, thought: bool = False) -> None:
    """Hand a new piece to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None and text:
        listener(Piece(text, thought=thought))


def are_heard() -> bool:
    """Whether somebody listens."""
    return _listener.get() is not None
