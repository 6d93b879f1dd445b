"""Parsing Python source from any thread.

CPython 3.11 counts the depth of the syntax tree in one place for all threads. If a thread is
interrupted while it parses (the garbage collector may run Python code there) and another one parses
meanwhile, both see a wrong depth and raise `SystemError`. So our threads take turns, and if a
user's own thread gets in between, we try again.
"""

from __future__ import annotations

import ast
import threading

_ATTEMPTS = 10
_turn = threading.Lock()


def parse(text: str | bytes, name: str = "<unknown>") -> ast.Module:
    """As `ast.parse`, with its `SyntaxError`, `ValueError` and `RecursionError`."""
    for _ in range(_ATTEMPTS):
        try:
            with _turn:
                return ast.parse(text, name)
        except SystemError:
            continue
    return ast.parse(text, name)
