"""What a difference weighs: whether it rejects a candidate, or is only told. PURE.

Calls that the tests make, and calls of the types that they give or that the hints name, reject.
Calls that nobody makes do not, unless the original raises on purpose there or the user asks for
strictness. A waiver names one difference, as it is told here: `TypeError for float n`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from fanwise.optimize.differential.compare import Differs

_WHAT = {
    "value": "another value",
    "exception": "another exception",
    "arguments": "other arguments",
    "stdout": "other output",
    "generator": "other items",
    "globals": "other globals",
    "ended": "no answer",
}


class Weighed(NamedTuple):
    """The differences of one candidate, sorted by what they mean."""

    rejecting: list[Differs]
    told: list[str]
    """Names of differences in calls that nobody makes."""
    allowed: list[str]
    """Names of those that a waiver allows."""
    unbuilt: list[Differs]
    """Not comparable: the object of the method lacks what the candidate's constructor adds."""


def weigh(differing: Iterable[Differs], *, strict: bool, allow: Collection[str]) -> Weighed:
    """Sort differences; each name is told once."""
    found = Weighed([], [], [], [])
    for each in differing:
        name = name_of(each)
        if _is_unbuilt(each):
            found.unbuilt.append(each)
        elif name in allow and each.entry.label != "as recorded":
            found.allowed.append(name)
        elif strict or _on_purpose(each) or not (each.entry.level == "far" or _is_as_given(each)):
            found.rejecting.append(each)
        else:
            found.told.append(name)
    told, allowed = (list(dict.fromkeys(names)) for names in (found.told, found.allowed))
    return found._replace(told=told, allowed=allowed)


def name_of(differs: Differs) -> str:
    """One difference, in the words of a waiver: what the candidate does, for which argument."""
    entry, what = differs.entry, _WHAT[differs.kind]
    if _raises(differs.got):
        what = str(differs.got["out"][1])
    kind = entry.label.rpartition("] ")[2].partition(",")[0]
    kind = kind.removeprefix("a ").removeprefix("an ")
    return f"{what} for {kind} {entry.changed}".strip()


def _raises(step: object) -> bool:
    try:
        return bool(step["out"][0] == "raise")  # type: ignore[index]
    except (LookupError, TypeError):
        return False  # a candidate may have made it up


def _on_purpose(differs: Differs) -> bool:
    return _raises(differs.expected) and bool(differs.expected["out"][3])


def _is_as_given(differs: Differs) -> bool:
    """Whether True or the like was given for a number, and comes back, not the plain number."""
    if differs.kind != "value" or not differs.entry.label.endswith(("True", "a subclass")):
        return False
    ours, theirs = differs.expected["args"][2], differs.got["args"][2]
    if isinstance(theirs, list) and theirs[0] == "object":
        theirs = theirs[3][1]  # of an int of another class: what it is equal to
    return type(ours) is int and type(theirs) in (int, bool) and ours == theirs


def _is_unbuilt(differs: Differs) -> bool:
    """Whether the candidate misses an attribute of an object that no constructor has made."""
    if differs.entry.rebuilt or not _raises(differs.got) or _raises(differs.expected):
        return False
    kind, text = differs.got["out"][1:3]
    return kind == "AttributeError" and "object has no attribute" in str(text)
