"""When two answers agree: mathematically equal, or much the same words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from fanwise.sampling.samples import Sample
from fanwise.sampling.strategies.expressions import value_of

_BOXED = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")
_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?(?:\s*/\s*\d+)?\s*%?", re.I)


def said(sample: Sample) -> Hashable:
    """The value, or the text without regard to case and surrounding space."""
    value: Any = sample.value
    if value is None:
        return sample.text.strip().lower()
    return msgspec.json.encode(value, order="sorted")


def number(sample: Sample) -> Hashable:
    """What an answer comes to: what is `\\boxed`, else all of it, else the last number in it.

    1/2, 0.5, 50 % and `\\frac{1}{2}` are the same, and so are `(x+1)^2` and `x^2+2x+1`. Without
    an expression or a number, what it says counts.
    """
    boxed = _BOXED.findall(sample.text)
    answer = boxed[-1] if boxed else sample.text
    found = value_of(answer)
    if found is None and not boxed:
        found = number_in(answer)
    if found is None and boxed:
        return "".join(answer.split())
    return said(sample) if found is None else found


def number_in(text: str) -> Fraction | None:
    """The last number in a text, exactly."""
    numbers = _NUMBER.findall(text)
    if not numbers:
        return None
    plain = numbers[-1].replace(",", "").replace(" ", "")
    try:
        value = [Fraction(part) for part in plain.removesuffix("%").rstrip(".").split("/")]
        whole = value[0] / value[1] if len(value) > 1 else value[0]
    except (ValueError, ZeroDivisionError):
        return None
    return whole / 100 if plain.endswith("%") else whole


def words_in_common(one: str, other: str) -> float:
    """The F1 score of the words of two texts: 1 for the same words, 0 for none in common."""
    ours, theirs = words(one), words(other)
    return _f1((Counter(ours) & Counter(theirs)).total(), ours, theirs)


def rouge_l(one: str, other: str) -> float:
    """The F1 score of the longest sequence of words that both have, in this order: ROUGE-L."""
    ours, theirs = words(one), words(other)
    row = [0] * (len(theirs) + 1)
    for word in ours:
        before = row
        row = [0]
        for n, there in enumerate(theirs):
            row.append(before[n] + 1 if word == there else max(before[n + 1], row[n]))
    return _f1(row[-1], ours, theirs)


def _f1(common: int, ours: Sequence[str], theirs: Sequence[str]) -> float:
    if not ours or not theirs:
        return float(ours == theirs)
    return 2 * common / (len(ours) + len(theirs))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
