"""Whether two forms of values are the same. PURE. What a form is stands in `injected/…/forms.py`.

Floats may differ by a stated relative tolerance; zeros must have the same sign, and NaN is NaN.
Numbers of mutable things are matched, not compared: what matters is which ones are one thing.
An object may have more private attributes than the original's: a cache is nobody's business as
long as it answers right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

Form = Any


class Tolerance(msgspec.Struct, frozen=True):
    """How far floats may be apart and still be equal."""

    relative: float = 1e-9
    absolute: float = 0.0


class FormMatcher:
    """Compares forms that belong together: one numbering of things on each side."""

    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance = tolerance
        self._there: dict[int, int] = {}
        self._back: dict[int, int] = {}

    def same(self, a: Form, b: Form) -> bool:
        """Whether the candidate's `b` is what the original's `a` is."""
        if not isinstance(a, list) or not isinstance(b, list):
            return type(a) is type(b) and bool(a == b)
        if not a or not b or a[0] != b[0]:
            return a == b
        return self._tagged(a[0], a, b)

    def _tagged(self, tag: str, a: Form, b: Form) -> bool:
        if tag == "float":
            return close(float.fromhex(a[1]), float.fromhex(b[1]), self._tolerance)
        if tag == "ref":
            return self._one(a[1], b[1])
        if tag in ("tuple", "frozenset"):
            return self._all(a[1], b[1])
        if tag in ("list", "set", "bytearray", "dict"):
            return self._one(a[1], b[1]) and self._contents(tag, a[2], b[2])
        if tag == "object":
            return self._one(a[1], b[1]) and a[2] == b[2] and self._parts(a[3:], b[3:])
        return self._rare(tag, a, b)

    def _rare(self, tag: str, a: Form, b: Form) -> bool:
        if tag == "whole":
            return self.same(a[1], b[1]) and self._all(a[2], b[2])
        if tag == "complex":
            return self.same(a[1], b[1]) and self.same(a[2], b[2])
        if tag == "view":
            return a[1] == b[1] and self._all(a[2], b[2])
        if tag == "array":
            return self._one(a[1], b[1]) and a[2:5] == b[2:5] and self.same(a[5], b[5])
        if tag == "function" and len(a) == len(b) == 3:
            return a[2] in (None, b[2]) and self._answers(a[1], b[1])
        return bool(a == b)

    def _answers(self, a: Form, b: Form) -> bool:
        return self._all(a, b) if isinstance(a, list) and isinstance(b, list) else a == b

    def _contents(self, tag: str, a: Form, b: Form) -> bool:
        if tag == "dict":
            return self._pairs(a, b)
        return self._all(a, b) if isinstance(a, list) else a == b

    def _all(self, a: Sequence[Form], b: Sequence[Form]) -> bool:
        return len(a) == len(b) and all(map(self.same, a, b))

    def _pairs(self, a: Sequence[Form], b: Sequence[Form]) -> bool:
        return len(a) == len(b) and all(
            self.same(key, other) and self.same(value, its)
            for (key, value), (other, its) in zip(a, b, strict=True)
        )

    def _parts(self, a: Sequence[Form], b: Sequence[Form]) -> bool:
        """The parts of an object: the contents of a builtin that it is, its state."""
        theirs = {part[0]: part[1] for part in b}
        ours = {part[0]: part[1] for part in a}
        if set(theirs) - {"state"} != set(ours) - {"state"}:
            return self._reduced_or_private(ours, theirs)
        for name, part in ours.items():
            if name != "state" and not self.same(part, theirs[name]):
                return False
        return self._states(ours.get("state", []), theirs.get("state", []))

    def _reduced_or_private(self, ours: dict[str, Form], theirs: dict[str, Form]) -> bool:
        """One without state is told by what pickle keeps; with a private attribute it has some."""
        return set(ours) == {"reduced"} and set(theirs) == {"state"} and _private(theirs["state"])

    def _states(self, a: Form, b: Form) -> bool:
        ours, theirs = dict(a), dict(b)
        more = theirs.keys() - ours.keys()
        if not all(name.startswith("_") for name in more):
            return False
        return all(name in theirs and self.same(ours[name], theirs[name]) for name in ours)

    def _one(self, a: int | None, b: int | None) -> bool:
        """Whether both numbers stand for the same object."""
        if a is None or b is None:
            return a is b
        return self._there.setdefault(a, b) == b and self._back.setdefault(b, a) == a


def _private(state: Form) -> bool:
    return all(name.startswith("_") for name, _ in state)


def close(a: float, b: float, tolerance: Tolerance) -> bool:
    """Whether two floats are equal, within the tolerance."""
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if a == b:
        return a != 0.0 or math.copysign(1.0, a) == math.copysign(1.0, b)
    return math.isclose(a, b, rel_tol=tolerance.relative, abs_tol=tolerance.absolute)


def loosened(form: Form) -> Form:
    """A form without order and sharing: for results whose order is the hash seed's."""
    if not isinstance(form, list):
        return form
    inner = [loosened(each) for each in form]
    if form and form[0] in ("list", "set", "dict", "tuple", "frozenset"):
        *_, contents = inner
        return [form[0], sorted(contents, key=repr) if isinstance(contents, list) else contents]
    return inner
