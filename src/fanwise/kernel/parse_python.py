"""Python source as a tree, from any thread.

CPython 3.11 counts how deep it is in a tree in one place for all threads. When one is interrupted
while it makes its tree (the garbage collector may run Python code there) and another makes one
meanwhile, both see a depth that is not theirs, and that is a `SystemError`. So ours take turns;
and where it is a user's own thread that came between, the next attempt is ours alone again.
"""

from __future__ import annotations

import ast
import threading

_ATTEMPTS = 10
_turn = threading.Lock()


def parse(text: str | bytes, name: str = "<unknown>") -> ast.Module:
    """`ast.parse`: a `SyntaxError`, `ValueError` or `RecursionError` is about the text."""
    for _ in range(_ATTEMPTS):
        try:
            with _turn:
                return ast.parse(text, name)
        except SystemError:
            continue
    return ast.parse(text, name)
