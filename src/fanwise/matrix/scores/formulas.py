"""The scorers that need nothing but the answer: exact, f1, regex, json.

Each is a function of an answer and what is expected, and gives a number from 0 to 1. An answer is
text, or the value that a schema made of it; so is what is expected, which may come out of a CSV
file, where all is text. The conventions:

- An answer that is wrong in form (empty, no JSON) scores 0: it is a wrong answer. What is wrong
  with the *scorer* (a pattern that is none) raises `UsageError`, and is no score.
- A list as `expected`, where the answer is no list, is a choice: the best of them counts. Not so
  for json, where a list is a list.
- Text and a value are compared as text: 5 is "5", true is "true", null is "null".
- Values are compared as JSON: 1 is 1.0, and true is not 1.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from typing import cast

from fanwise.errors import UsageError

Scorer = Callable[..., float]

ARTICLES = frozenset({"a", "an", "the"})
FENCE = re.compile(r"\A\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
MOST_SHOWN = 60
"""Characters of a value in a reason."""


def exact(answer: object, expected: object) -> float:
    """1 if they are the same, whatever the space around them and the case.

    As most evaluators do: " Positive\\n" is "positive". Space inside, and punctuation, counts.
    """
    if _is_choice(answer, expected):
        return _most(exact, answer, expected)
    if isinstance(answer, str) or isinstance(expected, str):
        return float(_plain(answer) == _plain(expected))
    return float(_agree(answer, expected, extra_fields=False))


def f1(answer: object, expected: object) -> float:
    """The F1 of the words that they share, as SQuAD counts it.

    Lower case, without punctuation and English articles, as a bag of words. Two empty ones are 1.
    """
    if _is_choice(answer, expected):
        return _most(f1, answer, expected)
    ours, theirs = _words(answer), _words(expected)
    if not ours or not theirs:
        return float(ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    return 2 * shared / (len(ours) + len(theirs))


def regex(answer: object, expected: object) -> float:
    """1 if the pattern is found in the answer's text.

    `.` is any character but a new line; `^` and `$` are a line's ends.
    """
    if _is_choice(answer, expected):
        return _most(regex, answer, expected)
    return float(_pattern(expected).search(as_text(answer)) is not None)


def json_match(answer: object, expected: object) -> float:
    """1 if the answer, as JSON, has what is expected.

    Objects in the answer may have fields beyond those expected, at any depth; lists have to have
    the same length. An answer that is text is read as JSON, also from between ``` lines. What is
    expected is read so too if it is text and the answer is none.
    """
    found = _parsed(answer)
    if found is _NOTHING:
        return 0.0
    wanted = expected
    if isinstance(expected, str) and not isinstance(found, str):
        parsed = _parsed(expected)
        wanted = expected if parsed is _NOTHING else parsed
    return float(contains(found, wanted))


SCORERS: Mapping[str, Scorer] = {"exact": exact, "f1": f1, "regex": regex, "json": json_match}
"""By the name that a file calls them."""


def reason(kind: str, answer: object, expected: object, score: float) -> str:
    """Why an answer has that score, in a line."""
    if kind == "f1":
        ours, theirs = _words(answer), _words(_best(f1, answer, expected))
        shared = (Counter(ours) & Counter(theirs)).total()
        return f"{shared} words shared, of {len(ours)} in the answer and {len(theirs)} expected"
    if kind == "regex":
        return f"{'matches' if score else 'does not match'} {_short(expected)}"
    if score:
        return "as expected"
    if kind == "json":
        value = _parsed(answer)
        wanted = expected if value is _NOTHING or isinstance(value, str) else _parsed(expected)
        found = _difference(value, expected if wanted is _NOTHING else wanted, "")
        return "the answer is not JSON" if value is _NOTHING else found
    return f"expected {_short(expected)}, not {_short(answer)}"


def _difference(value: object, wanted: object, path: str) -> str:
    """Where JSON is first not as wanted; fields that nobody asked for aside."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        for name in wanted:
            at = f"{path}.{name}".lstrip(".")
            if name not in value:
                return f"{at} is missing"
            if not contains(value[name], wanted[name]):
                return _difference(value[name], wanted[name], at)
    if isinstance(value, list) and isinstance(wanted, list) and len(value) == len(wanted):
        for place, (one, two) in enumerate(zip(value, wanted, strict=True)):
            if not contains(one, two):
                return _difference(one, two, f"{path}[{place}]")
    at = f"{path}: " if path else ""
    return f"{at}expected {_short(wanted)}, not {_short(value)}"


def _best(score: Scorer, answer: object, expected: object) -> object:
    """Of a choice, the one that counts."""
    if not _is_choice(answer, expected):
        return expected
    return max(cast(list[object], expected), key=lambda each: score(answer, each), default="")


def _short(value: object) -> str:
    text = " ".join(as_text(value).split())
    return f"{text[:MOST_SHOWN]!r}…" if len(text) > MOST_SHOWN else repr(text)


class _Nothing:
    """Not null, which is a value."""


_NOTHING = _Nothing()


def contains(value: object, wanted: object) -> bool:
    """Equal as JSON, but for fields of objects in `value` that nobody asked for."""
    return _agree(value, wanted, extra_fields=True)


def _agree(value: object, wanted: object, *, extra_fields: bool) -> bool:
    if isinstance(value, dict) and isinstance(wanted, dict):
        fields = wanted.keys() <= value.keys() if extra_fields else wanted.keys() == value.keys()
        return fields and all(
            _agree(value[name], wanted[name], extra_fields=extra_fields) for name in wanted
        )
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(
            _agree(one, two, extra_fields=extra_fields)
            for one, two in zip(value, wanted, strict=True)
        )
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def as_text(value: object) -> str:
    """Text as it is, any other value as JSON writes it."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError):
        return str(value)


def _plain(value: object) -> str:
    return unicodedata.normalize("NFC", as_text(value)).strip().casefold()


def _words(value: object) -> list[str]:
    text = unicodedata.normalize("NFC", as_text(value)).lower()
    bare = "".join(each for each in text if each not in string.punctuation)
    return [word for word in bare.split() if word not in ARTICLES]


def _parsed(value: object) -> object:
    if not isinstance(value, str):
        return value
    fenced = FENCE.match(value)
    try:
        return cast(object, json.loads(fenced[1] if fenced else value))
    except (ValueError, RecursionError):
        return _NOTHING


def _pattern(expected: object) -> re.Pattern[str]:
    if not isinstance(expected, str):
        raise UsageError(f"{expected!r} is no pattern", "Give a regular expression")
    try:
        return re.compile(expected, re.MULTILINE)
    except re.error as error:
        raise UsageError(
            f"{expected!r} is no regular expression: {error}", "Mend the pattern"
        ) from error


def _most(score: Scorer, answer: object, expected: object) -> float:
    """Of a choice, the best counts."""
    return max((score(answer, each) for each in cast(list[object], expected)), default=0.0)


def _is_choice(answer: object, expected: object) -> bool:
    return isinstance(expected, list | tuple) and not isinstance(answer, list | tuple)
