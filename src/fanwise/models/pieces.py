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


class Listener:
    """Hands pieces on. `thoughts`: also those of the model's thinking."""

    def __init__(self, push: Callable[[Piece], None], *, thoughts: bool = False) -> None:
        self.answered = False
        """Whether the present reply has had a piece of its answer."""
        self.begun = False
        """Whether it has had any piece: it cannot be taken back, so nobody is asked again."""
        self._push = push
        self._thoughts = thoughts

    def hear(self, piece: Piece) -> None:
        if self._thoughts or not piece.thought:
            self.begun, self.answered = True, self.answered or not piece.thought
            self._push(piece)


_listener: ContextVar[Listener | None] = ContextVar("fanwise_pieces", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """The listener hears each piece that a model writes inside this block."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def emit(text: str, *, thought: bool = False) -> None:
    """Hand a new piece to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None and text:
        listener.hear(Piece(text, thought=thought))


def are_heard() -> bool:
    """Whether somebody listens."""
    return _listener.get() is not None


def begun() -> bool:
    """Whether somebody has heard a piece of the present reply."""
    listener = _listener.get()
    return listener is not None and listener.begun


def next_reply() -> None:
    """What comes now belongs to another reply."""
    listener = _listener.get()
    if listener is not None:
        listener.begun = listener.answered = False
