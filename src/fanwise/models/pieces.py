"""The pieces of a reply as they come, for whoever listens.

A model's `reply` returns when all is said. `stream` wants the pieces before that, through the same
port: a context variable brings them out, as `fanwise.kernel.meter` does with the first token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("fanwise_pieces", default=None)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """What a model says within goes to the listener, too."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def emit(text: str) -> None:
    """A piece of text has come."""
    listener = _listener.get()
    if listener is not None and text:
        listener(text)
