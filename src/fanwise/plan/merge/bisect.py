"""Finds the leaves to leave out so that the check passes on the rest. Pure.

The only memory is the results of past checks: given these, `bisect` says what to check next, or
what it has found. So a run that was killed continues by asking again.

Leaves are added in order for as long as the check passes. The one that makes it fail is found by
halving, and left out together with all that come after it; then the rest is tried. If a leaf breaks
only together with an earlier one, the later of the two is left out. At the end each leaf that was
left out is tried once more with all that is in: it may have failed because a later one was missing.
`m` leaves of `n` take at most `m * (log2(n) + 2) + 2` checks.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from graphlib import TopologicalSorter

import msgspec

Known = Mapping[frozenset[str], bool]
"""Whether the check passed, by the leaves that were left out (`MergeCheck.without`)."""


class NextCheck(msgspec.Struct, frozen=True, kw_only=True):
    leaves: tuple[str, ...]
    without: tuple[str, ...]


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    leaf: str
    after: str | None = None
    """It comes after this leaf, which is left out; None: the check fails with it."""


class Culprits(msgspec.Struct, frozen=True, kw_only=True):
    """What the search has found."""

    leaves: tuple[str, ...]
    """The check was seen to pass with these."""
    left_out: tuple[LeftOut, ...] = ()
    base_fails: bool = False
    """The check fails without any leaf, so it says nothing about them; `leaves` is empty."""


_Search = Generator[tuple[str, ...], bool, Culprits]
_After = Mapping[str, Sequence[str]]


def bisect(leaves: Sequence[str], after: _After, known: Known) -> NextCheck | Culprits:
    """Say what to check next, or what was found. `after` are the leaves that one comes after."""
    search = _search(_Leaves(leaves, after))
    try:
        asked = next(search)
        while True:
            kept = set(asked)
            without = tuple(leaf for leaf in leaves if leaf not in kept)
            if frozenset(without) not in known:
                return NextCheck(leaves=asked, without=without)
            asked = search.send(known[frozenset(without)])
    except StopIteration as end:
        found: Culprits = end.value
        return found


def _search(leaves: _Leaves) -> _Search:
    if (yield leaves.all):
        return Culprits(leaves=leaves.all)
    if not (yield ()):
        return Culprits(leaves=(), base_fails=True, left_out=leaves.left_out(set(), leaves.all))
    good: set[str] = set()
    rest = leaves.in_order()
    culprits: list[str] = []
    while rest and not (yield leaves.of({*good, *rest})):
        passes, fails = 0, len(rest)
        while fails - passes > 1:
            middle = (passes + fails) // 2
            if (yield leaves.of({*good, *rest[:middle]})):
                passes = middle
            else:
                fails = middle
        culprits.append(rest[passes])
        good.update(rest[:passes])
        rest = [leaf for leaf in rest[fails:] if not leaves.comes_after(leaf, culprits)]
    good.update(rest)
    for culprit in tuple(culprits):
        others = [each for each in culprits if each != culprit]
        back = leaves.with_followers(culprit, others)
        if back and (yield leaves.of(good | back)):
            culprits.remove(culprit)
            good |= back
    return Culprits(leaves=leaves.of(good), left_out=leaves.left_out(good, culprits))


class _Leaves:
    """All leaves in tree order, and which comes after which."""

    def __init__(self, leaves: Sequence[str], after: _After) -> None:
        self.all = tuple(leaves)
        self._after = after

    def of(self, some: set[str]) -> tuple[str, ...]:
        """Some of them, in the order of the tree."""
        return tuple(leaf for leaf in self.all if leaf in some)

    def with_followers(self, leaf: str, others: Sequence[str]) -> set[str]:
        """A leaf with those that come after it, except those that come after `others`."""
        some = (each for each in self.all if each == leaf or self.comes_after(each, [leaf]))
        found = {each for each in some if not self.comes_after(each, others)}
        return found if leaf in found else set()

    def comes_after(self, leaf: str, others: Sequence[str]) -> bool:
        """Whether a leaf comes after one of these, directly or not."""
        wanted, seen, look = set(others), {leaf}, [leaf]
        while look:
            for each in self._after.get(look.pop(), ()):
                if each in wanted:
                    return True
                if each not in seen:
                    seen.add(each)
                    look.append(each)
        return False

    def in_order(self) -> list[str]:
        """Each leaf behind those that it comes after."""
        known = {leaf: [x for x in self._after.get(leaf, ()) if x in self.all] for leaf in self.all}
        return list(TopologicalSorter(known).static_order())

    def left_out(self, good: set[str], culprits: Sequence[str]) -> tuple[LeftOut, ...]:
        """The leaves that are not in `good`, and why."""
        found = []
        for leaf in self.all:
            if leaf not in good:
                before = [each for each in culprits if self.comes_after(leaf, [each])]
                by = None if leaf in culprits or not before else before[0]
                found.append(LeftOut(leaf=leaf, after=by))
        return tuple(found)
