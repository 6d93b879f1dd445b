"""Whether two expressions are mathematically equal: they are if they have the same value.

`(x+1)^2` and `x^2+2x+1` are compared by their values at a few fixed points, which different
expressions do not share. Rejected: sympy, which proves it, at 40 MB and a second to import.
What is read is what models write: Python's arithmetic, and the LaTeX of fractions and roots.
"""

from __future__ import annotations

import ast
import cmath
import math
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any

MOST_TEXT = 200
"""A longer text is no expression."""
POINTS = 3
DEPTH = 4
"""Of fractions and roots inside each other."""
_OPERATIONS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_FUNCTIONS: Mapping[str, Callable[[complex], complex]] = {
    "sqrt": cmath.sqrt, "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "exp": cmath.exp,
    "log": cmath.log, "ln": cmath.log, "abs": abs,
}  # fmt: skip
_ALLOWED = re.compile(r"(?!\s*[A-Za-z_]{3,}\s*$)[\w\s.+\-*/()]*")
"""No quotes, no brackets, and not a single word: that is an answer in words."""
_NESTED = [
    (re.compile(r"\\(?:left|right|displaystyle)|\\[,;!: ]|\$|\\text\{[^{}]*\}"), ""),
    (re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}"), r"((\1)/(\2))"),
    (re.compile(r"\\sqrt\{([^{}]*)\}|√(\d+|\([^()]*\))"), r"sqrt(\1\2)"),
]
_LATEX = [
    (re.compile(r"\\(?:cdot|times)|\u00d7|·"), "*"),
    (re.compile(r"\^\{([^{}]*)\}"), r"**(\1)"),
    (re.compile(r"\^"), "**"),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
    (re.compile(r"(\d+(?:\.\d+)?|\))\s*\\?%"), r"(\1/100)"),
    (re.compile(r"(?<=[\w)])\\(?=[a-z])"), "*"),
    (re.compile(r"\\(?=[a-z])|[{}]"), ""),
    (re.compile(r"π"), "pi"),
    (re.compile(r"(?<![A-Za-z_])(\d+(?:\.\d+)?)\s*(?=[A-Za-z(])(?!e[-+]?\d)"), r"\1*"),
    (re.compile(r"\)\s*(?=[\w(])"), ")*"),
]


def value_of(text: str) -> tuple[complex, ...] | Fraction | None:
    """The value, equal for equal expressions; None if the text is no expression.

    A number is exact. Of an equation such as `x = 5` the right side counts.
    """
    plain = text.strip().rstrip(".").rpartition("=")[2].strip()
    if not plain or len(plain) > MOST_TEXT:
        return None
    for pattern, replacement in [*_NESTED * DEPTH, *_LATEX]:
        plain = pattern.sub(replacement, plain)
    if _ALLOWED.fullmatch(plain) is None:
        return None
    try:
        tree = ast.parse(plain.strip(), mode="eval").body
        exact = _exact(tree)
        values = tuple(_rounded(_at(tree, point)) for point in range(POINTS))
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError, TypeError):
        return None

    if exact is not None or values[0].imag or len(set(values)) > 1:
        return values if exact is None else exact
    return Fraction(repr(values[0].real))  # without variables it is a number, too


def _exact(tree: ast.AST) -> Fraction | None:
    """What can be computed without rounding: numbers, and sums and products of them."""
    match tree:
        case ast.Constant(value=int() | float() as value):
            return Fraction(str(value))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            found = _exact(inner)
            return None if found is None else -found
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as operation, right):
            one, other = _exact(left), _exact(right)
            if one is not None and other is not None:
                return Fraction(_OPERATIONS[type(operation)](one, other))
    return None


def _at(tree: ast.AST, point: int) -> complex:
    match tree:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            known = {"pi": math.pi, "e": math.e, "i": 1j}
            return known.get(name) or 1 + sha256(f"{name} {point}".encode()).digest()[0] / 101
        case ast.UnaryOp(op=operation, operand=inner):
            return complex(_OPERATIONS[type(operation)](_at(inner, point)))
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            return complex(_OPERATIONS[type(operation)](_at(left, point), _at(right, point)))
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_at(inner, point))
    raise ValueError("not an expression")


def _rounded(value: complex) -> complex:
    """To twelve digits: the same value computed in two ways differs in the last ones."""
    if not cmath.isfinite(value):
        raise ArithmeticError
    real, imag = (
        float(f"{part:.12g}") if abs(part) > 1e-12 * abs(value) else 0.0
        for part in (value.real, value.imag)
    )
    return complex(real, imag)
